"""Whether tonight's model takes over from the one that serves.

Both are measured on tonight's held-out rows, never against a stored number: a stored skill was taken
on fewer rows, and most rollbacks against it are artefacts of the held-out part having grown. Knows
skills and limits; does not know models.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from nightgarden.params import TrustSettings
from nightgarden.records import HEADS, Head, Record
from nightgarden.trust.skill import Skill

End = Literal["Promoted", "Held", "RolledBack", "Skipped"]


class Verdict(Record, frozen=True, kw_only=True):
    """How a night ends, and the sentence that says why."""

    end: End
    reason: str


def decide(
    candidate: Mapping[Head, Skill], serving: Mapping[Head, Skill] | None, finite: bool, settings: TrustSettings
) -> Verdict:
    """Promoted, RolledBack (measured and worse) or Held (nothing to decide by).

    A head takes part where its skill is defined for both models. A head that the serving model has
    and the candidate lost is a loss, not a gap: an empty measurement must not pass as a good one.

    Args:
        candidate: tonight's model on tonight's held-out rows.
        serving: the model in use on the same rows; None on the first night.
        finite: whether every loss of the training was a finite number.
        settings: the two limits.
    """
    if not finite:
        return Verdict(end="Held" if serving is None else "RolledBack", reason="a training loss was not a finite number")
    own = {head: skill.value for head in HEADS if (skill := candidate.get(head)) and skill.value is not None}
    if serving is None:
        return _first(own)
    old = {head: skill.value for head in HEADS if (skill := serving.get(head)) and skill.value is not None}
    if lost := sorted(set(old) - set(own)):
        return Verdict(end="RolledBack", reason=f"{', '.join(lost)} can no longer be measured; the serving model can")
    changes = {head: own[head] - old[head] for head in own if head in old}
    if not changes:
        return Verdict(end="Held", reason="no head can be measured for both models on tonight's held-out lessons")
    mean = sum(changes.values()) / len(changes)
    worst = min(changes, key=lambda head: changes[head])
    told = (
        f"mean skill change {mean:+.3f} over {len(changes)} heads (limit {settings.min_mean_change:+.2f}), "
        f"largest drop {max(0.0, -changes[worst]):.3f}"
        f" ({worst} {old[worst]:.3f} to {own[worst]:.3f} on the same {candidate[worst].n} lessons, "
        f"limit {settings.max_head_drop:.2f})"
    )
    worse = mean < settings.min_mean_change or changes[worst] < -settings.max_head_drop
    return Verdict(end="RolledBack" if worse else "Promoted", reason=told)


def _first(own: Mapping[Head, float]) -> Verdict:
    if not own:
        return Verdict(end="Held", reason="no head can be measured on tonight's held-out lessons, and no model serves yet")
    told = ", ".join(f"{head} {value:.3f}" for head, value in own.items())
    return Verdict(end="Promoted", reason=f"first model: its losses are finite and {len(own)} heads can be measured ({told})")
