"""Files as raw rows, one at a time: JSON Lines here, arrays in `arrays.py`, tables in `tables.py`.

Knows of shapes only their keys. A file without a row is an error, for it looks like one that was
read. A row that is no JSON comes out with its fault; reading goes on behind it.
A byte order mark is removed, CRLF reads as LF, blank lines are no rows. Archives are unpacked as they
are read; one that breaks off ends in a row with that fault, behind the rows that were whole.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from nightgarden.curation.sources.archives import BROKEN, opened
from nightgarden.curation.sources.arrays import elements
from nightgarden.curation.sources.parsing import Malformed, NotJson, parse
from nightgarden.curation.sources.shapes import ROW_KEYS
from nightgarden.errors import UserError

BOM = b"\xef\xbb\xbf"
KINDS = (".json", ".jsonl", ".json.gz", ".jsonl.gz", ".json.zst", ".jsonl.zst", ".parquet")
"""How the name of a readable file ends."""
AHEAD = 1 << 22
"""Bytes at the start of a file by which its layout is told."""


class RawRow(NamedTuple):
    """One row as it stands in a file, parsed if it can be."""

    line: int
    """1-based line, element number in a JSON array, or row number in a table."""
    raw: bytes
    value: Any
    fault: str | None
    """Why `value` is missing; None where it is there."""
    offset: int | None = None
    """Bytes of the unpacked file before the row; None for the row of a table."""


def kind_of(path: Path) -> str | None:
    """How the name of a readable file ends, or None for another kind."""
    return next((kind for kind in KINDS if path.name.endswith(kind)), None)


def read_rows(path: Path) -> Generator[RawRow]:
    """Rows of a file that holds one array, one row a line, or a table; of the first two its first byte says which.

    A `.json` file may also be one object over several lines.

    Raises:
        UserError: missing, unreadable, of another kind, or without any row.
    """
    kind = kind_of(path)
    if kind is None:
        raise UserError(f"cannot read {path}: its name ends in none of {', '.join(KINDS)}. Unpack or convert it first.")
    row = None
    try:
        for row in _table(path) if kind == ".parquet" else _text(path, kind):
            yield row
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"cannot read {path}: {reason}. Check the path in params.yaml, curation.sources.") from error
    if row is None:
        raise UserError(
            f"{path} holds no row; give a file with at least one, as a line of .jsonl or an element of a .json array."
        )


def _table(path: Path) -> Iterator[RawRow]:
    from nightgarden.curation.sources.tables import parquet_rows

    return (RawRow(number, raw, value, fault) for number, raw, value, fault in parquet_rows(path))


def _text(path: Path, kind: str) -> Iterator[RawRow]:
    """Rows of a text file; a broken archive ends in one row that says so."""
    last = 0
    try:
        with opened(path) as file:
            head = file.read(AHEAD)
        start = len(BOM) if head.startswith(BOM) else 0
        with opened(path) as file:
            file.read(start)
            for row in _rows(file, head[start:], kind, start):
                yield row
                last = row.line
    except BROKEN as error:
        yield RawRow(last + 1, b"", None, f"the archive breaks off here: {error}")


def refuse_empty(path: Path) -> None:
    """Read the first row, whatever it is.

    Raises:
        UserError: as `read_rows`: there is none, or the file cannot be read.
    """
    with closing(read_rows(path)) as rows:
        next(rows)


def _rows(file: BinaryIO, head: bytes, kind: str, start: int) -> Iterator[RawRow]:
    if head.lstrip()[:1] == b"[":
        return (RawRow(*element) for element in elements(file, ROW_KEYS, start))
    if kind.startswith(".json") and not kind.startswith(".jsonl") and (row := _only_row(head, start)):
        return iter([row])
    return _lines(file, start)


def _only_row(head: bytes, start: int) -> RawRow | None:
    """The file as one object over several lines, or None if it is JSON Lines.

    It is one row if its first line is no value and the whole is one, or is broken and no line is an object.
    An object of more than AHEAD bytes is read as lines.
    """
    first = next((line for line in head.split(b"\n") if line.strip()), b"")
    if len(head) + start >= AHEAD or not first.lstrip().startswith(b"{") or not _is_broken(first):
        return None
    lines = (line for line in head.split(b"\n") if line.lstrip().startswith(b"{"))
    if _is_broken(head) and not all(map(_is_broken, lines)):
        return None
    return _parsed(1, head.strip(), start + len(head) - len(head.lstrip()))


def _is_broken(raw: bytes) -> bool:
    try:
        parse(raw)
    except NotJson:
        return True
    except Malformed:
        return False
    return False


def _lines(file: BinaryIO, start: int) -> Iterator[RawRow]:
    place = start
    for number, line in enumerate(file, 1):
        if raw := line.strip():
            yield _parsed(number, raw, place + len(line) - len(line.lstrip()))
        place += len(line)


def _parsed(number: int, raw: bytes, offset: int) -> RawRow:
    try:
        return RawRow(number, raw, parse(raw), None, offset)
    except Malformed as error:
        return RawRow(number, raw, None, str(error), offset)
