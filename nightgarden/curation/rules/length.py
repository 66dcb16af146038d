"""length: words per answer and per row.

A word is what stands between blanks and dashes: a compound with hyphens, a number with its marks and a
web address are one each, punctuation alone is none. Each sign of Chinese and Japanese is one; other
scripts without blanks count low.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from nightgarden.curation.canaries import Canaries, bad_row, clean_rows
from nightgarden.curation.matching import IDEOGRAMS, ROW, answers, fold
from nightgarden.records import Example, Hit
from nightgarden.rule_params import LengthRule

_JOINED = r"://\S+|(?<=[0-9])[.,:](?=[0-9])[0-9]+"
_WORD = re.compile(rf"[^\W_{IDEOGRAMS}]+(?:['-][^\W_{IDEOGRAMS}]+|{_JOINED})*|[{IDEOGRAMS}]")
_ASCII_WORD = re.compile(rf"[^\W_]+(?:['-][^\W_]+|{_JOINED})*")
"""The same for a text without ideograms, in less than half the time."""

_APART = bytes(code for code in range(128) if not chr(code).isalnum())
"""ASCII that no word can do without between itself and the next."""

ENGINE = "python/word-count-2"
CANARY_BAD = ("", "\u200b", "...", "— —")
"""Answers without a word; answers and rows that are too long are made to the settings."""


def canaries(settings: LengthRule) -> Canaries:
    """Rows just outside each limit, and clean rows whose answers are as short as the settings allow."""
    long_answer = "wall " * (settings.max_answer_words + 1)
    unspaced = "墙" * (settings.max_answer_words + 1)
    long_prompt = "wall " * settings.max_row_words
    short = "wall " * settings.min_answer_words
    bad = [bad_row("length", number, text) for number, text in enumerate([*CANARY_BAD, long_answer, unspaced])]
    return Canaries(bad=(*bad, bad_row("length:row", 0, short, prompt=long_prompt)), clean=clean_rows(short))


def hits(example: Example, settings: LengthRule) -> tuple[Hit, ...]:
    """A hit on each answer that is too short or too long, and on a row that is too long."""
    if _is_within(example, settings):
        return ()
    found = []
    for index, text in answers(example):
        count = _count(text)
        if count < settings.min_answer_words:
            reason = f"answer of {count} words, fewer than {settings.min_answer_words}"
            found.append(Hit(turn=index, start=0, end=0, reason=reason))
        elif count > settings.max_answer_words:
            reason = f"answer of {count} words, more than {settings.max_answer_words}"
            found.append(Hit(turn=index, start=0, end=0, reason=reason))
    if (total := sum(_count(text) for text in _rendered(example))) > settings.max_row_words:
        found.insert(0, Hit(turn=ROW, start=0, end=0, reason=f"row of {total} words, more than {settings.max_row_words}"))
    return tuple(found)


def _is_within(example: Example, settings: LengthRule) -> bool:
    """Whether the row is within all limits for certain, by quick counts that are never too low."""
    if settings.min_answer_words > 1:
        return False
    total = 0
    for turn in example.turns:
        most = _most(turn.content, settings.max_answer_words)
        total += most
        if turn.role == "assistant" and not 1 <= most <= settings.max_answer_words:
            return False
    for text in (*(memory.text for memory in example.memories), *example.directives):
        total += _most(text, settings.max_answer_words)
    return total <= settings.max_row_words


def _most(text: str, limit: int) -> int:
    """No fewer words than a text has, 0 only where it has none; counted more closely where that might be above the limit."""
    folded = fold(text).text
    if folded.isascii() and folded[:1].isalnum() and (most := (len(folded) + 1) // 2) <= limit:
        return most  # a word is a character, and one parts two words
    ascii_part = folded.encode("ascii", "ignore")
    letters, signs = len(ascii_part.translate(None, _APART)), len(folded) - len(ascii_part)
    if letters == 0 and signs:
        return _count(text)
    return min(letters, len(ascii_part) - letters + 1) + 2 * signs  # a sign of Chinese parts two words and is one itself


@lru_cache(maxsize=64)
def _count(text: str) -> int:
    folded = fold(text).text
    return len((_ASCII_WORD if folded.isascii() else _WORD).findall(folded))


def _rendered(example: Example) -> Iterator[str]:
    """Every text that a template renders."""
    yield from (turn.content for turn in example.turns)
    yield from (memory.text for memory in example.memories)
    yield from example.directives
