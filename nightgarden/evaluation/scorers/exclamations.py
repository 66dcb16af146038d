"""Exclamation marks and their Unicode cousins."""

from __future__ import annotations

import re

from nightgarden.evaluation.answers import Answer, Score

MARKS = re.compile("[!！﹗︕‼⁉⁈❗❕❢❣¡‽⸘⹓🙹🙺🙻՜߹᥄𞥞]+")
"""The marks that curation's rule `exclamation` drops: what is trained away is what is counted."""


def exclamations(answer: Answer) -> Score:
    """Number of marks; passes with none."""
    spans = tuple(match.span() for match in MARKS.finditer(answer.text))
    count = sum(end - start for start, end in spans)
    return Score(
        name="exclamations",
        value=count,
        passed=count == 0,
        reason=f"{count} exclamation marks" if count else "no exclamation mark",
        spans=spans,
    )
