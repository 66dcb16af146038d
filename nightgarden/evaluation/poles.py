"""One mode or two? The dip of jittered scores with its power, and whether prompts or seeds make the difference.

A barbell's mean describes no reply. But thirty-five scores show only a strong one: so the verdict is `one mode` only
where a second pole as large as the smaller one here would have been seen, or hardly a reply lies there.
Knows scores by prompt; not what they measure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from statistics import fmean, median
from typing import Literal

import numpy as np
import numpy.typing as npt

from nightgarden.evaluation.dip import dip
from nightgarden.evaluation.paired import wilson
from nightgarden.records import Record

Floats = npt.NDArray[np.float64]
Verdict = Literal["two poles", "two modes", "one mode", "cannot tell"]
"""`two modes`: the replies part in two, but not at the poles; hardly one lies at one of these."""
JITTERS = 20
NULL_DRAWS, POWER_DRAWS = 2000, 300
SEED = 20260907
ENOUGH = 0.8
"""Power from which on silence speaks."""
NO_POLE = 0.1
"""A pole that holds no more than this, at the upper end of its interval, is none."""
LOW, HIGH = 0.4, 0.8
"""Of the scale: scores up to LOW lie at the lower pole, from HIGH on at the upper one (of 1..5: up to 2, from 4 on)."""


class Panel(Record, frozen=True, kw_only=True):
    """What the scores of one side say about their poles."""

    prompts: int
    replies: int
    low: tuple[float, float, float]
    """Share at the lower pole with Wilson's interval, over replies."""
    middle: tuple[float, float, float]
    high: tuple[float, float, float]
    p: float | None
    """Median over JITTERS of the dip's p, one reply a prompt; None below four prompts."""
    power: float | None
    """Share of samples of this size from two poles, the smaller as large as here, in which the dip finds them."""
    icc: float | None
    """Share of the variance that lies between prompts; None with one seed, or without variance."""
    verdict: Verdict
    reason: str


def panel(scores: Mapping[str, Sequence[float]], step: float, alpha: float) -> Panel:
    """Judge scores.

    Args:
        scores: by prompt, one a seed, each in [0, 1].
        step: distance of neighbouring values of the scale.
        alpha: level of the test and of the intervals.

    Raises:
        ValueError: there is no score.
    """
    flat = [value for group in scores.values() for value in group]
    if not flat:
        raise ValueError("no score to judge")
    shares = [
        _share(flat, alpha, lambda value: value <= LOW + 1e-9),
        _share(flat, alpha, lambda value: LOW + 1e-9 < value < HIGH - 1e-9),
        _share(flat, alpha, lambda value: value >= HIGH - 1e-9),
    ]
    p = _p(scores, step) if len(scores) >= 4 else None
    smaller, _, at_most = min(shares[0], shares[2])
    power = None if p is None else power_at(len(scores), round(smaller, 2), step, alpha)
    verdict, reason = _verdict(len(scores), p, power, (smaller, at_most), alpha)
    return Panel(
        prompts=len(scores),
        replies=len(flat),
        low=shares[0],
        middle=shares[1],
        high=shares[2],
        p=p,
        power=power,
        icc=icc(scores),
        verdict=verdict,
        reason=reason,
    )


def _share(flat: Sequence[float], alpha: float, inside: Callable[[float], bool]) -> tuple[float, float, float]:
    count = sum(map(inside, flat))
    return (count / len(flat), *wilson(count, len(flat), alpha))


def _verdict(
    prompts: int, p: float | None, power: float | None, smaller: tuple[float, float], alpha: float
) -> tuple[Verdict, str]:
    if p is None or power is None:
        return "cannot tell", f"{prompts} prompts are too few for any test"
    share, at_most = smaller
    if p <= alpha and at_most <= NO_POLE:
        return "two modes", f"the jittered dip of {prompts} prompts has p {p:.3f}, but a pole holds at most {at_most:.0%}"
    if p <= alpha:
        return "two poles", f"the jittered dip of {prompts} prompts has p {p:.3f}"
    if at_most <= NO_POLE:
        return "one mode", f"the jittered dip has p {p:.2f}, and the other pole holds at most {at_most:.0%}"
    told = f"a second pole of {share:.0%} would be seen in {power:.0%} of such samples"
    return ("one mode" if power >= ENOUGH else "cannot tell"), f"the jittered dip has p {p:.2f}, and {told}"


def _p(scores: Mapping[str, Sequence[float]], step: float) -> float:
    """One reply a prompt and one jitter at a time: seeds of a prompt are no independent draws."""
    generator = np.random.default_rng(SEED)
    groups = [np.asarray(group, dtype=np.float64) for _, group in sorted(scores.items())]
    found = []
    for _ in range(JITTERS):
        picked = np.array([group[generator.integers(len(group))] for group in groups])
        found.append(_p_of(dip(_jittered(picked, step, generator)), len(groups)))
    return median(found)


def _jittered(values: Floats, step: float, generator: np.random.Generator) -> Floats:
    return values + generator.uniform(-step / 2, step / 2, len(values))


def _p_of(statistic: float, size: int) -> float:
    """Share of uniform samples of that size with a dip as large."""
    null = _null(size)
    return float((len(null) - np.searchsorted(null, statistic - 1e-12)) / len(null))


@lru_cache(maxsize=64)
def _null(size: int) -> Floats:
    """Sorted dips of uniform samples: of all laws with one mode the one with the largest dips (Hartigan 1985)."""
    generator = np.random.default_rng(SEED)
    return np.sort([dip(generator.random(size)) for _ in range(NULL_DRAWS)])


@lru_cache(maxsize=256)
def power_at(size: int, smaller: float, step: float, alpha: float) -> float:
    """Share of samples in which the jittered dip finds two poles: `smaller` at 0 or one step above, the rest at 1 or below.

    Args:
        size: prompts.
        smaller: share of the smaller pole, up to 0.5; the other pole has the rest but for a fifth in the middle.
        step: of the scale.
        alpha: level of the test.
    """
    generator = np.random.default_rng(SEED)
    larger = max(0.0, 1 - smaller - 0.2)
    near, far = np.array([0.0, step]), np.array([1.0, 1.0 - step])
    found = 0
    for _ in range(POWER_DRAWS):
        where = generator.random(size)
        low, high = generator.choice(near, size), generator.choice(far, size)
        values = np.where(where < smaller, low, np.where(where < smaller + larger, high, 0.5))
        found += _p_of(dip(_jittered(values, step, generator)), size) <= alpha
    return found / POWER_DRAWS


def icc(scores: Mapping[str, Sequence[float]]) -> float | None:
    """ICC(1) of a one-way random effects model (Shrout and Fleiss 1979), floored at 0; None where it is not defined."""
    groups = [list(group) for group in scores.values()]
    total = sum(map(len, groups))
    if len(groups) < 2 or total == len(groups):
        return None
    grand = fmean(value for group in groups for value in group)
    between = sum(len(group) * (fmean(group) - grand) ** 2 for group in groups) / (len(groups) - 1)
    within = sum((value - fmean(group)) ** 2 for group in groups for value in group) / (total - len(groups))
    size = (total - sum(len(group) ** 2 for group in groups) / total) / (len(groups) - 1)
    whole = between + (size - 1) * within
    return None if whole <= 0 else max(0.0, (between - within) / whole)
