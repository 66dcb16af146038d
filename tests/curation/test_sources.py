"""Sources beyond a plain text file: archives, tables, datasets; and where each row stood."""

import gzip
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from nightgarden.curation.ingest import ingest
from nightgarden.curation.sources.hub import KNOWN, overlaps
from nightgarden.curation.sources.reading import read_rows
from nightgarden.errors import UserError
from nightgarden.params import SourceSpec
from tests.curation import rows as helpers
from tests.curation.hub_stand_in import Hub

ROWS = [{"prompt": f"Question {n}?", "completion": f"Answer {n}. ä"} for n in range(50)]
LINES = b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in ROWS)


def ids(root: Path) -> list[str]:
    return [row["id"] for row in helpers.read_lines(root / "data/raw/examples.jsonl")]


def taken(root: Path, **spec: Any) -> list[str]:
    ingest(helpers.settings(sources={"x": {"op": 0, **spec}}), root)
    return ids(root)


def table_of(folder: Path, part: int, rows: list[dict[str, Any]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), folder / f"train-{part:05d}.parquet")


def test_the_same_rows_plain_packed_in_a_table_and_streamed_are_the_same_examples(tmp_path: Path) -> None:
    inbox = tmp_path / "data/inbox"
    inbox.mkdir(parents=True)
    (inbox / "a.jsonl").write_bytes(LINES)
    (inbox / "a.jsonl.gz").write_bytes(gzip.compress(LINES))
    (inbox / "a.jsonl.zst").write_bytes(zstandard.compress(LINES))
    (inbox / "a.json.gz").write_bytes(gzip.compress(json.dumps(ROWS, indent=2).encode()))
    table_of(inbox, 0, ROWS)
    (inbox / "train-00000.parquet").rename(inbox / "a.parquet")
    for part in range(2):
        table_of(tmp_path / "data/repository", part, ROWS[part::2])
    plain = taken(tmp_path, path="data/inbox/a.jsonl")
    assert len(plain) == 50
    for name in ("a.jsonl.gz", "a.jsonl.zst", "a.json.gz", "a.parquet"):
        assert taken(tmp_path, path=f"data/inbox/{name}") == plain, name
    assert taken(tmp_path, dataset="data/repository") == plain
    assert helpers.read_lines(tmp_path / "data/raw/positions.jsonl")[0]["file"] == "data/repository/train"


def test_a_dataset_is_streamed_and_not_copied_and_only_as_far_as_asked(tmp_path: Path) -> None:
    table_of(tmp_path / "data/repository", 0, ROWS)
    assert len(taken(tmp_path, dataset="data/repository", rows=7)) == 7
    assert {path.name for path in (tmp_path / "data").rglob("*") if path.is_file()} == {
        "train-00000.parquet",
        "examples.jsonl",
        "positions.jsonl",
        "quarantine.jsonl",
    }


