"""Replies that hand the turn back with a question."""

from __future__ import annotations

import re

from nightgarden.evaluation.answers import Answer, Score

LAST_QUESTION = re.compile(r"[^\s.!?…][^.!?…\n]*[?？⁇]+[^\w?]*\Z")


def question_ending(answer: Answer) -> Score:
    """1 when the last sentence is a question (quotes, brackets and emoji after it do not count); passes with 0."""
    found = LAST_QUESTION.search(answer.text)
    return Score(
        name="question_ending",
        value=1 if found else 0,
        passed=not found,
        reason="ends in a question" if found else "does not end in a question",
        spans=(found.span(),) if found else (),
    )
