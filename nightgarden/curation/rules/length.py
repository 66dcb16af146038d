"""length: words per answer and per row.

Counts words as `matching.words` does: a script without blanks between words counts low.
"""

from __future__ import annotations

from collections.abc import Iterator

from nightgarden.curation.canaries import Canaries, bad_row, clean_rows
from nightgarden.curation.matching import ROW, answers, words
from nightgarden.params import LengthRule
from nightgarden.records import Example, Hit

ENGINE = "python/word-count-1"
CANARY_BAD = ("...", "— —")
"""Answers without a word; answers and rows that are too long are made to the settings."""


def canaries(settings: LengthRule) -> Canaries:
    """Rows just outside each limit, and clean rows whose answers are as short as the settings allow."""
    long_answer = "wall " * (settings.max_answer_words + 1)
    long_prompt = "wall " * settings.max_row_words
    short = "wall " * settings.min_answer_words
    bad = [bad_row("length", number, text) for number, text in enumerate([*CANARY_BAD, long_answer])]
    return Canaries(bad=(*bad, bad_row("length:row", 0, short, prompt=long_prompt)), clean=clean_rows(short))


def hits(example: Example, settings: LengthRule) -> tuple[Hit, ...]:
    """A hit on each answer that is too short or too long, and on a row that is too long."""
    found = []
    for index, text in answers(example):
        count = len(words(text))
        if not text.strip():  # an empty turn is the schema rule's
            continue
        if count < settings.min_answer_words:
            reason = f"answer of {count} words, fewer than {settings.min_answer_words}"
            found.append(Hit(turn=index, start=0, end=0, reason=reason))
        elif count > settings.max_answer_words:
            reason = f"answer of {count} words, more than {settings.max_answer_words}"
            found.append(Hit(turn=index, start=0, end=0, reason=reason))
    if (total := sum(len(words(text)) for text in _rendered(example))) > settings.max_row_words:
        found.insert(0, Hit(turn=ROW, start=0, end=0, reason=f"row of {total} words, more than {settings.max_row_words}"))
    return tuple(found)


def _rendered(example: Example) -> Iterator[str]:
    """Every text that a template renders."""
    yield from (turn.content for turn in example.turns)
    yield from (memory.text for memory in example.memories)
    yield from example.directives
