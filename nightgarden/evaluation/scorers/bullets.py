"""Bullet points: list lines, headings and bold labels where prose was wanted."""

from __future__ import annotations

import re

from nightgarden.evaluation.answers import Answer, Score

LIST_LINE = re.compile(r"^[ \t]*(?:[-*•‣◦▪–]|\d{1,2}[.)]|[a-zA-Z][)])[ \t]+\S.*$|^#{1,6} \S.*$", re.MULTILINE)
ALLOWED = 1
"""One dash line may be speech; two are a list."""


def bullets(answer: Answer) -> Score:
    """Number of list lines and headings; passes with at most one."""
    spans = tuple(match.span() for match in LIST_LINE.finditer(answer.text))
    passed = len(spans) <= ALLOWED
    return Score(
        name="bullets",
        value=len(spans),
        passed=passed,
        reason=f"{len(spans)} list lines" + ("" if passed else f", at most {ALLOWED} allowed"),
        spans=() if passed else spans,
    )
