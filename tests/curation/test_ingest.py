"""Every row of every source ends as an example, a merged row or a quarantined one; never silently elsewhere."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from nightgarden.curation.annotate import annotate
from nightgarden.curation.ingest import ingest
from nightgarden.curation.sorting import Sorter
from nightgarden.curation.sources.reading import refuse_empty
from nightgarden.errors import Refusal, UserError
from nightgarden.params import Curation
from tests.curation.rows import example, files_below, ours, read_lines, settings, take_in, write_lines

BASIL = example("Water it from below and give it the brightest sill you have.")
GOOD = json.dumps(ours(BASIL)).encode()


def taking(root: Path, name: str, content: bytes, op: int | None = None, rows: int | None = None) -> Curation:
    """A curation section whose one source is a file with that content."""
    path = root / "data/inbox" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return settings(sources={"visitor": {"path": f"data/inbox/{name}", "op": op, "rows": rows}})


def outcome(root: Path, name: str, content: bytes, op: int | None = None) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Examples and quarantine that a file leads to."""
    ingest(taking(root, name, content, op), root)
    return read_lines(root / "data/raw/examples.jsonl"), read_lines(root / "data/raw/quarantine.jsonl")


BROKEN = {
    b'{"op": 0, "messages"': "not JSON",
    b"\xff" + GOOD: "byte 0 is not UTF-8",
    GOOD.replace(b'"op": 0', b'"op": 0, "op": 1'): "a key stands twice",
    GOOD.replace(b'"op": 0', b'"op": 0, "weight": NaN'): "NaN is no JSON number",
    GOOD.replace(b'"op": 0', b'"op": 0, "weight": 1e999'): "too large for a float",
    GOOD.replace(b'"op": 0', b'"op": 0, "weight": ' + b"7" * 5000): "too many digits",
    GOOD.replace(b"Water", b"\\ud83d Water"): "a lone surrogate",
    GOOD.replace(b'"op": 0', b'"op": 0, "deep": ' + b"[" * 300 + b"]" * 300): "nested more than 100 deep",
    GOOD.replace(b'"op": 0', b'"op": 0, "deep": ' + b"[" * 9000 + b"]" * 9000): "nested more than 100 deep",
    GOOD.replace(b'"user"', b'"hummany"'): "unknown role 'hummany'",
    GOOD.replace(b'"op": 0', b'"op": 7'): "op must be a whole number from 0 to 3",
    GOOD.replace(b'"op": 0', b'"op": true'): "op must be a whole number from 0 to 3",
    GOOD.replace(b'"op": 0', b'"op": 0, "label": false'): "label false",
    GOOD.replace(b'"op": 0', b'"op": 0, "memories": [{"type": "dream", "text": "x"}]'): "memories, directives or meta",
    b'{"op": 0, "messages": []}': "no turns",
    b'{"op": 0, "messages": [{"role": "user", "content": [{"type": "image"}]}]}': "its text must be a string",
    b'{"op": 0, "messages": [{"role": "assistant", "content": "x", "tool_calls": [1]}]}': "calls a tool",
    b'{"prompt": "x", "chosen": "y", "rejected": "z"}': "no known shape",
    b"[1, 2]": "a row must be an object",
    b'{"instruction": "x", "output": null}': "output must be a text",
    b'{"instruction": "x", "output": "y"}': "the row carries no op",
    b'{"instruction": "x", "output": "y", "history": 5}': "history must be a list, this is a int",
    b'{"instruction": "x", "output": "y", "history": 1.5}': "history must be a list, this is a float",
    b'{"instruction": "x", "output": "y", "history": true}': "history must be a list, this is a bool",
    b'{"instruction": "x", "output": "y", "history": {}}': "history must be a list, this is a dict",
    b'{"instruction": "x", "output": "y", "history": [5]}': "history must hold pairs",
}