def test_a_split_that_is_not_there_is_one_message(tmp_path: Path) -> None:
    table_of(tmp_path / "data/repository", 0, ROWS)
    with pytest.raises(UserError, match="cannot stream the dataset data/repository: .*`split`"):
        taken(tmp_path, dataset="data/repository", split="night")


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({}, "give `path` for a file, or `dataset`"),
        ({"path": "data/a.jsonl", "dataset": "slimorca"}, "and not both"),
        ({"path": "data/a.jsonl", "revision": "0" * 40}, "belong to a `dataset`"),
        ({"dataset": "slimorca", "revision": "main"}, "revision"),
        ({"dataset": "../else"}, "dataset"),
    ],
)
def test_a_source_is_one_file_or_one_dataset_at_a_commit(spec: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        SourceSpec.model_validate(spec)


def test_the_known_datasets_tell_that_one_holds_the_other() -> None:
    (sentence,) = overlaps(["openhermes-2.5", "Open-Orca/SlimOrca"])
    assert "openhermes-2.5 holds the rows of slimorca too" in sentence
    assert overlaps(["slimorca"]) == overlaps([]) == []
    assert (KNOWN["openhermes-2.5"].rows, KNOWN["slimorca"].licence) == (1_001_551, "MIT")
    assert all(re.fullmatch("[0-9a-f]{40}", known.revision) for known in KNOWN.values())


def test_a_dataset_of_the_hub_without_a_commit_is_refused_before_anyone_is_asked(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the dataset somebody/chats is no folder here and no commit of it is named"):
        taken(tmp_path, dataset="somebody/chats")


lines = st.lists(st.sampled_from([b'{"a": 1}', b"  [2]", b"broken", b"", b"\t", '"ä"'.encode(), b'{"a": 1} ']), max_size=12)


@settings(max_examples=60, deadline=None)
@given(parts=lines, mark=st.booleans(), end=st.sampled_from([b"\n", b"\r\n"]), packed=st.sampled_from(["", ".gz", ".zst"]))
def test_the_offset_of_a_row_is_where_its_bytes_stand_in_the_unpacked_file(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], mark: bool, end: bytes, packed: str
) -> None:
    whole = (b"\xef\xbb\xbf" if mark else b"") + b'{"first": 0}' + end + end.join(parts)
    path = tmp_path_factory.mktemp("offsets") / f"rows.jsonl{packed}"
    path.write_bytes({"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}[packed](whole))
    found = list(read_rows(path))
    assert found
    for row in found:
        assert row.offset is not None and whole[row.offset : row.offset + len(row.raw)] == row.raw


def test_the_offset_of_an_element_too_and_the_quarantine_tells_it(tmp_path: Path) -> None:
    filler = "word " * 300_000  # over a megabyte, so that the window moves
    rows = [{"prompt": f"{n}?", "completion": filler} for n in range(3)]
    whole = b"[\n" + b",\n".join(json.dumps(row).encode() for row in rows) + b',\n{"prompt": 7, "completion": "x"}\n]'
    (tmp_path / "data").mkdir()
    (tmp_path / "data/a.json").write_bytes(whole)
    assert len(taken(tmp_path, path="data/a.json")) == 3
    (aside,) = helpers.read_lines(tmp_path / "data/raw/quarantine.jsonl")
    assert whole[aside["offset"] :].startswith(b'{"prompt": 7')
    assert (aside["line"], aside["reason"]) == (4, "prompt must be a text or a list of turns, this is a int")


BROKEN = [b'{"prompt": "A?", "prompt": "B?", "completion": "C."}', b'{"prompt": "A', b'{"prompt": 1, "completion": NaN}']


def test_the_json_files_of_a_dataset_are_read_row_by_row_and_a_broken_row_costs_no_other(tmp_path: Path) -> None:
    folder = tmp_path / "data/repository"
    folder.mkdir(parents=True)
    whole = LINES + b"\n".join(BROKEN) + b"\n" + LINES.replace(b"Answer", b"Reply")
    (folder / "train.jsonl").write_bytes(whole)
    assert len(taken(tmp_path, dataset="data/repository")) == 100
    aside = helpers.read_lines(tmp_path / "data/raw/quarantine.jsonl")
    assert ["a key stands twice" in aside[0]["reason"], "not JSON" in aside[1]["reason"], aside[2]["reason"]] == [
        True,
        True,
        "NaN is no JSON number",
    ]
    assert [whole[row["offset"] :].startswith(row["raw"].encode()) for row in aside] == [True] * 3


def test_several_json_files_of_a_dataset_are_counted_through(tmp_path: Path) -> None:
    folder = tmp_path / "data/repository"
    folder.mkdir(parents=True)
    (folder / "train-0.jsonl.gz").write_bytes(gzip.compress(LINES))
    (folder / "train-1.json").write_bytes(b'[{"prompt": "Last?", "completion": "Yes."}]')
    assert len(taken(tmp_path, dataset="data/repository")) == 51
    assert {row["line"] for row in helpers.read_lines(tmp_path / "data/raw/positions.jsonl")} == set(range(1, 52))


def test_guard_out_datasets_itself_would_settle_a_repeated_key_or_lose_the_file(tmp_path: Path) -> None:
    import datasets

    (tmp_path / "train.json").write_bytes(b'[{"prompt": "A?", "prompt": "B?", "completion": "C."}]')
    stream = datasets.load_dataset("json", data_files=str(tmp_path / "train.json"), split="train", streaming=True)
    assert [row["prompt"] for row in stream] == ["B?"]
    (tmp_path / "cut.jsonl").write_bytes(LINES + BROKEN[1])
    stream = datasets.load_dataset("json", data_files=str(tmp_path / "cut.jsonl"), split="train", streaming=True)
    with pytest.raises((ValueError, datasets.exceptions.DatasetsError)):
        list(stream)


def test_a_row_of_a_streamed_table_that_json_cannot_hold_is_quarantined(tmp_path: Path) -> None:
    table_of(tmp_path / "data/repository", 0, [ROWS[0] | {"score": float("nan")}, ROWS[1] | {"score": 0.5}])
    assert len(taken(tmp_path, dataset="data/repository")) == 1
    (aside,) = helpers.read_lines(tmp_path / "data/raw/quarantine.jsonl")
    assert (aside["line"], aside["reason"], "offset" in aside) == (1, "NaN is no JSON number", False)


@pytest.mark.parametrize("packed", [".gz", ".zst"])
def test_wherever_an_archive_ends_too_early_each_row_that_it_holds_whole_is_taken(tmp_path: Path, packed: str) -> None:
    whole = LINES * 40
    content = gzip.compress(whole) if packed == ".gz" else b"".join(zstandard.compress(LINES) for _ in range(40))
    for size in range(20, len(content), len(content) // 61):
        path = tmp_path / f"rows.jsonl{packed}"
        path.write_bytes(content[:size])
        found = list(read_rows(path))
        assert [row.value for row in found if row.fault is None] == (ROWS * 40)[: len(found) - 1]
        assert found[-1].fault == "the archive breaks off here: its end is missing"
        assert whole[found[-1].offset :].startswith(found[-1].raw)


def test_guard_in_one_changed_byte_of_an_archive_refuses_all_of_it(tmp_path: Path) -> None:
    content = bytearray(gzip.compress(LINES, 0))
    content[content.index(b"Answer 7")] ^= 1
    (tmp_path / "rows.jsonl.gz").write_bytes(content)
    with pytest.raises(UserError, match="damaged: .* Any of its rows may be wrong"):
        list(read_rows(tmp_path / "rows.jsonl.gz"))


def test_guard_out_the_row_with_the_changed_byte_would_be_taken_for_a_good_one(tmp_path: Path) -> None:
    content = bytearray(gzip.compress(LINES, 0))
    content[content.index(b"Answer 7")] ^= 1
    (tmp_path / "rows.jsonl.gz").write_bytes(content[:-8])  # without its checksum nobody can tell
    found = list(read_rows(tmp_path / "rows.jsonl.gz"))
    assert "@nswer 7. \xe4" in [row.value["completion"] for row in found if row.fault is None]


def test_a_line_without_an_end_is_one_fault_and_memory_stays_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nightgarden.curation.sources.reading.MAX_ELEMENT", 5_000_000)
    whole = LINES + b'{"prompt": "' + b"x" * 12_000_000 + b"\n" + LINES
    (tmp_path / "rows.jsonl").write_bytes(whole)
    found = list(read_rows(tmp_path / "rows.jsonl"))
    (fault,) = [row for row in found if row.fault]
    assert (fault.line, fault.fault, len(found)) == (51, "a line of more than 5000000 bytes", 101)
    assert [whole[row.offset : row.offset + len(row.raw)] == row.raw for row in found] == [True] * 101


def test_one_large_row_group_is_not_read_whole(tmp_path: Path) -> None:
    rows = [{"prompt": f"{n}", "completion": f"{n * 7919}" * 400} for n in range(60_000)]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet", compression="none", use_dictionary=False)
    code = (
        "import resource, sys; from pathlib import Path; from nightgarden.curation.sources.reading import read_rows;"
        "rows = read_rows(Path(sys.argv[1])); next(rows); before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        "print(sum(1 for _ in rows), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "a.parquet")]
    told = subprocess.run(command, cwd=helpers.ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert (tmp_path / "a.parquet").stat().st_size > 190e6
    assert int(told[0]) == 59_999 and int(told[1]) < 60


STREAMED = """
import sys
from pathlib import Path
from nightgarden.curation.sources.hub import hub_rows
from nightgarden.errors import UserError
try:
    for row in hub_rows("slimorca", Path(sys.argv[1]), revision=sys.argv[2], config=None, split="train"):
        print(row.line, row.offset, row.fault)
except UserError as error:
    print(error)
"""


def test_a_dataset_of_the_hub_is_streamed_at_its_commit_through_the_calls_of_datasets(tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "oo-labeled_correct.gpt4.sharegpt.jsonl").write_bytes(LINES + BROKEN[1])
    hub = Hub(folder, "a" * 40)
    threading.Thread(target=hub.serve_forever, daemon=True).start()
    environment = {**os.environ, "HF_ENDPOINT": hub.address, "HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "0"}
    told = []
    for commit in ("a" * 40, "b" * 40):
        command = [sys.executable, "-c", STREAMED, str(tmp_path), commit]
        answer = subprocess.run(command, cwd=helpers.ROOT, env=environment, capture_output=True, text=True, check=True)
        told.append(answer.stdout.splitlines())
    hub.shutdown()
    assert len(told[0]) == 51
    assert told[0][0] == "1 0 None"
    assert told[0][-1] == f"51 {len(LINES)} not JSON: Unterminated string starting at character 11"
    assert told[1][0].startswith("cannot stream the dataset Open-Orca/SlimOrca: ")
