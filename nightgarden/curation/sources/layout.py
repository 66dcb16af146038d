"""How the rows of one array stand in its text, and where the next one begins behind a broken one.

A layout is learnt from whole rows only. Text in, places out: knows nothing of files. Strings of a
broken row cannot be trusted (one missing quote turns them inside out), so seams are sought in its
bytes: JSON has no raw line break and no bare quote inside a string.
"""

from __future__ import annotations

import re
from collections.abc import Set
from itertools import islice
from typing import Any, NamedTuple

from nightgarden.curation.sources.parsing import OPEN, Malformed, parse, quickly

BEHIND = 256
"""Bytes before an element in which the start of its line is sought."""
MAX_LAYOUTS = 8
"""Different ways to open that are remembered for one file; merged data sets have a few."""
TRIES = 8
"""How often the text of a broken stretch may be read while a first row is sought: nested brackets would square it."""
MAX_NEIGHBOUR = 1 << 16
"""Bytes of a row that is looked at only to see whether the one before it has ended."""
MAX_PAUSE = 1000
"""Rows that are not tried at a seam after it failed ten times running."""
NEIGHBOURS = 8
"""Seams at which such a row is sought: a neighbour may be broken too, and each miss doubles the search for an end."""

_STRING_OR_MARK = re.compile(rb'"(?:[^"\\\n]++|\\[^\n])*+(?:"|\\?(?=\n)|\\?\Z)|[{}\[\],]')
"""A string ends at its quote or, broken, at the end of its line: JSON has no raw newline in strings."""
_KEY = rb'("(?:[^"\\\n]|\\.)*")\s*:'
_KEY_AHEAD = re.compile(_KEY)
_OPENING = re.compile(rb"\{(\s*)" + _KEY)
_OPENING_AHEAD = re.compile(rb",\s*(?=\{\s*" + _KEY + rb")")
_VALUE = rb'(?:[{\["\d-]|true\b|false\b|null\b)'
_VALUE_AHEAD = re.compile(rb",\s*(?=" + _VALUE + rb")(?!" + _KEY + rb")")
_CLOSERS = re.compile(rb"[\s}\]]*")


def value_end(buffer: bytes, start: int, stop: int | None = None, depth: int = 0) -> int | None:
    """Index behind the value at `start`, by counting brackets outside strings; None if `stop` comes first."""
    for token in _STRING_OR_MARK.finditer(buffer, start, len(buffer) if stop is None else stop):
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


class Layout(NamedTuple):
    """How one whole row stands."""

    indent: bytes | None
    """Blanks before it on its line; None if it is not the first on its line."""
    gap: bytes
    """Blanks between its brace and its first key."""
    key: bytes
    """Its first key, with the quotes."""

    @property
    def inner(self) -> bytes | None:
        """Blanks before its first key on a line of its own; None if the key stands beside the brace."""
        return self.gap.rpartition(b"\n")[2] if b"\n" in self.gap else None

    @property
    def lined(self) -> bool:
        """Whether a line with this indentation can only be a row: its keys do not stand there."""
        return self.indent is not None and self.indent != self.inner

    def seams(self) -> list[bytes]:
        """Patterns that end where a row begins: a whole opening, one without its brace, and any other element."""
        key = re.escape(self.key) + rb"\s*:"
        line = rb"\n" + re.escape(self.indent or b"")
        opening = rb"(?=\{" + re.escape(self.gap) + key + rb")" if self.indent is None else line + rb"(?=\{\s*" + key + rb")"
        headless = rb",\s*" + (b"" if self.inner is None else rb"\n" + re.escape(self.inner)) + rb"(?=" + key + rb")"
        if not self.lined:  # behind a brace only: lists of numbers are common inside a row
            other = rb'\}\s*,\s*(?=(?:-?\d[\d.eE+-]*|true|false|null|"(?:[^"\\\n]|\\.)*")\s*[,\]]|\[)'
        else:  # bare words at the margin may be the second line of a text with a raw line break
            other = rb",\s*" + line + rb"(?=" + (rb"[^\s,}\]]" if self.indent else _VALUE) + rb")"
        return [opening, headless, other]


class End(NamedTuple):
    """Where a row ends, and its value."""

    place: int
    value: Any


