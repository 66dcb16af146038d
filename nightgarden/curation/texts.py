"""A row as one text, and two texts compared word by word."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from html import escape
from typing import NamedTuple

from nightgarden.records import Example

AROUND = 40
"""Characters that stay on each side of a change where the rest is cut."""
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")


class Span(NamedTuple):
    """A stretch of two texts that are compared: what stayed, went or came."""

    sign: str
    """A blank, - or +."""
    text: str


def spans(old: str, new: str) -> list[Span]:
    """Two texts word by word."""
    left, right = _TOKEN.findall(old), _TOKEN.findall(new)
    found = []
    for tag, start, end, start_new, end_new in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag == "equal":
            found.append(Span(" ", "".join(left[start:end])))
            continue
        if start < end:
            found.append(Span("-", "".join(left[start:end])))
        if start_new < end_new:
            found.append(Span("+", "".join(right[start_new:end_new])))
    return found


def shortened(found: list[Span]) -> list[Span]:
    """The spans with what stayed cut down to what stands next to a change."""
    last = len(found) - 1
    return [span if span.sign != " " else Span(" ", _cut(span.text, place > 0, place < last)) for place, span in enumerate(found)]


def _cut(text: str, keeps_start: bool, keeps_end: bool) -> str:
    if len(text) <= 2 * AROUND:
        return text
    return (text[:AROUND] if keeps_start else "") + " … " + (text[-AROUND:] if keeps_end else "")


def whole(row: Example) -> str:
    """All that a row shows to the model, as one text."""
    lines = [f"directive: {text}" for text in row.directives]
    lines += [f"memory: {memory.type}{f', {memory.date}' if memory.date else ''}: {memory.text}" for memory in row.memories]
    return "\n".join([*lines, *(f"{turn.role}: {turn.content}" for turn in row.turns)])


def marked_changes(old: str, new: str, *, short: bool = False) -> str:
    """Both texts in one, as HTML."""
    marks = {" ": "{}", "-": "<del>{}</del>", "+": "<ins>{}</ins>"}
    found = spans(old, new)
    return "".join(marks[span.sign].format(escape(span.text, quote=False)) for span in (shortened(found) if short else found))