@pytest.mark.parametrize("line", BROKEN, ids=list(BROKEN.values()))
def test_a_row_that_cannot_be_taken_is_quarantined_with_its_place_and_reason(tmp_path: Path, line: bytes) -> None:
    taken, quarantined = outcome(tmp_path, "rows.jsonl", GOOD + b"\n\n" + line + b"\n")
    assert [row["id"] for row in taken] == [BASIL.id]
    assert [(row["file"], row["line"]) for row in quarantined] == [("data/inbox/rows.jsonl", 3)]
    assert BROKEN[line] in quarantined[0]["reason"]
    assert quarantined[0]["raw"] == line.decode("utf-8", "backslashreplace")


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + GOOD + b"\n",
        GOOD + b"\r\n",
        b"\n  \n" + GOOD,
        b"\xef\xbb\xbf[" + GOOD + b"]",
        b"[\r\n" + GOOD + b"\r\n]\r\n",
    ],
    ids=["byte order mark", "CRLF", "blank lines, no last newline", "byte order mark before an array", "CRLF array"],
)
def test_marks_and_line_ends_of_other_systems_change_nothing(tmp_path: Path, content: bytes) -> None:
    taken, quarantined = outcome(tmp_path, "rows.json" if b"[" in content[:4] else "rows.jsonl", content)
    assert [row["id"] for row in taken] == [BASIL.id]
    assert not quarantined


SHAPES: dict[str, dict[str, Any]] = {
    "messages": {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}]},
    "sharegpt": {"conversations": [{"from": "human", "value": "hi", "weight": 0.0}, {"from": "gpt", "value": "Hello."}]},
    "alpaca": {"instruction": "hi", "output": "Hello."},
    "a text part": {
        "messages": [{"role": "User", "content": [{"type": "text", "text": "hi"}]}, {"role": "gpt", "content": "Hello."}]
    },
    "an empty system": {"system": "", "instruction": "hi", "input": "", "output": "Hello."},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_chat_in_any_shape_is_the_same_example(tmp_path: Path, shape: str) -> None:
    taken, _ = outcome(tmp_path, "rows.jsonl", json.dumps(SHAPES[shape]).encode(), op=0)
    assert taken[0]["turns"] == [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}]
    assert taken[0]["meta"]["source"] == "visitor"
    assert taken[0]["meta"]["outside"] is True


def test_foreign_keys_are_kept_and_the_input_stands_behind_the_instruction(tmp_path: Path) -> None:
    row = {"instruction": "Translate.", "input": "Guten Tag", "output": "Good day.", "source": "airoboros", "idx": 12}
    taken, _ = outcome(tmp_path, "rows.jsonl", json.dumps(row).encode(), op=0)
    assert taken[0]["turns"][0]["content"] == "Translate.\nGuten Tag"
    assert taken[0]["meta"]["foreign"] == {"source": "airoboros", "idx": 12}


def test_rows_of_ours_without_an_op_take_it_from_the_source(tmp_path: Path) -> None:
    row = {"messages": ours(BASIL)["messages"], "memories": [{"type": "semantic", "text": "The sill faces north."}]}
    taken, _ = outcome(tmp_path, "rows.jsonl", json.dumps(row).encode(), op=3)
    assert (taken[0]["op"], taken[0]["memories"]) == (3, row["memories"])


def test_an_array_under_the_name_of_json_lines_is_read_as_an_array(tmp_path: Path) -> None:
    taken, quarantined = outcome(tmp_path, "rows.jsonl", b"[" + GOOD + b",\n" + GOOD.replace(b"Water", b"Feed") + b"]")
    assert (len(taken), len(quarantined)) == (2, 0)


def test_a_system_column_becomes_the_system_turn(tmp_path: Path) -> None:
    row = {"system": "Be brief.", "conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "Hello."}]}
    taken, _ = outcome(tmp_path, "rows.jsonl", json.dumps(row).encode(), op=0)
    assert taken[0]["turns"][0] == {"role": "system", "content": "Be brief."}


def test_a_faulty_chat_is_an_example_for_the_schema_pass_and_no_reading_fault(tmp_path: Path) -> None:
    rows = [
        {"op": 0, "messages": [{"role": "user", "content": "hi"}]},
        {"op": 0, "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": ""}]},
    ]
    taken, quarantined = outcome(tmp_path, "rows.jsonl", b"\n".join(json.dumps(row).encode() for row in rows))
    assert len(taken) == 2
    assert not quarantined


