"""Files as raw rows, one at a time: JSON Lines here, arrays in `arrays.py`, tables in `tables.py`.

Knows of shapes only their keys. A file without a row is an error, for it looks like one that was
read. A row that is no JSON comes out with its fault; reading goes on behind it.
A byte order mark is removed, CRLF reads as LF, blank lines are no rows. Archives are unpacked as they are
read: one that ends too early ends in a row that says so, behind the rows that were whole; a damaged one is
an error, for any of its rows may be wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from nightgarden.curation.sources.archives import CutOff, Damaged, Readable, unpacked
from nightgarden.curation.sources.arrays import MAX_ELEMENT, elements
from nightgarden.curation.sources.parsing import Malformed, NotJson, parse
from nightgarden.curation.sources.shapes import ROW_KEYS
from nightgarden.errors import UserError

BOM = b"\xef\xbb\xbf"
KINDS = (".json", ".jsonl", ".json.gz", ".jsonl.gz", ".json.zst", ".jsonl.zst", ".parquet")
"""How the name of a readable file ends."""
AHEAD = 1 << 22
"""Bytes at the start of a file by which its layout is told."""
BLOCK = 1 << 18
"""Bytes that are split into lines together."""


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


def kind_of(name: str | Path) -> str | None:
    """How the name of a readable file ends, or None for another kind."""
    return next((kind for kind in KINDS if str(name).endswith(kind)), None)


def read_rows(path: Path) -> Generator[RawRow]:
    """Rows of a file that holds one array, one row a line, or a table; of the first two its first byte says which.

    A `.json` file may also be one object over several lines.

    Raises:
        UserError: missing, unreadable, of another kind, damaged, or without any row.
    """
    return rows_in(str(path), lambda: path.open("rb"))


def rows_in(name: str, opener: Callable[[], BinaryIO]) -> Generator[RawRow]:
    """Rows of a file that `opener` opens, wherever it lies; `name` says what kind it is.

    Raises:
        UserError: as `read_rows`.
    """
    kind = kind_of(name)
    if kind is None:
        raise UserError(f"cannot read {name}: its name ends in none of {', '.join(KINDS)}. Unpack or convert it first.")
    try:
        with closing(opener()) as file:
            rows = _table(file) if kind == ".parquet" else _text(unpacked(file, kind), name, kind)
            if (first := next(rows, None)) is None:
                raise UserError(
                    f"{name} holds no row; give a file with at least one, as a line of .jsonl or an element of a .json array."
                )
            yield first
            yield from rows
    except Damaged as error:
        raise UserError(f"cannot read {name}: {error}. Any of its rows may be wrong: fetch or pack the file again.") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"cannot read {name}: {reason}. Check the path in params.yaml, curation.sources.") from error


def refuse_empty(path: Path) -> None:
    """Read the first row, whatever it is.

    Raises:
        UserError: as `read_rows`: there is none, or the file cannot be read.
    """
    with closing(read_rows(path)) as rows:
        next(rows)


def _table(file: BinaryIO) -> Iterator[RawRow]:
    from nightgarden.curation.sources.tables import parquet_rows

    return (RawRow(number, raw, value, fault) for number, raw, value, fault in parquet_rows(file))


def _text(file: Readable, name: str, kind: str) -> Iterator[RawRow]:
    try:
        head = file.read(AHEAD)
    except CutOff:
        head = b""  # met again by the first read of the rows, which tells it
    if (encoding := _wide_encoding(head)) is not None:
        raise UserError(
            f"{name} is {encoding}, not UTF-8; convert it first, for example "
            f"`iconv -f {encoding} -t UTF-8 {Path(name).name}` (unpacked)."
        )
    start = len(BOM) if head.startswith(BOM) else 0
    head = head[start:]
    if head.lstrip()[:1] == b"[":
        return (RawRow(*element) for element in elements(_Rejoined(head, file), ROW_KEYS, start))
    if kind.startswith(".json") and not kind.startswith(".jsonl") and (row := _only_row(head, start)):
        return iter([row])
    return _lines(_Rejoined(head, file), start)


def _wide_encoding(head: bytes) -> str | None:
    """UTF-16 or UTF-32, by its mark, or by the NUL bytes beside the first character."""
    nul = [byte == 0 for byte in head[:4]]
    if head[:4] in (b"\xff\xfe\0\0", b"\0\0\xfe\xff") or nul in ([False, True, True, True], [True, True, True, False]):
        return "UTF-32"
    if head[:2] in (b"\xff\xfe", b"\xfe\xff") or nul[:2] in ([False, True], [True, False]):
        return "UTF-16"
    return None


class _Rejoined:
    """A file whose first bytes were read already."""

    def __init__(self, head: bytes, file: Readable) -> None:
        self._head = head
        self._file = file

    def read(self, size: int, /) -> bytes:
        """`size` bytes, fewer before the end of the head."""
        if not self._head:
            return self._file.read(size)
        taken, self._head = self._head[:size], self._head[size:]
        return taken


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


def _lines(file: Readable, start: int) -> Iterator[RawRow]:
    """Every line that is not blank; one of more than MAX_ELEMENT bytes is a fault, and only its beginning is kept."""
    number, place, held = 0, start, b""
    try:
        while block := file.read(max(BLOCK, min(len(held), AHEAD))):
            *lines, held = (held + block).split(b"\n")
            for line in lines:
                number += 1
                if raw := line.strip():
                    yield _parsed(number, raw, place if line[0] > 32 else place + len(line) - len(line.lstrip()))
                place += len(line) + 1
            if len(held) > MAX_ELEMENT:
                number += 1
                yield RawRow(number, held, None, f"a line of more than {MAX_ELEMENT} bytes", place)
                place, held = place + len(held), b""
                size, behind = _pass_over_line(file)
                place, file = place + size, _Rejoined(behind, file)
    except CutOff as error:
        yield RawRow(number + 1, held.strip(), None, str(error), place)
        return
    if raw := held.strip():
        yield _parsed(number + 1, raw, place + len(held) - len(held.lstrip()))


def _pass_over_line(file: Readable) -> tuple[int, bytes]:
    """Bytes up to the end of the line, and what was read behind it."""
    size = 0
    while block := file.read(BLOCK):
        end = block.find(b"\n") + 1
        if end:
            return size + end, block[end:]
        size += len(block)
    return size, b""


def _parsed(number: int, raw: bytes, offset: int) -> RawRow:
    try:
        return RawRow(number, raw, parse(raw), None, offset)
    except Malformed as error:
        return RawRow(number, raw, None, str(error), offset)
