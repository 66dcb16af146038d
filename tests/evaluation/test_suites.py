"""Suites: read and refused, then asked of the pair, of one model alone, and of a model behind a server."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nightgarden import jsonl
from nightgarden.chat.embedded import KEY, Embedded
from nightgarden.errors import UserError
from nightgarden.evaluation import audit, compare, generate, prompts, runs, suite_run, suites
from nightgarden.evaluation.answers import Reply
from nightgarden.evaluation.following import following
from nightgarden.evaluation.suite_run import PAGE, SUMMARY, Asked, wish
from nightgarden.params import Evaluation, Params
from nightgarden.stage import Place, Report

SUITE = """
settings: {seeds: 2, max_new_tokens: 6, temperature: 0.7}
prompts:
  - id: hello
    category: greetings
    messages: [{role: user, content: Say hello.}]
    constraints: [{kind: max_words, n: 12}, {kind: "punctuation:no_comma"}]
  - id: river
    category: facts
    messages: [{role: system, content: Answer in lower case.}, {role: user, content: Name a river.}]
    constraints: [{kind: "keywords:forbidden_words", args: {forbidden_words: [ocean, sea]}}]
"""
ITEM = {
    "key": 7,
    "prompt": "Write two lines.",
    "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
    "kwargs": [{}, {"relation": "less than", "num_words": 20}],
}


@pytest.fixture
def settings(params: Params) -> Evaluation:
    return params.evaluation


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    def write(text: str = SUITE, name: str = "mine.yaml") -> Path:
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def test_a_suite_brings_its_settings_and_leaves_the_rest_to_params(written: Callable[..., Path], settings: Evaluation) -> None:
    suite = suites.load(written(), settings)
    assert (suite.name, suite.settings.seeds, suite.settings.max_new_tokens) == ("mine", 2, 6)
    assert suite.settings.top_p == settings.top_p and suite.settings.first_tokens == 0
    assert [(prompt.id, prompt.category) for prompt in suite.prompts] == [("river", "facts"), ("hello", "greetings")]
    assert suite.prompts[1].turns[0].content == prompts.SYSTEM, "a system prompt is always sent"


def test_an_item_of_ifeval_becomes_a_prompt_that_is_asked_as_published(
    written: Callable[..., Path], settings: Evaluation
) -> None:
    suite = suites.load(written(json.dumps(ITEM) + "\n", "if.jsonl"), settings, {"max_new_tokens": 9})
    (prompt,) = suite.prompts
    assert (prompt.id, prompt.category, len(prompt.constraints)) == ("7", "punctuation", 2)
    assert (suite.settings.temperature, suite.settings.seeds, suite.settings.max_new_tokens) == (0, 1, 9)
    assert suite.settings.max_reply_words is None


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("seeds: 2", "seeds: 2, seeds: 3"), "the key 'seeds' stands twice"),
        (("seeds: 2", "alpha: 0.5"), "settings alpha; a suite may set seeds"),
        (("seeds: 2", "seeds: none"), "seeds: Input should be a valid integer"),
        (("id: river", "id: hello"), "this id stands twice"),
        (("max_words", "at_most_words"), "unknown kind 'at_most_words'"),
        (("forbidden_words: [", "keywords: ["), "keywords:forbidden_words needs forbidden_words"),
        (("forbidden_words: [", "forbidden: ["), "unknown field `forbidden`"),
        (("n: 12", "args: {n: 12}"), "max_words needs n; it has args"),
        (("role: user, content: Say", "role: assistant, content: Say"), "a prompt ends with the user's"),
        (("category: facts", "category: 2026-12-07"), "Expected `str`, got `date`.*a date stands in quotes"),
    ],
)
def test_a_fault_in_a_suite_is_named(
    change: tuple[str, str], told: str, written: Callable[..., Path], settings: Evaluation
) -> None:
    text = SUITE.replace(*change, 1)
    assert text != SUITE
    with pytest.raises(UserError, match=told):
        suites.load(written(text), settings)


def test_another_ending_and_an_empty_suite_are_refused(written: Callable[..., Path], settings: Evaluation) -> None:
    with pytest.raises(UserError, match=r"ends in \.yaml or \.jsonl"):
        suites.load(written(name="mine.txt"), settings)
    with pytest.raises(UserError, match="holds no prompt"):
        suites.load(written("prompts: []"), settings)
    with pytest.raises(UserError, match="3 prompts are asked for; the file has 2"):
        suites.load(written(), settings, count=3)


def test_loose_forgives_what_strict_does_not_and_each_kind_is_counted(written: Callable[..., Path], settings: Evaluation) -> None:
    (prompt,) = suites.load(written(json.dumps(ITEM), "if.jsonl"), settings).prompts
    texts = ("Here it is, sure:\na short line\nand another", "one, two", "no marks at all")
    replies = [
        Reply(
            prompt="7",
            category="",
            seed=seed,
            side="stock",
            prompt_ids=(),
            prompt_sha="",
            reply_ids=(),
            text=text,
            truncated=True,
        )
        for seed, text in enumerate(texts)
    ]
    found = following([prompt], replies, "stock")
    assert found is not None and following([prompt], replies, "adapted") is None
    assert (found.prompt_strict, found.prompt_loose) == ((1, 3), (2, 3))
    assert (found.instruction_strict, found.instruction_loose) == ((4, 6), (5, 6))
    assert found.kinds == {"punctuation:no_comma": (1, 2, 3), "length_constraints:number_words": (3, 3, 3)}


def asked(written: Callable[..., Path], settings: Evaluation, out: Path, **fields: object) -> Asked:
    return replace(Asked(suite=suites.load(written(), settings), out=out), **fields)  # type: ignore[arg-type]


@pytest.fixture
def made(written: Callable[..., Path], params: Params, place: Place) -> tuple[Path, Report]:
    """A run of the pair."""
    out = place.root / "data/runs/mine"
    return out, suite_run.run(asked(written, params.evaluation, out), params, place)


def test_a_suite_asked_of_the_pair_is_a_run_that_audit_and_compare_read_and_that_promotes_nothing(
    made: tuple[Path, Report], written: Callable[..., Path], params: Params, place: Place
) -> None:
    out, numbers = made
    summary = json.loads((out / SUMMARY).read_text())
    assert summary["promote"] is None and set(summary["families"]) == {"suppression", "generation"}
    assert summary["void"]["of"] == 4 and set(summary["barbell"]) == {"facts", "greetings", "all"}
    assert "promote" not in numbers and 0 <= float(numbers["stock/ifeval_prompt_strict"]) <= 1
    assert [item.verdict for item in audit.audit(out.parent, params, place.root)] == ["valid"]
    page = (out / PAGE).read_text()
    assert "A suite is compared and promotes nothing" in page and "Instructions followed" in page
    again = suite_run.run(asked(written, params.evaluation, out.parent / "again"), params, place)
    assert all((out / name).read_bytes() == (out.parent / "again" / name).read_bytes() for name in (*runs.FILES, PAGE))
    assert again == numbers
    found = compare.compare_runs(str(out), str(out.parent / "again"), "adapted", 0.05, place.root)
    assert found.comparison.compliance["all"].of == 4 and found.comparison.compliance["all"].value == 0


def test_a_run_of_other_prompts_is_not_overwritten_and_nothing_is_generated_for_it(
    made: tuple[Path, Report], written: Callable[..., Path], params: Params, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, _ = made
    before = (out / runs.REPLIES).read_bytes()
    monkeypatch.setattr(generate, "generate", lambda *_: pytest.fail("it was asked"))
    other = wish(
        written(SUITE.replace("Say hello", "Say goodbye")), params.evaluation, out, (), is_pair=True, limits=(None, None)
    )
    with pytest.raises(UserError, match="holds a run of other prompts or settings"):
        suite_run.run(other, params, place)
    assert (out / runs.REPLIES).read_bytes() == before


def test_one_model_alone_is_measured_and_compared_with_nothing(
    written: Callable[..., Path], params: Params, place: Place
) -> None:
    shutil.rmtree(place.root / "models/adapters/candidate")
    out = place.root / "alone"
    suite_run.run(asked(written, params.evaluation, out, is_pair=False), params, place)
    summary = json.loads((out / SUMMARY).read_text())
    assert summary["families"] is None and set(summary["counts"]) == {"stock"}
    assert "Stock alone; nothing is compared" in (out / PAGE).read_text()
    assert [item.verdict for item in audit.audit(out, params, place.root)] == ["valid"]


@pytest.fixture(scope="module")
def server(base_model: Path) -> Iterator[Embedded]:
    with Embedded(base_model, seed=1) as chat:
        yield chat


def test_a_suite_asked_of_a_served_model_is_a_run_whose_weights_nobody_knows(
    server: Embedded, written: Callable[..., Path], params: Params, place: Place
) -> None:
    out = place.root / "served"
    there = replace(place, server_url=server.url, server_key=KEY)
    suite_run.run(asked(written, params.evaluation, out, served={"stock": server.name, "adapted": server.name}), params, there)
    run = runs.read(out).run
    assert run.served == {"stock": server.name, "adapted": server.name} and run.adapter == "none"
    (found,) = audit.audit(out, params, place.root)
    assert found.verdict == "unverified" and "behind a server: its weights are not known" in found.reasons[0]
    with pytest.raises(UserError, match="OPENAI_BASE_URL is not set"):
        suite_run.run(asked(written, params.evaluation, place.root / "x", served={"stock": "m"}), params, place)
    with pytest.raises(UserError, match="3 served models"):
        wish(written(), params.evaluation, None, ("a", "b", "c"), is_pair=True, limits=(None, None))


def test_a_key_that_stands_twice_in_params_is_refused(tmp_path: Path, repository: Path) -> None:
    from nightgarden import params as params_module

    text = (repository / "params.yaml").read_text()
    (tmp_path / "params.yaml").write_text(text.replace("  seeds: ", "  seeds: 9\n  seeds: ", 1))
    with pytest.raises(UserError, match="the key 'seeds' stands twice"):
        params_module.load(tmp_path / "params.yaml")
    jsonl.write_text(tmp_path / "params.yaml", text)
    assert params_module.load(tmp_path / "params.yaml").evaluation.seeds >= 1
