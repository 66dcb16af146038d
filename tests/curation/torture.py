"""One file for every way in which a file of chat data can be broken or odd, and what becomes of it.

`python -m tests.curation.torture` prints the table. Small text files lie in `torture/`; large and packed
ones are made when they are asked for.
"""

from __future__ import annotations

import datetime
import gzip
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import zstandard

from nightgarden.curation.ingest import ingest
from nightgarden.errors import UserError
from tests.curation.rows import read_lines, settings

FOLDER = Path(__file__).parent / "torture"
GOOD = b'{"conversations": [{"from": "human", "value": "Good row %d?"}, {"from": "gpt", "value": "Yes, %d."}]}\n'
CHAT = [{"from": "human", "value": "Row?"}, {"from": "gpt", "value": "Yes."}]


def good(*numbers: int) -> bytes:
    """Sound rows."""
    return b"".join(GOOD % (number, number) for number in numbers)


def array(num_rows: int) -> bytes:
    """Sound rows as one array."""
    return b"[" + b",\n".join(good(number).strip() for number in range(num_rows)) + b"]"


def large() -> bytes:
    """A row of 20 MB between two small ones."""
    row = json.dumps({"prompt": "Long?", "completion": "word " * 4_000_000}).encode() + b"\n"
    return good(1) + row + good(2)


def table(columns: dict[str, Any], rows_a_group: int = 1000) -> bytes:
    """A Parquet file."""
    file = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.table(columns), file, row_group_size=rows_a_group)
    return bytes(file.getvalue())


def pair_table(answers: Any, **columns: Any) -> bytes:
    """A Parquet file of three questions and answers, in groups of one row."""
    return table({"prompt": ["One?", "Two?", "Three?"], "completion": answers, **columns}, 1)


def not_utf_8() -> pyarrow.Array:
    """Three texts, the second in Latin-1: Arrow takes the bytes as they are."""
    written = pyarrow.array([b"Yes.", "Café.".encode("latin-1"), b"No."], pyarrow.binary())
    return pyarrow.Array.from_buffers(pyarrow.string(), 3, written.buffers())


def with_broken_group() -> bytes:
    """A Parquet file whose second row group of three is overwritten."""
    whole = bytearray(pair_table(["1.", "2.", "3."]))
    column = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(bytes(whole))).metadata.row_group(1).column(0)
    start = column.dictionary_page_offset or column.data_page_offset
    whole[start : start + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    return bytes(whole)


def flipped(packed: bytes, place: int) -> bytes:
    """The bytes with one of them changed."""
    changed = bytearray(packed)
    changed[place] ^= 0x55
    return bytes(changed)


def checked(content: bytes) -> bytes:
    """A Zstandard archive with a checksum."""
    return zstandard.ZstdCompressor(write_checksum=True).compress(content)


MADE: dict[str, Callable[[], bytes]] = {
    "20_mb_row.jsonl": large,
    "packed.jsonl.gz": lambda: gzip.compress(good(1, 2)),
    "packed.json.zst": lambda: zstandard.compress(b"[" + good(1).strip() + b",\n" + good(2).strip() + b"]"),
    "two_members.jsonl.gz": lambda: gzip.compress(good(1)) + gzip.compress(good(2)) + bytes(512),
    "two_frames.jsonl.zst": lambda: zstandard.compress(good(1)) + zstandard.compress(good(2)),
    "cut_off.jsonl.gz": lambda: gzip.compress(good(*range(2000)), 0, mtime=0)[:-5000],
    "cut_off.json.gz": lambda: gzip.compress(array(2000), 0, mtime=0)[:-5000],
    "cut_off.jsonl.zst": lambda: zstandard.compress(good(1, 2))[:-4],
    "cut_off.json.zst": lambda: zstandard.compress(array(1000)) + zstandard.compress(b"[" + good(1))[:-4],
    "without_its_end.json.gz": lambda: gzip.compress(array(2), mtime=0)[:-6],
    "more_behind_it.jsonl.gz": lambda: gzip.compress(good(1)) + b"<html>",
    "damaged.jsonl.gz": lambda: flipped(gzip.compress(good(*range(2000)), 0, mtime=0), 70_000),
    "damaged.jsonl.zst": lambda: flipped(checked(good(1, 2)), -2),
    "no_archive.jsonl.gz": lambda: good(1),
    "no_archive.jsonl.zst": lambda: good(1),
    "empty.jsonl.gz": lambda: b"",
    "empty.jsonl.zst": lambda: b"",
    "utf_16.jsonl.gz": lambda: gzip.compress(good(1).decode().encode("utf-16")),
    "no_table.parquet": lambda: good(1),
    "cut_off.parquet": lambda: pair_table(["1.", "2.", "3."])[:-100],
    "broken_group.parquet": with_broken_group,
    "table.parquet": lambda: table({"conversations": [CHAT], "note": [None]}),
    "no_such_column.parquet": lambda: table({"instruction": ["Row?"], "input": [""]}),
    "typed_string.parquet": lambda: table({"conversations": [json.dumps(CHAT)]}),
    "not_utf_8.parquet": lambda: pair_table(not_utf_8()),
    "nan.parquet": lambda: pair_table(["1.", "2.", "3."], score=[0.5, float("nan"), None]),
    "no_rows.parquet": lambda: table({"prompt": pyarrow.array([], pyarrow.string())}),
    "dates_and_bytes.parquet": lambda: table({"prompt": ["One?"], "completion": ["1."], "at": [NOON], "seal": [b"\xff"]}),
}
"""Files that are made: content by name."""
NOON = datetime.datetime(2026, 3, 2, 12, tzinfo=datetime.UTC)


SHOWN = 80
"""Characters of a reason that the table shows."""


@dataclass(frozen=True)
class Outcome:
    """What became of a file."""

    rows: int = 0
    taken: int = 0
    merged: int = 0
    reasons: tuple[str, ...] = ()
    """Of the quarantine, in the order of the lines."""
    refused: str = ""
    """The message, where the whole file was refused."""


def outcome(name: str) -> Outcome:
    """Ingest one file by itself."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        path = root / "data/inbox" / name
        path.parent.mkdir(parents=True)
        path.write_bytes(MADE[name]() if name in MADE else (FOLDER / name).read_bytes())
        try:
            report = ingest(settings(sources={"x": {"path": f"data/inbox/{name}", "op": 0}}), root)
        except UserError as error:
            return Outcome(refused=str(error).replace(f"{root}/data/inbox/", "")[:SHOWN])
        aside = sorted(read_lines(root / "data/raw/quarantine.jsonl"), key=lambda line: int(line["line"]))
        positions: list[Any] = read_lines(root / "data/raw/positions.jsonl")
        assert report["rows_in"] == len(positions) + len(aside), "a row is unaccounted for"
        reasons = tuple(line["reason"][:SHOWN] for line in aside)
        return Outcome(int(report["rows_in"]), int(report["examples"]), int(report["merged"]), reasons)


def names() -> list[str]:
    """Every file, the committed and the made ones."""
    return sorted({path.name for path in FOLDER.iterdir()} | MADE.keys())


def main() -> None:
    """Print the table."""
    print(f"{'file':32} {'rows':>5} {'taken':>6} {'merged':>7}  quarantined, or refused")  # noqa: T201
    for name in names():
        told = outcome(name)
        why = told.refused or "; ".join(told.reasons)
        print(f"{name:32} {told.rows:5} {told.taken:6} {told.merged:7}  {why:.110}")  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
