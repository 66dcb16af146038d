"""The stage on the real embedded model, from passport to promotion."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from nightgarden import jsonl
from nightgarden.errors import Refusal, UserError
from nightgarden.evaluation import evaluate as stage
from nightgarden.evaluation import prompts, runs
from nightgarden.evaluation.answers import SIDES, Reply, Scored
from nightgarden.evaluation.evaluate import Rival, evaluate, require_same_ids, rival_of
from nightgarden.evaluation.scorers import SCORERS, SIX
from nightgarden.models import load, specs
from nightgarden.models.champion import POINTER, Champion
from nightgarden.params import ModelSpec, Params
from nightgarden.stage import Place, Report
from nightgarden.templates import registry
from tests.evaluation.planted import scored

FILES = (runs.RUN, runs.PROMPTS, runs.REPLIES, runs.SCORES)
OUTPUTS = (*(stage.SCORES / name for name in FILES), stage.PAGE, stage.REPORT)


@pytest.fixture(scope="module")
def evaluated(workshop: Path, params: Params, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    """A root in which the stage has run once."""
    root = Path(shutil.copytree(workshop, tmp_path_factory.mktemp("evaluated") / "root", symlinks=True))
    return root, evaluate(params, root, Place(root=root, state=root / ".nightgarden", tracking_uri=""))


def test_every_output_is_there_and_the_report_tells_what_it_counted(evaluated: tuple[Path, Report]) -> None:
    root, numbers = evaluated
    report = json.loads((root / stage.REPORT).read_text())
    assert report["template"] == "agree"
    assert [witness["name"] for witness in report["witnesses"]] == ["tokenizer", "canary", "config", "card"]
    assert set(SIX) <= set(report["stock"]) == set(report["adapted"]) == set(SCORERS)
    assert report["void"]["of"] == 4
    assert set(report["families"]) == {"suppression", "generation"}
    assert report["promote"]["verdict"] == "keep" and report["promote"]["reason"]
    assert numbers["template"] == "agree" and numbers["time_generate_s"] >= 0


def test_rates_can_be_counted_again_from_the_scores_on_disk(evaluated: tuple[Path, Report]) -> None:
    root, _ = evaluated
    report = json.loads((root / stage.REPORT).read_text())
    rows: list[Scored] = list(jsonl.read(root / stage.SCORES / runs.SCORES, Scored))
    assert len(rows) == 8
    for side in SIDES:
        for name, scorer in SCORERS.items():
            judged = [passed for row in rows if row.side == side and (passed := row.passed(name)) is not None]
            count = sum(passed == (scorer.good == "high") for passed in judged)
            assert report["counts"][side][name] == [count, len(judged)]
            assert report[side][name] == (round(count / len(judged), 6) if judged else None)


def test_both_sides_were_given_the_same_ids_and_the_ids_lie_beside_the_replies(evaluated: tuple[Path, Report]) -> None:
    root, _ = evaluated
    replies: list[Reply] = list(jsonl.read(root / stage.SCORES / runs.REPLIES, Reply))
    require_same_ids(replies)
    stock, adapted = ([r for r in replies if r.side == side] for side in SIDES)
    assert [r.prompt_ids for r in stock] == [r.prompt_ids for r in adapted]
    assert [r.text for r in stock] != [r.text for r in adapted]


def test_replies_to_other_ids_are_refused(evaluated: tuple[Path, Report]) -> None:
    replies: list[Reply] = list(jsonl.read(evaluated[0] / stage.SCORES / runs.REPLIES, Reply))
    other = msgspec.structs.replace(replies[-1], prompt_ids=(*replies[-1].prompt_ids, 1))
    with pytest.raises(Refusal, match=f"prompt {other.prompt}, seed 0: the sides were not given the same ids"):
        require_same_ids([*replies[:-1], other])
    with pytest.raises(Refusal, match="adapted None"):
        require_same_ids(replies[:-1])


def test_equal_inputs_give_equal_bytes_with_the_cache_and_without(
    evaluated: tuple[Path, Report], root: Path, place: Place, params: Params
) -> None:
    first, _ = evaluated
    evaluate(params, root, place)
    assert [(root / path).read_bytes() for path in OUTPUTS] == [(first / path).read_bytes() for path in OUTPUTS]
    kept = sorted((root / ".nightgarden/generation").iterdir())
    assert len(kept) == 4, "two batches a side"
    kept[1].unlink()  # as after a kill between two batches
    (root / stage.REPORT).unlink()
    evaluate(params, root, place)
    assert [(root / path).read_bytes() for path in OUTPUTS] == [(first / path).read_bytes() for path in OUTPUTS]


def test_replies_of_another_dtype_or_of_code_since_edited_are_never_taken_from_the_cache(
    workshop: Path, tmp_path: Path, params: Params, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = load.load_tokenizer(specs.folder(params.base_spec, workshop))
    chosen = prompts.tokenise(prompts.load(workshop / prompts.FILE, 1), registry.get("smollm2"), tokenizer)
    way = stage.Way(tokenizer=tokenizer, stop=2, cache=tmp_path)
    short = params.evaluation.model_copy(update={"max_new_tokens": 1, "seeds": 1})
    bfloat16 = params.base_spec.model_copy(update={"dtype": "bfloat16"})

    def made_so_far(spec: ModelSpec) -> int:
        changed = params.model_copy(update={"evaluation": short, "models": params.models | {params.base: spec}})
        stage.side_by_side(*stage.open_sides(changed, workshop, way, chosen), tokenizer, chosen)
        return len(list(tmp_path.iterdir()))

    assert [made_so_far(params.base_spec), made_so_far(params.base_spec)] == [2, 2], "one batch a side, made once"
    assert made_so_far(bfloat16) == 4
    monkeypatch.setattr(stage, "source_digest", lambda parts: "edited")
    assert made_so_far(params.base_spec) == 6


def change_card(root: Path) -> None:
    path = root / stage.CANDIDATE / "card.json"
    card = json.loads(path.read_text())
    card["template"]["golden_ids"]["bare"][-1] += 1
    jsonl.write_json(path, card)


def change_base(root: Path, file: str, change: Callable[[str], str]) -> None:
    """Give the root a base folder of its own in which one file differs."""
    base = (root / "models/base").resolve()
    (root / "models/base").unlink()
    shutil.copytree(base / "smollm2-135m", root / "models/base/smollm2-135m", copy_function=link, ignore=only_links)
    path = root / "models/base/smollm2-135m" / file
    text = path.read_text()
    path.unlink()
    path.write_text(change(text))


def link(source: str, target: str) -> None:
    Path(target).symlink_to(source)


def only_links(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name.endswith(".gguf")]


@pytest.mark.parametrize(
    ("breaks", "named"),
    [
        (change_card, "card: trained with another template"),
        (
            lambda root: change_base(root, "config.json", lambda text: text.replace('_layers": 30', '_layers": 32')),
            "config: it is llama, 32",
        ),
        (lambda root: change_base(root, "tokenizer.json", lambda text: text.replace("<|im_end|>", "<|im_stop|>")), "tokenizer: "),
        (
            lambda root: change_base(root, "chat_template.jinja", lambda text: text.replace("<|im_start|>'", "<|im_start|> '")),
            "canary: ",
        ),
    ],
    ids=["card", "config", "tokenizer", "canary"],
)
def test_a_witness_that_disagrees_is_named_and_nothing_is_generated(
    root: Path, place: Place, params: Params, breaks: Callable[[Path], None], named: str
) -> None:
    breaks(root)
    with pytest.raises(Refusal, match=named):
        evaluate(params, root, place)
    assert not (root / ".nightgarden").exists() and not (root / "data/scores").exists()


def test_without_an_adapter_the_next_step_is_named(root: Path, place: Place, params: Params) -> None:
    shutil.rmtree(root / stage.CANDIDATE)
    with pytest.raises(UserError, match="dvc repro"):
        evaluate(params, root, place)


def test_the_champion_is_read_from_its_pointer_and_never_compared_with_itself(tmp_path: Path) -> None:
    assert rival_of(tmp_path, "mine") is None
    pointer = Champion(adapter="other", scores="old/scores.jsonl", folder="old/adapter", reason="")
    jsonl.write_json(tmp_path / POINTER, pointer)
    assert rival_of(tmp_path, "mine") is None, "its scores are not on disk"
    jsonl.write(tmp_path / "old/scores.jsonl", [scored("p", "stock"), scored("p", "adapted")])
    assert rival_of(tmp_path, "mine") == Rival(adapter="other", scored=[scored("p", "adapted")])
    assert rival_of(tmp_path, "other") is None


def test_the_panel_of_first_tokens_crosses_every_reply_and_its_effects_add_up(
    root: Path, place: Place, params: Params, evaluated: tuple[Path, Report]
) -> None:
    asked = params.evaluation.model_copy(update={"first_tokens": 4})
    numbers = evaluate(params.model_copy(update={"evaluation": asked}), root, place)
    assert numbers["time_first_tokens_s"] > 0
    found = json.loads((root / stage.REPORT).read_text())["first_tokens"]
    assert (found["prompts"], [point["k"] for point in found["crossover"]["points"]]) == (4, [1, 3])
    total = found["crossover"]["total"]["value"]
    for point in found["crossover"]["points"]:
        assert point["beginning"]["value"] + point["rest"]["value"] == pytest.approx(total, abs=3e-6)
    assert found["crossover"]["verdict"] in {"decide", "do not decide", "cannot tell"}
    curve = found["divergence"]["adapted"]
    assert len(curve["nats"]) == len(curve["replies"]) <= 5 and curve["first_share"] == 1
    assert (root / stage.SCORES / runs.REPLIES).read_bytes() == (evaluated[0] / stage.SCORES / runs.REPLIES).read_bytes()
