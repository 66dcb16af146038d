"""Whether an adapter may become the champion. A pure rule that returns its reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from nightgarden.evaluation.verdicts import Comparison, lost_compliance, told
from nightgarden.records import Record


class Promotion(Record, frozen=True, kw_only=True):
    """What happens to the adapter, and why, in one sentence."""

    verdict: Literal["promote", "keep"]
    """`keep`: the champion, or the stock model, stays."""
    reason: str


def decide(template: str, comparisons: Sequence[Comparison]) -> Promotion:
    """Promote iff the passport agrees and, against each other side, nothing is lost and something is gained.

    Args:
        template: the passport's verdict.
        comparisons: the adapter against stock and, where there is one, against the champion.
    """
    if template != "agree":
        return Promotion(verdict="keep", reason=f"The template passport is {template}, and only one that agrees is enough.")
    gains = []
    for comparison in comparisons:
        if lost := lost_compliance(comparison.compliance, comparison.against):
            return Promotion(verdict="keep", reason=f"Compliance was lost in {lost}.")
        improved = [told(name, test) for name, test in comparison.tests.items() if test.verdict == "improved"]
        if not improved:
            name, test = min(comparison.tests.items(), key=lambda item: (item[1].p_holm, item[1].p, item[0]))
            return Promotion(
                verdict="keep", reason=f"No score improves on {comparison.against} after Holm; nearest: {told(name, test)}."
            )
        gains.append(f"improves on {comparison.against}: {'; '.join(improved)}")
    return Promotion(verdict="promote", reason=f"It {' and it '.join(gains)}; no category loses compliance beyond its interval.")
