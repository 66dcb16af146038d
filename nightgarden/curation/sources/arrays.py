"""The elements of a JSON array, streamed, with recovery after a broken one.

A stock streaming parser stops at the first fault and loses the rest of the file. Here only the end
of each element is sought (strings and brackets, nothing else), the element is parsed alone, and a
broken one reaches to where the next element visibly opens: the way the first one opens, such as
`{"instruction"` with the same indentation. Knows nothing of shapes. Memory: one element.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from nightgarden.curation.sources.parsing import Malformed, NotJson, parse

CHUNK = 1 << 20
MAX_ELEMENT = 64 << 20
"""Bytes of one element; a larger one counts as broken (the largest real record we know of had 20 MB)."""

_STRING_OR_MARK = re.compile(rb'"(?:[^"\\\n]++|\\[^\n])*+(?:"|\\?(?=\n)|\\?\Z)|[{}\[\],]')
"""A string ends at its quote or, broken, at the end of its line: JSON has no raw newline in strings."""
_OPENING = re.compile(rb'\{\s*"(?:[^"\\\n]|\\.)*"\s*:')
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


class _Window:
    """A file seen through a buffer that grows on demand; `at` is where the next element begins."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.buffer = b""
        self.at = 0
        self.opening: bytes | None = None
        """How the first element opens, from the start of its line where it stands first on it."""

    def grow(self) -> bool:
        """Forget what is done, read at least as much again (so that rescans cost linear time); False at the end.

        Positions in the buffer change; what counts from `at` stays.
        """
        chunk = self.file.read(max(CHUNK, len(self.buffer) - self.at))
        self.buffer = self.buffer[self.at :] + chunk
        self.at = 0
        return bool(chunk)

    def skip(self, what: re.Pattern[bytes]) -> bytes:
        """Pass over `what` and return the byte behind it, empty at the end of the file."""
        while True:
            found = what.match(self.buffer, self.at)
            self.at = found.end() if found else self.at
            if self.at < len(self.buffer) or not self.grow():
                return self.buffer[self.at : self.at + 1]

    def end(self) -> int | None:
        """Where the value at `at` ends; None if the file, or MAX_ELEMENT, ends first."""
        while (end := _value_end(self.buffer, self.at)) is None:
            if len(self.buffer) - self.at > MAX_ELEMENT or not self.grow():
                return None
        return end

    def next_opening(self) -> int | None:
        """Where the next element opens behind `at`; None if none does: then the buffer holds the rest of the file."""
        while (place := self.buffer.find(self.opening, self.at + 1) if self.opening else -1) < 0:
            if not self.grow():
                return None
        return place

    def behind(self, size: int) -> bytes:
        """The first byte that is not blank behind the next `size` bytes; empty at the end of the file."""
        while True:
            found = _BLANK.match(self.buffer, self.at + size)
            place = found.end() if found else self.at + size
            if place < len(self.buffer) or not self.grow():
                return self.buffer[place : place + 1]

    def learn_opening(self) -> None:
        """Remember how the element at `at` opens, if it is the first that opens like an object."""
        found = _OPENING.match(self.buffer, self.at)
        if self.opening is None and found:
            line = self.buffer.rfind(b"\n", 0, self.at) + 1
            first_on_line = line > 0 and not self.buffer[line : self.at].strip()
            self.opening = self.buffer[line - 1 if first_on_line else self.at : found.end()]

    def take(self, end: int) -> bytes:
        """The bytes up to `end`, without separators at their end; the window moves there."""
        raw = self.buffer[self.at : end].rstrip(b" \t\r\n,")
        self.at = end
        return raw


def _value_end(buffer: bytes, start: int) -> int | None:
    """Index behind the value at `start`, by counting brackets outside strings; None if the buffer ends first."""
    depth = 0
    for token in _STRING_OR_MARK.finditer(buffer, start):
        mark = buffer[token.start()]
        if mark in b"{[":
            depth += 1
        elif mark in b"}]":
            depth -= 1
            if depth <= 0:
                return token.end() if depth == 0 else token.start()
        elif mark == ord(",") and depth == 0:
            return token.start()
    return None


def elements(file: BinaryIO) -> Iterator[Element]:
    """Every element of the array in `file`, in order; broken stretches come out as faulty elements.

    The file must stand at or before the opening bracket. An array that never closes ends in an
    element with a fault: rows may be missing there, and that is never silent.
    """
    window = _Window(file)
    window.skip(_BLANK)
    window.at += 1
    number, closed, whole = 0, False, True
    while head := window.skip(_SEPARATORS):
        closed = head == b"]"
        if closed:  # the last one, or one that came too early: what follows is read on
            window.at += 1
            continue
        number += 1
        element = _element(window, number)
        whole = element.fault is None
        yield element
    if whole and not closed:
        yield Element(number + 1, b"", None, "the array is never closed: the file may have been cut off")


def _element(window: _Window, number: int) -> Element:
    """The element at the window's place; it is parsed alone, so a fault stays its own."""
    end = window.end()
    window.learn_opening()
    if end is None:
        opening = window.next_opening()
        where = "the file ends inside this element" if opening is None else "it does not end before the next one begins"
        return Element(number, window.take(len(window.buffer) if opening is None else opening), None, f"not JSON: {where}")
    size = end - window.at
    fault, value = None, None
    try:
        value = parse(window.buffer[window.at : end])
        if window.behind(size) not in _AFTER_A_WHOLE_ONE:
            raise NotJson("not JSON: something stands between this element and the next")
    except NotJson as error:
        return Element(number, window.take(_broken_end(window, size)), None, str(error))
    except Malformed as error:
        fault = str(error)
    return Element(number, window.take(window.at + size), value, fault)


def _broken_end(window: _Window, size: int) -> int:
    """Where a broken element stops: at its own end if it opened well and a separator follows, else where the next opens."""
    start = window.at
    inside = window.buffer.find(window.opening, start + 1, start + size) if window.opening else -1
    if inside >= 0:
        return inside
    if window.buffer[start : start + 1] == b"{" and window.behind(size) in {b",", b"]"}:
        return window.at + size
    opening = window.next_opening()
    if opening is not None:
        return opening
    return window.at + size if size else len(window.buffer)
