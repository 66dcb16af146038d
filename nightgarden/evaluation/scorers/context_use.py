"""Context and memory use: whether a reply says what only its context or memories could tell it."""

from __future__ import annotations

from nightgarden.evaluation.answers import Answer, Score
from nightgarden.evaluation.constraints import CONTENT, broken
from nightgarden.evaluation.vacuity import void_reason
from nightgarden.evaluation.wording import find_phrases

WITHOUT_CONTEXT = "identity_stripping"
"""Its prompts have constraints of content too, but no context to take them from."""


def context_use(answer: Answer) -> Score:
    """Share of the content constraints that hold; passes with all, in prompts that name a fact that must be said.

    A void reply fails, as in format compliance, of which this is the part about content.
    """
    wanted = [item for item in answer.prompt.constraints if item.kind in CONTENT]
    if answer.prompt.category == WITHOUT_CONTEXT or all(item.kind != "must_contain" for item in wanted):
        return Score(name="context_use", value=None, passed=None, reason="the prompt names no fact that must be said")
    if void := void_reason(answer.text):
        return Score(name="context_use", value=0, passed=False, reason=f"void: {void}")
    faults = [fault for item in wanted if (fault := broken(answer.text, item, truncated=answer.truncated))]
    spans = [span for item in wanted if item.kind == "must_contain" for span in find_phrases(answer.text, item.any)]
    return Score(
        name="context_use",
        value=1 - len(faults) / len(wanted),
        passed=not faults,
        reason="; ".join(faults) if faults else "says what it should",
        spans=tuple(sorted(spans)),
    )
