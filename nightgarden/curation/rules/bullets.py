"""bullets: list lines in an answer, beyond the number that is allowed.

A list line opens with a bullet sign, a number with `.` or `)`, or a letter with `)`. Lines inside a
code fence are code. An em dash opens dialogue in many languages and is no bullet.
"""

from __future__ import annotations

from collections.abc import Iterator

import re2

from nightgarden.curation.canaries import Canaries, of_answers
from nightgarden.curation.matching import answers, engine
from nightgarden.params import BulletsRule
from nightgarden.records import Example, Hit

_SIGN = r"[-*+–•‣◦▪▫●○■□➤➔✓✔✅]"
_LINE = rf"^[\s>\x{{200B}}]*(?:{_SIGN}\s+|\(?(?:[0-9]{{1,2}}[.)]|[A-Za-z]\))\s+)\S"
_LIST_LINE = re2.compile(_LINE)

ENGINE = engine(_LINE)
_MANY = 300
CANARY_BAD = tuple(
    "\n".join(["Look here:", *[f"{sign} the wall"] * _MANY]) for sign in ("-", "*", "•", "–", "1.", "12)", "a)", "  -")
)


def canaries(settings: BulletsRule) -> Canaries:
    """Long lists of every form."""
    return of_answers("bullets", CANARY_BAD)


def hits(example: Example, settings: BulletsRule) -> tuple[Hit, ...]:
    """A hit for every list line of an answer that has more than `max_lines` of them."""
    found = []
    for index, text in answers(example):
        lines = list(_list_lines(text))
        if len(lines) > settings.max_lines:
            reason = f"list line, one of {len(lines)} in this answer; allowed are {settings.max_lines}"
            found += [Hit(turn=index, start=start, end=end, reason=reason) for start, end in lines]
    return tuple(found)


def _list_lines(text: str) -> Iterator[tuple[int, int]]:
    """Spans of the list lines outside code fences."""
    place, fenced = 0, False
    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and _LIST_LINE.search(line):
            yield place, place + len(line)
        place += len(line) + 1