def test_equal_rows_of_two_sources_become_one_and_the_seeds_provenance_stays(tmp_path: Path) -> None:
    write_lines(tmp_path / "data/inbox/a.jsonl", [ours(BASIL)])
    write_lines(tmp_path / "data/inbox/b.jsonl", [ours(BASIL) | {"meta": {"source": "hand-written"}}] * 2)
    sources = {"a": {"path": "data/inbox/a.jsonl", "op": 0}, "b": {"path": "data/inbox/b.jsonl"}}
    report = ingest(settings(sources=sources), tmp_path)
    (kept,) = read_lines(tmp_path / "data/raw/examples.jsonl")
    assert (report["rows_in"], report["examples"], report["merged"]) == (3, 1, 2)
    assert kept["meta"] == {"source": "hand-written"}
    assert len(read_lines(tmp_path / "data/raw/positions.jsonl")) == 3


def test_shuffled_sources_give_the_same_examples_byte_for_byte(tmp_path: Path) -> None:
    rows = [ours(example(f"Answer {n % 17}.", meta={"source": f"s{n}"})) for n in range(40)]
    found = []
    for seed in (1, 2):
        random.Random(seed).shuffle(rows)
        ingest(taking(tmp_path, "rows.jsonl", b"\n".join(json.dumps(row).encode() for row in rows)), tmp_path)
        found.append((tmp_path / "data/raw/examples.jsonl").read_bytes())
    assert found[0] == found[1]
    assert found[0].count(b"\n") == 17


def test_a_row_limit_takes_rows_from_the_start_of_the_file(tmp_path: Path) -> None:
    content = b"\n".join(json.dumps(ours(example(f"Answer {n}."))).encode() for n in range(5))
    report = ingest(taking(tmp_path, "rows.jsonl", content, rows=2), tmp_path)
    assert report["rows_in"] == 2
    assert {row["line"] for row in read_lines(tmp_path / "data/raw/positions.jsonl")} == {1, 2}


KEY = "ghp_" + "Rt84nVqLw0RtYb5XsMd27hJfGcPa9uE4oTiN"


def test_a_quarantined_row_with_a_key_is_named_by_its_hash_only(tmp_path: Path) -> None:
    plain = {"op": 0, "messages": [{"role": KEY, "content": KEY}]}
    escaped = json.dumps(plain).replace("ghp_", "\\u0067hp_")
    outcome(tmp_path, "rows.jsonl", json.dumps(plain).encode() + b"\n" + escaped.encode())
    written = (tmp_path / "data/raw/quarantine.jsonl").read_text()
    assert KEY not in written and KEY[4:] not in written
    assert written.count("sha256:") == 2


def test_a_quarantined_row_without_a_key_is_kept_as_it_was(tmp_path: Path) -> None:
    _, (row,) = outcome(tmp_path, "rows.jsonl", b'{"op": 0, "messages": [{"role": "bot", "content": "ghp_short"}]}')
    assert row["raw"].endswith('"ghp_short"}]}')


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf", b" \n\n", b"[]", b"[\n]\n"])
def test_a_source_without_a_row_is_refused_and_so_is_the_file_alone(tmp_path: Path, content: bytes) -> None:
    curation = taking(tmp_path, "rows.json", content)
    with pytest.raises(UserError, match="holds no row; give a file with at least one"):
        ingest(curation, tmp_path)
    with pytest.raises(UserError, match="holds no row"):
        refuse_empty(tmp_path / "data/inbox/rows.json")
    assert not (tmp_path / "data/raw").exists()


def test_a_file_whose_only_row_is_broken_is_not_empty(tmp_path: Path) -> None:
    refuse_empty(write_lines(tmp_path / "rows.jsonl", [5]))


PRETTY = json.dumps(ours(BASIL), indent=2).encode()


def test_one_object_over_several_lines_is_one_row(tmp_path: Path) -> None:
    taken, quarantined = outcome(tmp_path, "rows.json", b"\xef\xbb\xbf\n" + PRETTY)
    assert ([row["id"] for row in taken], quarantined) == ([BASIL.id], [])


def test_a_broken_object_over_several_lines_is_one_quarantined_row(tmp_path: Path) -> None:
    taken, quarantined = outcome(tmp_path, "rows.json", PRETTY.replace(b'"op": 0', b'"op": '))
    assert (len(taken), len(quarantined)) == (0, 1)


