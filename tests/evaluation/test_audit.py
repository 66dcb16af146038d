"""Past runs are checked by making their passports and ids again; a run that went wrong is marked and never compared."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from nightgarden import jsonl
from nightgarden.digests import sha256_text
from nightgarden.errors import Refusal, UserError
from nightgarden.evaluation import runs
from nightgarden.evaluation.answers import Reply
from nightgarden.evaluation.audit import MARK, audit
from nightgarden.evaluation.compare import as_text, compare_runs
from nightgarden.evaluation.evaluate import SCORES, evaluate
from nightgarden.evaluation.runs import Run
from nightgarden.params import Params
from nightgarden.stage import Place


@pytest.fixture(scope="module")
def run(workshop: Path, params: Params, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run."""
    root = Path(shutil.copytree(workshop, tmp_path_factory.mktemp("audited") / "root", symlinks=True))
    evaluate(params, root, Place(root=root, state=root / ".nightgarden", tracking_uri=""))
    return root / SCORES


@pytest.fixture
def copies(run: Path, tmp_path: Path) -> Callable[[str], Path]:
    def copy(name: str) -> Path:
        return Path(shutil.copytree(run, tmp_path / "past" / name))

    return copy


def with_ids(folder: Path, change: Callable[[tuple[int, ...]], tuple[int, ...]]) -> None:
    """Replace the ids of every prompt on both sides, sha and all, as a run under another template would have written them."""
    replies: list[Reply] = list(jsonl.read(folder / runs.REPLIES, Reply))
    changed = []
    for reply in replies:
        ids = change(reply.prompt_ids)
        sha = sha256_text(jsonl.encode(list(ids)).decode())
        changed.append(msgspec.structs.replace(reply, prompt_ids=ids, prompt_sha=sha))
    jsonl.write(folder / runs.REPLIES, changed)


def with_run(folder: Path, **fields: object) -> None:
    jsonl.write_json(folder / runs.RUN, json.loads((folder / runs.RUN).read_text()) | fields)


def only(folder: Path, params: Params, root: Path) -> tuple[str, str]:
    (found,) = audit(folder, params, root)
    return found.verdict, "; ".join(found.reasons)


def test_a_sound_run_is_valid_and_marked_so(copies: Callable[[str], Path], params: Params, workshop: Path) -> None:
    folder = copies("sound")
    assert only(folder, params, workshop)[0] in {"valid", "suspect"}  # random weights may say nothing
    assert json.loads((folder / MARK).read_text())["verdict"] != "invalid"


def test_guard_in_a_run_without_a_generation_prompt_is_invalid_with_what_it_began_with(
    copies: Callable[[str], Path], params: Params, workshop: Path
) -> None:
    folder = copies("bad")
    with_ids(folder, lambda ids: ids[:-3])
    verdict, reasons = only(folder, params, workshop)
    assert verdict == "invalid" and "4 of 4 prompts were given other ids than smollm2 gives" in reasons


def test_guard_out_the_runs_own_words_tell_nothing(copies: Callable[[str], Path], run: Path) -> None:
    folder = copies("bad")
    with_ids(folder, lambda ids: ids[:-3])
    past = runs.read(folder)
    assert past.run.passport["verdict"] == "agree", "the passport that was stored then"
    assert past.scored == runs.read(run).scored, "and not a score moves"


def test_a_run_whose_card_names_another_template_is_invalid(
    copies: Callable[[str], Path], params: Params, workshop: Path
) -> None:
    folder = copies("card")
    card = runs.read(folder).run.card
    card["template"]["golden_ids"]["bare"][-1] += 1
    with_run(folder, card=card)
    verdict, reasons = only(folder, params, workshop)
    assert verdict == "invalid" and "card: trained with another template" in reasons


def test_a_run_whose_fingerprint_is_another_is_invalid(copies: Callable[[str], Path], params: Params, workshop: Path) -> None:
    folder = copies("fingerprint")
    with_run(folder, template=runs.read(folder).run.template | {"template_sha256": "0" * 64})
    verdict, reasons = only(folder, params, workshop)
    assert verdict == "invalid" and "its template was another" in reasons


