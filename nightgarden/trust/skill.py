"""How good a head is on held-out lessons, against always saying the same.

Classes (reaction, relevance): (accuracy - majority) / (1 - majority). Graded heads (importance,
appraisal, interest): 1 - MSE / Var. Majority and variance are those of the held-out rows themselves.
Where the formula has no value the skill is None and says why. Knows numbers only.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from nightgarden.records import Head, Record

Rows = npt.NDArray[np.float64]
CLASSES: tuple[Head, ...] = ("reaction", "relevance")
"""Heads that choose; the others grade. Relevance asks whether a memory belonged, yes or no."""
NO_VARIANCE = 1e-8
"""Smallest mean squared distance from the mean that a skill is measured against, in squared target units."""


class Skill(Record, frozen=True, kw_only=True):
    """One head's skill on one set of rows."""

    value: float | None
    """1 perfect, 0 no better than the baseline, negative worse; None where it is undefined."""
    n: int
    """Held-out lessons."""
    baseline: float | None
    """Classes: the majority's share. Graded: the variance. None where there is none."""
    why: str = ""
    """Why the skill is undefined; empty if it is not."""

    @property
    def trust(self) -> float | None:
        """Skill floored at 0: the share of the say that it would give."""
        return None if self.value is None else max(0.0, self.value)


def undefined(n: int, why: str, baseline: float | None = None) -> Skill:
    """A skill without a value."""
    return Skill(value=None, n=n, baseline=baseline, why=why)


def measure(head: Head, targets: Rows, predictions: Rows | None) -> Skill:
    """Skill of one head.

    Args:
        head: decides between the two formulas.
        targets: (N, T) as in `Lesson.target`.
        predictions: (N, W) in natural units: class probabilities for reaction (W = 3), the
            probability of 1 for relevance, else like the targets. None if the model lacks the head.
    """
    n = len(targets)
    if n < 2:
        return undefined(n, f"{n} held-out lesson{'s' * (n != 1)}; a skill needs at least 2")
    if predictions is None:
        return undefined(n, "the model has no such head: too few lessons to train it")
    if not np.isfinite(predictions).all():
        return undefined(n, "the head's predictions are not finite numbers")
    return _classes(targets, predictions) if head in CLASSES else _graded(targets, predictions)


def _classes(targets: Rows, predictions: Rows) -> Skill:
    n = len(targets)
    truth = targets[:, 0].astype(int)
    chosen = predictions.argmax(1) if predictions.shape[1] > 1 else (predictions[:, 0] >= 0.5).astype(int)
    majority = Counter(truth.tolist()).most_common(1)[0][1] / n
    if majority == 1:
        return undefined(n, f"all {n} held-out labels are of one class", majority)
    accuracy = float((truth == chosen).mean())
    return Skill(value=(accuracy - majority) / (1 - majority), n=n, baseline=majority)


def _graded(targets: Rows, predictions: Rows) -> Skill:
    """Appraisal's six feelings count together: each about its own mean, errors and variances summed.

    A skill per feeling would be ruled by the rare ones, whose variance on a few rows is next to none.
    """
    n = len(targets)
    variance = float(((targets - targets.mean(0)) ** 2).sum(1).mean())
    if variance < NO_VARIANCE:
        return undefined(n, f"all {n} held-out labels are the same number", variance)
    error = float(((targets - predictions) ** 2).sum(1).mean())
    return Skill(value=1 - error / variance, n=n, baseline=variance)
