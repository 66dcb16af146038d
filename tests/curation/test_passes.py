"""A pass keeps or drops every row exactly once, whatever the rows and hits are."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightgarden.curation.accounts import pass_order
from nightgarden.curation.filter import divide, filter_pass
from nightgarden.curation.rules.duplicate import losers
from nightgarden.errors import Refusal, UserError
from nightgarden.params import RULES as NAMES
from nightgarden.records import Annotation, Hit
from tests.curation.rows import PARAMS, RULES, example, read_lines, write_lines

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


@given(
    edges=st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda edge: edge[0] < edge[1]), max_size=20),
    outside=st.sets(st.integers(0, 9)),
)
def test_of_near_copies_no_two_stay_and_each_that_goes_has_one_that_stays(edges: set[tuple[int, int]], outside: set[int]) -> None:
    near = {n: {a + b - n for a, b in edges if n in (a, b)} for n in range(10)}
    hits = {f"id{n}": tuple(Hit(turn=-1, start=0, end=0, reason=f"0.9 in common with id{m}") for m in near[n]) for n in near}
    gone = losers([f"id{n}" for n in range(10)], hits, outside={f"id{n}" for n in outside})
    kept = {n for n in range(10) if f"id{n}" not in gone}
    assert all(not near[n] & kept for n in kept)
    assert all(near[n] & kept for n in range(10) if n not in kept)
    assert all(near[n] & kept - outside for n in range(10) if n not in kept | outside), "an outside row takes no seed row"


def _stage(root: Path, rows: list[object]) -> None:
    write_lines(root / "data/raw/examples.jsonl", [])
    with (root / "data/raw/examples.jsonl").open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    write_lines(root / "data/annotations/schema.jsonl", [])


def _line(answer: str) -> dict[str, object]:
    row = example(answer)
    return {"id": row.id, "op": 0, "turns": [{"role": turn.role, "content": turn.content} for turn in row.turns]}


def test_guard_in_a_row_that_stands_twice_is_refused_and_nothing_published(tmp_path: Path) -> None:
    _stage(tmp_path, [_line("Water it."), _line("Water it."), _line("Feed it.")])
    with pytest.raises(Refusal, match="pass schema: 3 rows in, 3 accounted for as kept"):
        filter_pass("schema", PARAMS.curation, tmp_path)
    assert not (tmp_path / "data/curated").exists()


def test_guard_out_the_doubled_row_would_be_published_twice() -> None:
    from nightgarden.curation.filter import to_drop

    rows = [example("Water it."), example("Water it.")]
    assert [row for row in rows if row.id not in to_drop("schema", rows, {})] == rows


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
    before = (curated / "data/raw/examples.jsonl").read_bytes()
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
    assert [a.id for a in annotations] == sorted(a.id for a in annotations)
