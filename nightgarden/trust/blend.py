"""What a head's word weighs. Knows two numbers and a trust, not what they are about."""

from __future__ import annotations


def consulted(trust: float | None, consult_from: float) -> bool:
    """Whether a head is asked at all; an unmeasured one never is."""
    return trust is not None and trust >= consult_from


def blend(heuristic: float, prediction: float, trust: float | None, consult_from: float) -> float:
    """(1 - trust) x heuristic + trust x prediction from `consult_from` on, below it the heuristic alone.

    Args:
        heuristic: the value without the student.
        prediction: the head's value on the same scale.
        trust: in [0, 1], or None if it was never measured.
        consult_from: smallest trust at which the head is asked.
    """
    if trust is None or not consulted(trust, consult_from):
        return heuristic
    return (1 - trust) * heuristic + trust * prediction
