"""One file for every way in which a file of chat data can be broken or odd, and what becomes of it.

`python -m tests.curation.torture` prints the table. Small text files lie in `torture/`; large and packed
ones are made when they are asked for.
"""

from __future__ import annotations

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
TABLE = {"conversations": [[{"from": "human", "value": "Row?"}, {"from": "gpt", "value": "Yes."}]], "note": [None]}


def good(*numbers: int) -> bytes:
    """Sound rows."""
    return b"".join(GOOD % (number, number) for number in numbers)


def large() -> bytes:
    """A row of 20 MB between two small ones."""
    row = json.dumps({"prompt": "Long?", "completion": "word " * 4_000_000}).encode() + b"\n"
    return good(1) + row + good(2)


def parquet(path: Path) -> None:
    """A table with a column that is empty."""
    pyarrow.parquet.write_table(pyarrow.table(TABLE), path)


MADE: dict[str, Callable[[], bytes]] = {
    "20_mb_row.jsonl": large,
    "packed.jsonl.gz": lambda: gzip.compress(good(1, 2)),
    "packed.json.zst": lambda: zstandard.compress(b"[" + good(1).strip() + b",\n" + good(2).strip() + b"]"),
    "two_frames.jsonl.zst": lambda: zstandard.compress(good(1)) + zstandard.compress(good(2)),
    "cut_off.jsonl.gz": lambda: gzip.compress(good(*range(2000)), 0, mtime=0)[:-5000],
    "cut_off.jsonl.zst": lambda: zstandard.compress(good(1, 2))[:-4],
    "no_archive.jsonl.gz": lambda: good(1),
    "no_table.parquet": lambda: good(1),
}
"""Files that are made: content by name."""


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
        if name.endswith(".parquet") and name not in MADE:
            parquet(path)
        else:
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
    return sorted({path.name for path in FOLDER.iterdir()} | MADE.keys() | {"table.parquet"})


def main() -> None:
    """Print the table."""
    print(f"{'file':32} {'rows':>5} {'taken':>6} {'merged':>7}  quarantined, or refused")  # noqa: T201
    for name in names():
        told = outcome(name)
        why = told.refused or "; ".join(told.reasons)
        print(f"{name:32} {told.rows:5} {told.taken:6} {told.merged:7}  {why:.110}")  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
