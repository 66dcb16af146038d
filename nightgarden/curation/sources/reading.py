"""Files as raw rows, one at a time: JSON Lines here, arrays in `arrays.py`.

Knows nothing of shapes. A row that is no JSON comes out with its fault; reading goes on behind it.
A byte order mark is removed, CRLF reads as LF, blank lines are no rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from nightgarden.curation.sources.arrays import Element, elements
from nightgarden.curation.sources.parsing import Malformed, parse
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


def read_rows(path: Path) -> Iterator[RawRow]:
    """Rows of a `.json` or `.jsonl` file that holds one array, or one row a line; its first byte says which.

    Raises:
        UserError: missing, unreadable, or of another kind.
    """
    if path.suffix not in {".json", ".jsonl"}:
        raise UserError(f"cannot read {path}: got a {path.suffix or 'nameless'} file; give .json or .jsonl (unpack it first).")
    try:
        with path.open("rb") as file:
            if file.read(3) != BOM:
                file.seek(0)
            if _opens_array(file):
                yield from map(_row, elements(file))
            else:
                yield from _lines(file)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}. Check the path in params.yaml, curation.sources.") from error


def _opens_array(file: BinaryIO) -> bool:
    """Whether the first byte that is not blank is `[`; the file stays where it was."""
    place = file.tell()
    while (byte := file.read(1)).isspace():
        pass
    file.seek(place)
    return byte == b"["


def _row(element: Element) -> RawRow:
    return RawRow(element.number, element.raw, element.value, element.fault)


def _lines(file: BinaryIO) -> Iterator[RawRow]:
    for number, line in enumerate(file, 1):
        raw = line.strip()
        if not raw:
            continue
        try:
            yield RawRow(number, raw, parse(raw), None)
        except Malformed as error:
            yield RawRow(number, raw, None, str(error))
