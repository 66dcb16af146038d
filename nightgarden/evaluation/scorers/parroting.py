"""Parroting: a reply that recites the system prompt or a memory word for word."""

from __future__ import annotations

from nightgarden.evaluation.answers import Answer, Score
from nightgarden.evaluation.wording import words

LIMIT = 8
"""Words; a shorter shared run is a name, a place or a set phrase ("the cellar of the parish hall" has six)."""


def parroting(answer: Answer) -> Score:
    """Words of the longest run shared with system prompt, directives or a memory; passes below the limit."""
    prompt = answer.prompt
    system = [turn.content for turn in prompt.turns if turn.role == "system"]
    sources = system + list(prompt.directives) + [memory.text for memory in prompt.memories]
    if not sources:
        return Score(name="parroting", value=None, passed=None, reason="the prompt has neither system text nor memories")
    reply = words(answer.text)
    said = [word.group().casefold() for word in reply]
    length, end = max(longest_run(said, [word.group().casefold() for word in words(source)]) for source in sources)
    passed = length < LIMIT
    return Score(
        name="parroting",
        value=length,
        passed=passed,
        reason=f"longest shared run {length} words" + ("" if passed else f", the limit is {LIMIT}"),
        spans=() if passed else ((reply[end - length].start(), reply[end - 1].end()),),
    )


def longest_run(said: list[str], source: list[str]) -> tuple[int, int]:
    """Length of the longest common run of words, and the index after it in `said`."""
    best, end = 0, 0
    before = [0] * (len(source) + 1)
    for row, word in enumerate(said, 1):
        now = [0] * (len(source) + 1)
        for column, other in enumerate(source, 1):
            if word == other:
                now[column] = before[column - 1] + 1
                if now[column] > best:
                    best, end = now[column], row
        before = now
    return best, end