def test_a_broken_first_line_of_json_lines_under_the_name_of_json_costs_no_other(tmp_path: Path) -> None:
    taken, quarantined = outcome(tmp_path, "rows.json", GOOD[:40] + b"\n" + GOOD + b"\n")
    assert ([row["id"] for row in taken], [row["line"] for row in quarantined]) == ([BASIL.id], [1])


@pytest.mark.parametrize(
    ("name", "says"),
    [("missing.jsonl", "Check the path"), ("rows.xlsx", "ends in none of .json, .jsonl"), ("folder.json", "directory")],
)
def test_a_file_that_cannot_be_read_is_one_message_with_the_next_step(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / "data/inbox/folder.json").mkdir(parents=True)
    sources = {"visitor": {"path": f"data/inbox/{name}", "op": 0}}
    with pytest.raises(UserError, match=says):
        ingest(settings(sources=sources), tmp_path)
    assert not (tmp_path / "data/raw").exists()


def test_one_file_under_two_names_is_refused(tmp_path: Path) -> None:
    write_lines(tmp_path / "data/inbox/a.jsonl", [ours(BASIL)])
    sources = {name: {"path": "data/inbox/a.jsonl"} for name in ("one", "two")}
    with pytest.raises(UserError, match="more than once"):
        ingest(settings(sources=sources), tmp_path)


def test_guard_in_a_row_that_the_sorters_lose_stops_the_stage_and_nothing_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nightgarden.curation.ingest._merged", lambda lines: (line for _, line in list(lines)[1:]))
    content = b"\n".join(json.dumps(ours(example(f"Answer {n}."))).encode() for n in range(3))
    with pytest.raises(Refusal, match="1 ids stand in only one of examples and positions"):
        ingest(taking(tmp_path, "rows.jsonl", content), tmp_path)
    assert not list((tmp_path / "data/raw").iterdir())


def test_guard_out_the_lost_row_would_be_missed_by_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nightgarden.curation.ingest._merged", lambda lines: (line for _, line in list(lines)[1:]))
    monkeypatch.setattr("nightgarden.curation.ingest.Intake._settle", lambda self, files, counts: None)
    content = b"\n".join(json.dumps(ours(example(f"Answer {n}."))).encode() for n in range(3))
    report = ingest(taking(tmp_path, "rows.jsonl", content), tmp_path)
    assert (report["rows_in"], report["examples"]) == (3, 2)


def test_a_key_in_a_row_stands_in_no_file_of_ours_and_the_row_says_what_stood_there(tmp_path: Path) -> None:
    rows = [
        ours(example(f"Use {KEY} for it.")),
        ours(example("Use the key.", meta={"contrast": f"Certainly: {KEY}", "foreign": {KEY: [KEY]}})),
    ]
    taken, _ = outcome(tmp_path, "rows.jsonl", b"\n".join(json.dumps(row).encode() for row in rows))
    for path in (tmp_path / "data/raw").iterdir():
        assert KEY not in path.read_text() and KEY[4:] not in path.read_text()
    assert all(row["meta"]["masked"] == ["github token"] for row in taken)
    assert "⟦github token, sha256 " in json.dumps(taken, ensure_ascii=False)


@pytest.mark.parametrize("run_bytes", [200, 1 << 20])
def test_more_rows_than_memory_holds_come_out_sorted_all_the_same(tmp_path: Path, run_bytes: int) -> None:
    lines = [(f"{n * 7919 % 1000:04d}".encode(), f"line {n}".encode()) for n in range(1000)]
    sorter = Sorter(tmp_path, run_bytes)
    for key, line in lines:
        sorter.add(key, line)
    assert list(sorter) == sorted(lines)
    assert not list(tmp_path.iterdir())


def test_one_worker_and_four_write_the_same_bytes(tmp_path: Path) -> None:
    content = b"\n".join(json.dumps(ours(example(f"Answer {n % 4321}!", op=n % 2))).encode() for n in range(5000))
    found = []
    for workers in (1, 4):
        root = tmp_path / str(workers)
        curation = taking(root, "rows.jsonl", content)
        take_in(curation, root, workers)
        for rule in ("exclamation", "duplicate"):
            annotate(rule, curation, root, workers)
        found.append(files_below(root))
    assert found[0] == found[1]
    assert len(found[0]) == 8
