"""`nightgarden whatif` answers from the annotations what the stages would do, and the stages agree."""

import json
import shutil
from pathlib import Path

import pytest

from nightgarden.curation.accounts import pass_order
from nightgarden.curation.annotate import annotate
from nightgarden.curation.whatif import told, whatif
from nightgarden.errors import UserError
from nightgarden.params import Curation
from nightgarden.records import Example
from tests.curation.rows import PARAMS, ROOT, curate, example, files_below, ours, passes, settings, take_in, write_lines


def as_run(root: Path) -> dict[str, object]:
    """The counts that the stages wrote, in the form of an answer."""
    order = pass_order(PARAMS.curation)
    reports = {rule: json.loads((root / f"reports/passes/{rule}.json").read_text()) for rule in (*order, "rebalance")}
    mixed = reports["rebalance"]
    counts = {name: {rule: reports[rule][name] for rule in order} for name in ("dropped", "repaired", "merged")}
    kept = [mixed[f"op{op}_in"] for op in range(4)]
    verdict = json.loads((root / "reports/gate.json").read_text())
    dataset = [mixed[f"op{op}_in"] - mixed[f"op{op}_dropped"] for op in range(4)]
    return counts | {"kept": kept, "dataset": dataset, "mix": verdict["mix"], "refused": None}


def annotated(root: Path, rows: list[Example]) -> Curation:
    """Rows of one source, ingested and annotated; no pass has run."""
    curation = settings(sources={"mine": {"path": "mine.jsonl"}})
    write_lines(root / "mine.jsonl", [ours(row) for row in rows])
    (root / "data/seed").mkdir(parents=True)
    shutil.copy(ROOT / "data/seed/evaluation_prompts.jsonl", root / "data/seed/evaluation_prompts.jsonl")
    take_in(curation, root)
    for rule in pass_order(curation):
        annotate(rule, curation, root)
    return curation


def test_without_anything_the_counts_are_those_of_the_stages(curated: Path) -> None:
    found = whatif([], PARAMS.curation, curated)
    assert found["now"] == found["then"] == as_run(curated)
    assert sum(found["now"]["dropped"].values()) > 100


def test_without_a_rule_the_counts_are_those_of_stages_that_ran_without_it(curated: Path, seed_root: Path) -> None:
    found = whatif(["exclamation"], PARAMS.curation, curated)
    curate(settings(rules={"exclamation": {"scope": "assistant", "max_marks": 0, "enabled": False}}), seed_root)
    assert found["then"] == as_run(seed_root)
    assert found["then"]["dropped"]["question_cascade"] > found["now"]["dropped"]["question_cascade"], "it frees rows for others"


def test_repaired_and_merged_rows_are_counted_as_the_stages_count_them(seed_root: Path) -> None:
    line = "The wall is cold, so the pendulum gains a minute a day until spring"
    twins = [ours(example(f"{line}{end}", ask="Why is my clock fast?")) for end in ("!", ".", "!!")]
    (seed_root / "data/seed/examples/op0_bootstrap.jsonl").open("a").write("".join(json.dumps(row) + "\n" for row in twins))
    curation = settings(passes=passes(exclamation={"on_hit": "repair"}))
    curate(curation, seed_root)
    found = whatif([], curation, seed_root)
    assert found["now"] == found["then"] == as_run(seed_root)
    assert (found["now"]["merged"]["exclamation"], found["now"]["dropped"]["exclamation"]) == (2, 0)
    assert found["now"]["repaired"]["exclamation"] == 25


def test_near_copies_are_sought_again_among_those_who_are_left(tmp_path: Path) -> None:
    text = "Bake it first, let it go cold, cut it into squares and wrap each one by itself"
    curation = annotated(tmp_path, [example(f"{text}{end}") for end in (". Now", " now!")])
    found = whatif(["exclamation"], curation, tmp_path)
    assert (found["now"]["dropped"]["exclamation"], found["now"]["dropped"]["duplicate"]) == (1, 0)
    assert (found["then"]["dropped"]["exclamation"], found["then"]["dropped"]["duplicate"]) == (0, 1)


def test_it_answers_before_any_pass_has_run_and_writes_nothing(tmp_path: Path) -> None:
    curation = annotated(tmp_path, [example("Yes!", ask="Is it cold?"), example("In spring.", ask="When do I sow beans?")])
    before = files_below(tmp_path)
    found = whatif(["exclamation"], curation, tmp_path)
    assert files_below(tmp_path) == before
    assert (found["now"]["kept"], found["then"]["kept"]) == ([1, 0, 0, 0], [2, 0, 0, 0])
    assert "no rows left of op 1" in found["then"]["refused"] and found["then"]["dataset"] is None
    assert "no mix" in told(found) and found["then"]["refused"] in told(found)


def test_an_unknown_pass_is_refused_with_the_names_of_all(curated: Path) -> None:
    with pytest.raises(UserError, match="got --without bang; the passes of params.yaml are schema, placeholder"):
        whatif(["bang"], PARAMS.curation, curated)


def test_the_table_shows_both_sides_and_the_difference(curated: Path) -> None:
    text = told(whatif(["exclamation"], PARAMS.curation, curated))
    lines = {line.split()[0]: line.split() for line in text.splitlines() if line}
    assert lines["exclamation"][1:] == ["25", "0", "-25"]
    assert lines["schema"][1:] == ["8", "8"]
    kept = json.loads((curated / "reports/funnel.json").read_text())[-1]["kept"]
    assert lines["all"][1:4] == [str(kept), str(kept + 20), "+20"]