def test_ids_that_differ_between_the_sides_are_invalid(copies: Callable[[str], Path], params: Params, workshop: Path) -> None:
    folder = copies("sides")
    replies: list[Reply] = list(jsonl.read(folder / runs.REPLIES, Reply))
    replies[-1] = msgspec.structs.replace(replies[-1], prompt_ids=(*replies[-1].prompt_ids, 1))
    jsonl.write(folder / runs.REPLIES, replies)
    assert only(folder, params, workshop)[0] == "invalid"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [({"base": "vicuna-33b"}, "is no model of params.yaml"), ({"weights": {"model.safetensors": "0"}}, "had other weights")],
)
def test_what_cannot_be_checked_here_is_unverified_and_not_valid(
    copies: Callable[[str], Path], params: Params, workshop: Path, fields: dict[str, object], reason: str
) -> None:
    folder = copies("unknown")
    with_run(folder, **fields)
    verdict, reasons = only(folder, params, workshop)
    assert verdict == "unverified" and reason in reasons


def test_an_old_run_without_its_identity_is_unverified(copies: Callable[[str], Path], params: Params, workshop: Path) -> None:
    folder = copies("old")
    (folder / runs.RUN).unlink()
    verdict, reasons = only(folder, params, workshop)
    assert verdict == "unverified" and "run.json is missing" in reasons


def test_every_run_below_a_folder_is_found_and_a_folder_without_one_is_an_error(
    copies: Callable[[str], Path], params: Params, workshop: Path, tmp_path: Path
) -> None:
    with_ids(copies("b/late"), lambda ids: ids[:-3])
    copies("a")
    found = audit(tmp_path / "past", params, workshop)
    assert [(item.run, item.verdict == "invalid") for item in found] == [("a", False), ("b/late", True)]
    (tmp_path / "none").mkdir()
    with pytest.raises(UserError, match="no run lies at or below"):
        audit(tmp_path / "none", params, workshop)


def test_two_runs_with_equal_ids_are_compared_and_what_else_differs_is_told(
    copies: Callable[[str], Path], params: Params, tmp_path: Path
) -> None:
    copies("one")
    with_run(copies("two"), adapter="another")
    found = compare_runs("past/one", "past/two", "adapted", params.evaluation.alpha, tmp_path)
    assert {test.verdict for test in found.comparison.tests.values()} == {"cannot tell"}
    assert [sentence.split(":")[0] for sentence in found.beside] == ["adapter"]
    assert "also different: adapter: " in as_text(found)


def test_runs_with_other_ids_are_not_compared(copies: Callable[[str], Path], params: Params, tmp_path: Path) -> None:
    copies("one")
    with_ids(copies("two"), lambda ids: ids[:-3])
    with pytest.raises(Refusal, match="4 of 4 requests differ: prompt "):
        compare_runs("past/one", "past/two", "adapted", params.evaluation.alpha, tmp_path)


def test_a_run_that_an_audit_marked_is_not_compared(
    copies: Callable[[str], Path], params: Params, workshop: Path, tmp_path: Path
) -> None:
    with_ids(copies("one"), lambda ids: ids[:-3])
    with_ids(copies("two"), lambda ids: ids[:-3])
    compare_runs("past/one", "past/two", "adapted", params.evaluation.alpha, tmp_path)
    audit(tmp_path / "past", params, workshop)
    with pytest.raises(Refusal, match="one was found invalid"):
        compare_runs("past/one", "past/two", "adapted", params.evaluation.alpha, tmp_path)


def test_the_identity_of_a_run_holds_no_path_and_no_time(run: Path) -> None:
    text = (run / runs.RUN).read_text()
    assert str(run.parents[2]) not in text
    assert set(msgspec.json.decode(text)) <= set(Run.__struct_fields__)