class Seam:
    """What stands between a row and the next, by which the end of a row is found without looking into its strings.

    What ends there counts only if it is one whole value; wherever it is not, every string has to be looked at.
    """

    def __init__(self) -> None:
        self._text = b""
        self._lead = 0
        """Bytes of the text before the row's brace."""
        self._pause = 0
        """Rows that are not tried: the rows of a mixed file have different seams."""
        self._misses = 0

    def learn(self, buffer: bytes, at: int) -> None:
        """Take the text before the row at `at` and its opening as the seam that the next rows have too."""
        before, opening = buffer[max(0, at - BEHIND) : at], _OPENING.match(buffer, at)
        separator = before[len(before.rstrip(b" \t\r\n,")) :]
        if opening and b"," in separator and len(separator) < BEHIND:
            self._text, self._lead = separator + opening[0], len(separator)

    def end(self, buffer: bytes, at: int) -> End | None:
        """Where the row at `at` ends; None where the seam does not tell, or the row itself opens in another way."""
        if self._pause or not self._text or not buffer.startswith(self._text, max(0, at - self._lead)):
            self._pause = max(0, self._pause - 1)
            return None
        place = buffer.find(self._text, at, at + MAX_NEIGHBOUR)
        value = quickly(buffer[at:place]) if place > at else OPEN
        if value is OPEN:
            self._misses += 1
            self._pause = min(2**self._misses, MAX_PAUSE)
            return None
        self._misses = 0
        return End(place, value)


class Layouts:
    """The layouts seen so far in one file."""

    def __init__(self, keys: Set[str]) -> None:
        self.keys = keys
        """A row is an object with one of these."""
        self._seen: set[Layout] = set()
        self._seams: re.Pattern[bytes] | None = None

    @property
    def lined(self) -> bool:
        """Whether rows of any shape show by their indentation."""
        return any(layout.lined for layout in self._seen)

    def learn(self, buffer: bytes, at: int, value: Any) -> bool:
        """Remember how the element at `at` stands, if it is a row; whether it is one."""
        opening = _OPENING.match(buffer, at)
        if not (opening and isinstance(value, dict) and self.keys & value.keys()):
            return False
        _, newline, blanks = buffer[max(0, at - BEHIND) : at].rpartition(b"\n")
        layout = Layout(blanks if newline and not blanks.strip() else None, opening[1], opening[2])
        if layout not in self._seen and len(self._seen) < MAX_LAYOUTS:
            self._seen.add(layout)
            self._seams = re.compile(b"|".join(pattern for layout in sorted(self._seen, key=str) for pattern in layout.seams()))
        return True

    def row_behind(self, buffer: bytes, start: int) -> bool:
        """Whether a whole row stands at one of the next seams behind `start`: nested objects have none of its keys."""
        seams = self._seams.finditer(buffer, start) if self._seams else iter(())
        return any(
            self._row_end(buffer, found.end(), found.end() + MAX_NEIGHBOUR) is not None for found in islice(seams, NEIGHBOURS)
        )

    def _row_end(self, buffer: bytes, at: int, stop: int | None = None) -> int | None:
        """Where the whole row at `at` ends, learnt from in passing; None if there is none."""
        end = value_end(buffer, at, stop)
        try:
            return end if end is not None and self.learn(buffer, at, parse(buffer[at:end])) else None
        except Malformed:
            return None

    def next_seam(self, buffer: bytes, at: int) -> int | None:
        """Where the element behind the broken one at `at` begins; None if the buffer does not tell.

        Without lines to go by, a first row of a new shape is sought as well, and the end of the broken one itself.
        """
        seam = self._known_seam(buffer, at)
        if self.lined:
            return seam
        if self._learn_ahead(buffer, at, seam):
            seam = self._known_seam(buffer, at)
        if self.lined:
            return seam
        return own if (own := _own_end(buffer, at, seam)) is not None else seam

    def _known_seam(self, buffer: bytes, at: int) -> int | None:
        for found in self._seams.finditer(buffer, at + 1) if self._seams else ():
            if not _is_own_key(buffer, at, found.end()):
                return found.end()
        return None

    def _learn_ahead(self, buffer: bytes, at: int, seam: int | None) -> bool:
        """Learn from the first whole row before `seam` that stands behind a comma: one behind a colon is nested."""
        budget = TRIES * (len(buffer) - at)
        for found in _OPENING_AHEAD.finditer(buffer, at + 1, len(buffer) if seam is None else seam):
            place = found.end()
            if self._row_end(buffer, place) is not None:
                return True
            budget -= (value_end(buffer, place) or len(buffer)) - place
            if budget < 0:
                break
        return False


def _is_own_key(buffer: bytes, at: int, place: int) -> bool:
    """Whether the key at `place` belongs to the row at `at`: it opens with another one and has not held this one yet."""
    own, key = _OPENING.match(buffer, at), _KEY_AHEAD.match(buffer, place)
    return bool(own and key and own[2] != key[1] and buffer.find(key[1], at, place) < 0)


def _own_end(buffer: bytes, at: int, stop: int | None) -> int | None:
    """Where a broken element ends by its own brackets, stray closing ones included, if a comma follows."""
    headless = _KEY_AHEAD.match(buffer, at) is not None
    end = value_end(buffer, at, stop, depth=int(headless))
    if end is None:
        return None
    closers = _CLOSERS.match(buffer, end)
    behind = closers.end() if closers else end
    if headless or buffer[at] in b"{[":
        return behind if behind > at and buffer[behind : behind + 1] == b"," else None
    return end if end > at and _VALUE_AHEAD.match(buffer, end) else None
