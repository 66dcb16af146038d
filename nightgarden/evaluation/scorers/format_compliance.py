"""Format compliance: every constraint of the prompt, form and content alike."""

from __future__ import annotations

from nightgarden.evaluation.answers import Answer, Score
from nightgarden.evaluation.constraints import broken
from nightgarden.evaluation.vacuity import void_reason


def format_compliance(answer: Answer) -> Score:
    """Share of the prompt's constraints that hold; passes with all of them.

    A void reply fails: it complied with nothing, and leaving it out would reward silence.
    """
    constraints = answer.prompt.constraints
    if not constraints:
        return Score(name="format_compliance", value=None, passed=None, reason="the prompt has no constraint")
    if void := void_reason(answer.text):
        return Score(name="format_compliance", value=0, passed=False, reason=f"void: {void}")
    faults = [fault for item in constraints if (fault := broken(answer.text, item, truncated=answer.truncated))]
    held = len(constraints) - len(faults)
    return Score(
        name="format_compliance",
        value=held / len(constraints),
        passed=not faults,
        reason=f"{held} of {len(constraints)} constraints hold" + (f"; {'; '.join(faults)}" if faults else ""),
    )
