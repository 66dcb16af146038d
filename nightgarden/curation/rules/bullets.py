"""bullets: list lines in an answer, beyond the number that is allowed.

A list line opens with a bullet sign or a picture, or with a number, a letter or a Roman numeral and `.` or
`)`, bold or not; Chinese and Japanese marks need no blank behind them. A capital with a point is an initial.
Lines inside a code fence are code. An em dash opens dialogue in many languages and is no bullet.
"""

from __future__ import annotations

from collections.abc import Iterator

import re2

from nightgarden.curation.canaries import Canaries, of_answers
from nightgarden.curation.matching import Triggers, answers, engine
from nightgarden.records import Example, Hit
from nightgarden.rule_params import BulletsRule

_SIGN = r"(?:[-*+–‐‑−•‣◦⁃∙·⋅→⇒]|\p{So}\x{FE0F}?)"
_COUNT = r"\(?[*_]{0,3}(?:[0-9]{1,2}[.)]|[A-Za-z]\)|[a-z]\.|[ivxIVX]{2,4}[.)])"
"""Digits, letters, Roman numerals; of one letter only the small ones take a point (`i.`), since `V. Woolf` is a name."""
_EAST_ASIAN = r"(?:・|[①-⑳⓪❶-❿➀-➓⑴-⒇]|[0-9]\x{FE0F}?\x{20E3}|[（(]?[0-9０-９一二三四五六七八九十]{1,3}[、．）])"
_LINE = rf"^[\s>\x{{200B}}]*(?:{_SIGN}\s+|{_COUNT}[*_]{{0,3}}\s+|{_EAST_ASIAN}\s*)\S"
_LIST_LINE = re2.compile(_LINE)

ENGINE = engine(_LINE)
_MANY = 300
CANARY_BAD = tuple(
    "\n".join(["Look here:", *[f"{sign} the wall"] * _MANY])
    for sign in ("-", "*", "•", "–", "✅", "1.", "12)", "**3.**", "a)", "b.", "iv.", "①", "1️⃣", "・", "（二）", "  -")
)


def canaries(settings: BulletsRule) -> Canaries:
    """Long lists of every form."""
    return of_answers("bullets", CANARY_BAD)


def triggers(settings: BulletsRule, prompts: object = ()) -> Triggers:
    """A list line."""
    return Triggers(answers=f"(?m:{_LINE})", answers_as_written=f"(?m:{_LINE})")


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
    place, fence = 0, ""
    for line in text.split("\n"):
        opening = line.lstrip()[:3]
        if opening in {"```", "~~~"} and fence in {"", opening}:
            fence = "" if fence else opening
        elif not fence and _LIST_LINE.search(line):
            yield place, place + len(line)
        place += len(line) + 1
