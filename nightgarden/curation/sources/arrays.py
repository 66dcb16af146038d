"""The elements of a JSON array, streamed, with recovery after a broken one.

A stock streaming parser stops at the first fault and loses the rest of the file. Here only the end
of each element is sought (strings and brackets, nothing else), the element is parsed alone, and a
broken one reaches to where the next visibly begins, by the layout of the whole rows (`layout.py`).
Knows of rows only their keys. Memory: one element.

One broken element is one fault, at either end of the file and beside another one too, except where
the text leaves open what was meant:

- Without lines to go by (all rows on one line, or indent 0), a row that is cut off or lacks its
  closing brace, or a lone bracket, takes a broken neighbour with it unless that opens like a row.
- A row without its closing brace (or cut off between two keys) before one without its opening brace
  is one object with repeated keys.
- Without lines, bare words with a value behind a comma are two elements; with more words there, one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from typing import Any, NamedTuple

from nightgarden.curation.sources.archives import CutOff, Readable
from nightgarden.curation.sources.layout import BEHIND, Layouts, Seam, value_end
from nightgarden.curation.sources.parsing import Malformed, NotJson, parse

CHUNK = 1 << 20
MAX_ELEMENT = 64 << 20
"""Bytes of one element; a larger one counts as broken (the largest real record we know of had 20 MB)."""
FIRST_REACH = 1 << 16
"""Bytes in which the end of an element is sought before its neighbours are looked at: a thousand rows
without a closing brace would else be a thousand searches through MAX_ELEMENT."""

_BLANK = re.compile(rb"\s*")
_SEPARATORS = re.compile(rb"[\s,]*")
_AFTER_A_WHOLE_ONE = {b",", b"]", b"{", b""}
"""What may follow an element that parses: a forgotten comma before the next one leaves both whole."""


class Element(NamedTuple):
    """One element of the array, or a stretch of it that is none."""

    number: int
    raw: bytes
    value: Any
    fault: str | None
    offset: int
    """Bytes of the file before the element."""


class _Window:
    """A file seen through a buffer that grows on demand; `at` is where the next element begins."""

    def __init__(self, file: Readable, keys: Set[str], start: int) -> None:
        self.file = file
        self.cut: CutOff | None = None
        """Why the file ends here, if it is an archive that ends too early."""
        self.buffer = b""
        self.passed = start
        """Bytes of the file before the buffer."""
        self.at = 0
        self.layouts = Layouts(keys)
        self.seam = Seam()

    @property
    def offset(self) -> int:
        """Bytes of the file before the element at `at`."""
        return self.passed + self.at

    @property
    def rest(self) -> int:
        """Bytes in the buffer from `at` on."""
        return len(self.buffer) - self.at

    def grow(self) -> bool:
        """Forget what is done, read as much again (so that rescans cost linear time); False at the end of the file.

        Positions in the buffer change; what counts from `at` stays.
        """
        try:
            chunk = self.file.read(max(CHUNK, min(self.rest, MAX_ELEMENT - self.rest)))
        except CutOff as error:
            self.cut, chunk = error, b""
        kept = max(0, self.at - BEHIND)
        self.passed += kept
        self.buffer = self.buffer[kept:] + chunk
        self.at -= kept
        return bool(chunk)

    def skip(self, what: re.Pattern[bytes]) -> bytes:
        """Pass over `what` and return the byte behind it, empty at the end of the file."""
        while True:
            found = what.match(self.buffer, self.at)
            self.at = found.end() if found else self.at
            if self.at < len(self.buffer) or not self.grow():
                return self.buffer[self.at : self.at + 1]

    def size(self) -> int | None:
        """Bytes of the value at `at`; None if the file, or MAX_ELEMENT, ends first, or whole rows follow meanwhile."""
        reach = FIRST_REACH
        while (end := value_end(self.buffer, self.at, self.at + reach)) is None:
            if reach >= MAX_ELEMENT or self.layouts.row_behind(self.buffer, self.at + reach // 2):
                return None
            if self.rest <= reach and not self.grow():
                return None
            reach *= 2
        return end - self.at

    def behind(self, size: int) -> bytes:
        """The first byte that is not blank behind the next `size` bytes; empty at the end of the file."""
        while True:
            found = _BLANK.match(self.buffer, self.at + size)
            place = found.end() if found else self.at + size
            if place < len(self.buffer) or not self.grow():
                return self.buffer[place : place + 1]

    def broken_size(self) -> tuple[int, bool]:
        """Bytes of the broken element at `at`, and whether the file ends inside it.

        The last one leaves the array its closing bracket, and takes any other closing ones.
        """
        while (seam := self.layouts.next_seam(self.buffer, self.at)) is None:
            if self.rest >= MAX_ELEMENT:
                return self.rest, False
            if not self.grow():
                if self.cut:
                    return self.rest, True
                tail = self.buffer[self.at :].rstrip()
                closed = len(tail) > 1 and tail.endswith(b"]")
                return (len(tail) - 1 if closed else self.rest), not closed
        return seam - self.at, False

    def take(self, size: int) -> bytes:
        """The next `size` bytes, without separators at their end; the window moves behind them."""
        raw = self.buffer[self.at : self.at + size].rstrip(b" \t\r\n,")
        self.at += size
        return raw


def elements(file: Readable, keys: Set[str], start: int = 0) -> Iterator[Element]:
    """Every element of the array in `file`, in order; broken stretches come out as faulty elements.

    The file must stand at or before the opening bracket. An array that never closes, or an archive that ends too
    early, ends in an element with a fault: rows may be missing there, and that is never silent.

    Args:
        file: read once, forwards.
        keys: keys of which every row that is worth finding again has one.
        start: bytes of the file that were read already.
    """
    window = _Window(file, keys, start)
    window.skip(_BLANK)
    window.at += 1
    number, closed, cut_off = 0, False, False
    while head := window.skip(_SEPARATORS):
        closed = head == b"]"
        if closed:  # the last one, or one that came too early: what follows is read on
            window.at += 1
            continue
        number += 1
        element, cut_off = _element(window, number)
        yield element._replace(fault=str(window.cut)) if cut_off and window.cut else element
    if window.cut and not cut_off or not (closed or cut_off):
        fault = str(window.cut or "the array is never closed: the file may have been cut off")
        yield Element(number + 1, b"", None, fault, window.offset)


def _element(window: _Window, number: int) -> tuple[Element, bool]:
    """The element at the window's place, parsed alone so that a fault stays its own; and whether the file ends inside it."""
    value, fault, whole, offset = None, None, False, window.offset
    if (end := window.seam.end(window.buffer, window.at)) is not None:
        return Element(number, window.take(end.place - window.at), end.value, None, offset), False
    if (size := window.size()) is not None:
        try:
            value = parse(window.buffer[window.at : window.at + size])
            whole = True
        except NotJson as error:
            fault = str(error)
        except Malformed as error:
            fault, whole = str(error), True
        if whole and _ends_well(window, size):
            if window.layouts.learn(window.buffer, window.at, value):
                window.seam.learn(window.buffer, window.at)
            return Element(number, window.take(size), value, fault, offset), False
        fault = fault or "not JSON: something stands between this element and the next"
    size, cut_off = window.broken_size()
    where = "the file ends inside this element" if cut_off else "it does not end before the next one begins"
    return Element(number, window.take(size), None, fault or f"not JSON: {where}", offset), cut_off


def _ends_well(window: _Window, size: int) -> bool:
    """Whether a separator follows. A list at the very end is none: its bracket is the array's, and its own is missing."""
    behind = window.behind(size)
    is_list = window.buffer[window.at : window.at + 1] == b"["
    return behind in _AFTER_A_WHOLE_ONE and not (is_list and behind == b"")
