"""Two poles: replies cluster at excellent and at failing, so the mean of them describes no reply.

Each reply lies at a pole or in the middle; shares come with intervals, per category. Knows scores, not replies.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nightgarden.evaluation.answers import COLUMNS, POLES, Pole, Score, Scored, Side
from nightgarden.evaluation.paired import wilson
from nightgarden.evaluation.prompts import in_order
from nightgarden.records import Record

PART_OF_ANOTHER = ("context_use",)
"""Checks that another check covers: a missed fact would count twice."""


class Share(Record, frozen=True, kw_only=True):
    """How many replies of a side lie at one pole, with Wilson's interval."""

    count: int
    of: int
    low: float
    high: float


Barbell = dict[str, dict[Side, dict[Pole, Share]]]
"""By category, and `all`."""


def failed(scores: Iterable[Score]) -> list[str]:
    """Names of the checks that count for the pole and fail."""
    return [score.name for score in scores if score.passed is False and score.name not in PART_OF_ANOTHER]


def pole(void: str | None, scores: Iterable[Score]) -> Pole:
    """Excellent: every applicable check passes. Failing: void, or two and more fail. Middle: the rest."""
    faults = len(failed(scores))
    if void is not None or faults >= 2:
        return "failing"
    return "middle" if faults else "excellent"


def barbell(scored: Sequence[Scored], alpha: float) -> Barbell:
    """Shares at the poles by category and side. Several seeds of a prompt count as independent replies."""
    table: Barbell = {}
    there = [side for side in COLUMNS if any(item.side == side for item in scored)]
    for category in (*in_order(item.category for item in scored), "all"):
        table[category] = {}
        for side in there:
            chosen = [item for item in scored if item.side == side and category in (item.category, "all")]
            table[category][side] = {name: _share(chosen, name, alpha) for name in POLES}
    return table


def _share(scored: Sequence[Scored], name: Pole, alpha: float) -> Share:
    count = sum(item.pole == name for item in scored)
    low, high = wilson(count, len(scored), alpha)
    return Share(count=count, of=len(scored), low=low, high=high)
