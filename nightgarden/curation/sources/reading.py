"""Files as raw rows, one at a time: JSON Lines here, arrays in `arrays.py`.

Knows of shapes only their keys. A file without a row is an error, for it looks like one that was
read. A row that is no JSON comes out with its fault; reading goes on behind it.
A byte order mark is removed, CRLF reads as LF, blank lines are no rows.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from nightgarden.curation.sources.arrays import MAX_ELEMENT, Element, elements
from nightgarden.curation.sources.parsing import Malformed, NotJson, parse
from nightgarden.curation.sources.shapes import ROW_KEYS
from nightgarden.errors import UserError

BOM = b"\xef\xbb\xbf"


class RawRow(NamedTuple):
    """One row as it stands in a file, parsed if it can be."""

    line: int
    """1-based line, or element number in a JSON array."""
    raw: bytes
    value: Any
    fault: str | None
    """Why `value` is missing; None where it is there."""


def read_rows(path: Path) -> Generator[RawRow]:
    """Rows of a `.json` or `.jsonl` file that holds one array, or one row a line; its first byte says which.

    A `.json` file may also be one object over several lines.

    Raises:
        UserError: missing, unreadable, of another kind, or without any row.
    """
    if path.suffix not in {".json", ".jsonl"}:
        raise UserError(f"cannot read {path}: got a {path.suffix or 'nameless'} file; give .json or .jsonl (unpack it first).")
    row = None
    try:
        with path.open("rb") as file:
            if file.read(3) != BOM:
                file.seek(0)
            for row in _rows(file, path.suffix):
                yield row
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}. Check the path in params.yaml, curation.sources.") from error
    if row is None:
        raise UserError(
            f"{path} holds no row; give a file with at least one, as a line of .jsonl or an element of a .json array."
        )


def refuse_empty(path: Path) -> None:
    """Read the first row, whatever it is.

    Raises:
        UserError: as `read_rows`: there is none, or the file cannot be read.
    """
    with closing(read_rows(path)) as rows:
        next(rows)


def _rows(file: BinaryIO, suffix: str) -> Iterator[RawRow]:
    if _opens_array(file):
        return map(_row, elements(file, ROW_KEYS))
    if suffix == ".json" and (row := _only_row(file)):
        return iter([row])
    return _lines(file)


def _opens_array(file: BinaryIO) -> bool:
    """Whether the first byte that is not blank is `[`; the file stays where it was."""
    place = file.tell()
    while (byte := file.read(1)).isspace():
        pass
    file.seek(place)
    return byte == b"["


def _row(element: Element) -> RawRow:
    return RawRow(element.number, element.raw, element.value, element.fault)


def _only_row(file: BinaryIO) -> RawRow | None:
    """The file as one object over several lines, or None if it is JSON Lines; it stays where it was.

    It is one row if its first line is no value and the whole is one, or is broken and no line is an object.
    """
    place = file.tell()
    first = next((line for line in file if line.strip()), b"")
    file.seek(place)
    if not first.lstrip().startswith(b"{") or not _is_broken(first):
        return None
    raw = file.read(MAX_ELEMENT + 1)
    file.seek(place)
    if len(raw) > MAX_ELEMENT:
        return None
    lines = (line for line in raw.split(b"\n") if line.lstrip().startswith(b"{"))
    return None if _is_broken(raw) and not all(map(_is_broken, lines)) else _parsed(1, raw.strip())


def _is_broken(raw: bytes) -> bool:
    try:
        parse(raw)
    except NotJson:
        return True
    except Malformed:
        return False
    return False


def _lines(file: BinaryIO) -> Iterator[RawRow]:
    for number, line in enumerate(file, 1):
        if raw := line.strip():
            yield _parsed(number, raw)


def _parsed(number: int, raw: bytes) -> RawRow:
    try:
        return RawRow(number, raw, parse(raw), None)
    except Malformed as error:
        return RawRow(number, raw, None, str(error))
