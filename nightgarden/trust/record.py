"""What one night leaves behind: how it ended, which model serves, and what each head may say.

Trust belongs to the serving model and moves with it: a night that is not promoted leaves both as they
were. Knows numbers, not models.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from nightgarden import jsonl
from nightgarden.records import HEADS, Head, Record
from nightgarden.trust.gate import End, Verdict
from nightgarden.trust.skill import Skill, undefined


class HeadRecord(Record, frozen=True, kw_only=True):
    """One head after one night."""

    skill: float | None
    """Of tonight's model on tonight's held-out lessons."""
    before: float | None
    """Of the model that served until now, on the same lessons."""
    trust: float | None
    """In force from now on: of the serving model, which is tonight's only if it was promoted."""
    n: int
    """Held-out lessons."""
    baseline: float | None
    why: str
    """Why a number is missing; empty if none is."""


class NightRecord(Record, frozen=True, kw_only=True):
    """data/nights/NIGHT/record.json."""

    night: str
    end: End
    reason: str
    serving: str | None
    """The night whose model serves from now on."""
    heads: dict[Head, HeadRecord]
    labels: dict[Head, dict[str, int | str]]
    """Per head how its labels came about: asked, answered, missing, refused ..."""


def close(
    night: str,
    verdict: Verdict,
    candidate: Mapping[Head, Skill],
    serving: Mapping[Head, Skill] | None,
    last: NightRecord | None,
    labels: Mapping[Head, dict[str, int | str]],
) -> NightRecord:
    """The record of a night from its verdict and the two models' skills.

    Args:
        night: its name.
        verdict: of the gate.
        candidate: tonight's model.
        serving: the model that served until now, on the same rows; None if there is none.
        last: the record of the night before; None on the first.
        labels: the account of the labels.
    """
    promoted = verdict.end == "Promoted"
    heads: dict[Head, HeadRecord] = {}
    for head in HEADS:
        skill = candidate.get(head) or undefined(0, "no lesson yet")
        old = (serving or {}).get(head)
        trust, why = skill.trust, skill.why
        if not promoted:
            trust = last.heads[head].trust if last else None
            why = why or ("" if trust is not None else "no promoted model has measured this head")
        heads[head] = HeadRecord(
            skill=skill.value, before=old.value if old else None, trust=trust, n=skill.n, baseline=skill.baseline, why=why
        )
    before = last.serving if last else None
    return NightRecord(
        night=night,
        end=verdict.end,
        reason=verdict.reason,
        serving=night if promoted else before,
        heads=heads,
        labels=dict(labels),
    )


def read(path: Path) -> NightRecord:
    """The record in a file.

    Raises:
        UserError: missing or not a night's record.
    """
    record: NightRecord = jsonl.read_json(path, NightRecord)
    return record
