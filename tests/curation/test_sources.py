"""Sources beyond a plain text file: archives, tables, datasets; and where each row stood."""

import gzip
import json
import re
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
    assert (aside["line"], aside["reason"]) == (4, "prompt must be a text or a list of messages, this is a int")
