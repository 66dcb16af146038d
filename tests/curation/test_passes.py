"""A pass keeps or drops every row exactly once, whatever the rows and hits are."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightgarden.curation.accounts import pass_order, settle
from nightgarden.curation.filter import filter_pass
from nightgarden.errors import Refusal, UserError
from nightgarden.records import Annotation, Hit
from nightgarden.rule_params import RULES as NAMES
from tests.curation.rows import PARAMS, RULES, divide, example, read_lines, write_lines

HIT = (Hit(turn=1, start=0, end=1, reason="planted"),)


@settings(max_examples=40, deadline=None)
@given(
    num_rows=st.integers(0, 12), chosen=st.sets(st.integers(0, 15)), rule=st.sampled_from(["schema", "exclamation", "residue"])
)
def test_rows_in_are_rows_kept_and_rows_dropped_by_id(num_rows: int, chosen: set[int], rule: str) -> None:
    rows = [example(f"Answer {n}.", op=n % 4) for n in range(num_rows)]
    hits = {example(f"Answer {n}.", op=n % 4).id: HIT for n in chosen}  # also of rows that an earlier pass took
    kept, dropped = divide(rule, rows, hits, RULES.of(rule))
    assert {row.id for row in kept} | {line.id for line in dropped} == {row.id for row in rows}
    assert len(kept) + len(dropped) == num_rows
    assert {line.id for line in dropped} == hits.keys() & {row.id for row in rows}
    assert [(line.op, line.id) for line in dropped] == sorted((line.op, line.id) for line in dropped)


def _stage(root: Path, rows: list[dict[str, Any]]) -> None:
    write_lines(root / "data/synthesised/examples.jsonl", [])
    with (root / "data/synthesised/examples.jsonl").open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in sorted(rows, key=lambda row: row["id"]))
    write_lines(root / "data/annotations/schema.jsonl", [])


def _line(answer: str) -> dict[str, Any]:
    row = example(answer)
    return {"id": row.id, "op": 0, "turns": [{"role": turn.role, "content": turn.content} for turn in row.turns]}


def test_guard_in_a_row_that_stands_twice_is_refused_and_nothing_published(tmp_path: Path) -> None:
    _stage(tmp_path, [_line("Water it."), _line("Water it."), _line("Feed it.")])
    with pytest.raises(Refusal, match="pass schema: 3 rows in, 3 accounted for as kept"):
        filter_pass("schema", PARAMS.curation, tmp_path)
    assert not list((tmp_path / "data/curated/schema").iterdir())


def test_guard_out_the_doubled_row_would_be_published_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nightgarden.curation.filter.settle", lambda *parts, **more: None)
    _stage(tmp_path, [_line("Water it."), _line("Water it."), _line("Feed it.")])
    filter_pass("schema", PARAMS.curation, tmp_path)
    assert len(read_lines(tmp_path / "data/curated/schema/examples.jsonl")) == 3


def test_clean_case_the_same_rows_once_each_are_published(tmp_path: Path) -> None:
    _stage(tmp_path, [_line("Water it."), _line("Feed it.")])
    report = filter_pass("schema", PARAMS.curation, tmp_path)
    assert (report["rows_in"], report["kept"], report["dropped"]) == (2, 2, 0)
    assert len(read_lines(tmp_path / "data/curated/schema/examples.jsonl")) == 2


def test_a_ledger_line_tells_rule_turn_span_reason_and_engine(curated: Path) -> None:
    for rule in NAMES:
        ledger = read_lines(curated / f"data/curated/{rule}/ledger.jsonl")
        assert ledger, rule
        for line in ledger:
            assert line["rule"] == rule and line["hits"] and all(hit["reason"] for hit in line["hits"])
            assert "/" in line["engine"] and "+" in line["engine"]
            assert line.get("sole") is None
    assert line["engine"].startswith("python/")
    assert read_lines(curated / "data/curated/exclamation/ledger.jsonl")[0]["engine"].startswith("re2-")


def test_reports_tell_rows_per_op_and_seed_rows_apart(curated: Path) -> None:
    for rule in NAMES:
        report = json.loads((curated / f"reports/passes/{rule}.json").read_text())
        assert report["rows_in"] == report["kept"] + report["dropped"]
        assert (
            report["rows_in"] == sum(report[f"op{op}_in"] for op in range(4)) == sum(report[f"op{op}_seed_in"] for op in range(4))
        )
        assert report["dropped"] == sum(report[f"op{op}_dropped"] for op in range(4))


def test_each_pass_reads_what_the_pass_before_kept(curated: Path) -> None:
    before = (curated / "data/synthesised/examples.jsonl").read_bytes()
    for rule in pass_order(PARAMS.curation):
        kept = (curated / f"data/curated/{rule}/examples.jsonl").read_bytes()
        assert set(kept.splitlines()) <= set(before.splitlines())
        before = kept


def test_annotations_hold_every_hit_also_on_rows_that_an_earlier_pass_took(curated: Path) -> None:
    taken_before = {line["id"] for line in read_lines(curated / "data/curated/instruct_isms/ledger.jsonl")}
    annotated = {line["id"] for line in read_lines(curated / "data/annotations/exclamation.jsonl")}
    assert taken_before & annotated


def test_an_unknown_pass_is_named(tmp_path: Path) -> None:
    short = PARAMS.curation.model_copy(update={"passes": {"schema": PARAMS.curation.passes["schema"]}})
    with pytest.raises(UserError, match="params.yaml has no pass 'length'"):
        filter_pass("length", short, tmp_path)


def test_an_annotation_is_one_row_of_json(curated: Path) -> None:
    from nightgarden import jsonl

    annotations: list[Annotation] = list(jsonl.read(curated / "data/annotations/bullets.jsonl", Annotation))
    assert [(a.op, a.id) for a in annotations] == sorted((a.op, a.id) for a in annotations)
    hits = [hit for a in annotations for hit in a.hits]
    assert hits and all(0 < len(hit.snippet) <= 80 for hit in hits)


@given(
    ids=st.lists(st.integers(0, 30), unique=True, max_size=20),
    fault=st.sampled_from(["none", "lost", "twice", "new"]),
    cut=st.integers(0, 20),
)
def test_the_law_holds_for_every_sharing_out_and_for_nothing_else(ids: list[int], fault: str, cut: int) -> None:
    rows = sorted((n % 4, f"{n:020x}") for n in ids)
    kept, gone = rows[:cut:2] + rows[cut:], rows[1:cut:2]
    if fault == "lost":
        kept = kept[:-1]
    elif fault == "twice":
        kept = [*kept, *kept[-1:]]
    elif fault == "new":
        kept = [*kept, (3, "f" * 20)]
    is_sound = fault == "none" or (fault in {"lost", "twice"} and not (rows[:cut:2] + rows[cut:]))
    if is_sound:
        settle("pass x", rows, kept=sorted(kept), ledger=gone)
    else:
        with pytest.raises(Refusal, match="Nothing was published"):
            settle("pass x", rows, kept=sorted(kept), ledger=gone)


def test_rows_that_are_not_sorted_are_refused_by_name() -> None:
    with pytest.raises(Refusal, match="pass x: kept are not sorted by op and id, a stands behind b"):
        settle("pass x", [(0, "a"), (0, "b")], kept=[(0, "b"), (0, "a")])
