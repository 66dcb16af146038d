"""Statistics of two sides over the same prompts: exact, small, without a random number.

Knows counts; not what was counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb, sqrt
from statistics import NormalDist

Interval = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Share on one side minus share on the other, over the same items."""

    before: int
    after: int
    of: int
    value: float
    """(after - before) / of, in [-1, 1]; 0 with no item."""
    low: float
    high: float


def wilson(count: int, of: int, alpha: float) -> Interval:
    """Wilson's score interval of a share (Wilson 1927); (0, 1) with nothing counted."""
    if of == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(1 - alpha / 2)
    share = count / of
    centre = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z * sqrt(share * (1 - share) / of + z * z / (4 * of * of)) / (1 + z * z / of)
    return (0.0 if count == 0 else centre - half), (1.0 if count == of else centre + half)


def mcnemar(won: int, lost: int) -> float:
    """Two-sided exact p of McNemar's test: the discordant pairs against a fair coin; 1 with none."""
    flips = won + lost
    tail = sum(comb(flips, k) for k in range(min(won, lost) + 1))
    return min(1.0, tail / 2.0 ** (flips - 1))


def holm(p: Mapping[str, float]) -> dict[str, float]:
    """Holm's step-down adjustment (Holm 1979): the family-wise error over all names stays at alpha."""
    adjusted: dict[str, float] = {}
    highest = 0.0
    for rank, name in enumerate(sorted(p, key=lambda name: (p[name], name))):
        highest = max(highest, min(1.0, (len(p) - rank) * p[name]))
        adjusted[name] = highest
    return {name: adjusted[name] for name in p}


def flips_needed(tests: int, alpha: float) -> int:
    """Prompts that must change all one way before the smallest of `tests` p values passes Holm."""
    flips = 1
    while tests * mcnemar(flips, 0) > alpha:
        flips += 1
    return flips


def detectable(of: int, tests: int, alpha: float, power: float = 0.8) -> float | None:
    """Smallest true share of prompts changed one way, none the other, that the smallest of `tests` p values would show.

    Exact for the first step of Holm's: at least `flips_needed` of `of` prompts change with probability `power`.

    Returns:
        None where even a change of every prompt would not do.
    """
    needed = flips_needed(tests, alpha)
    if of < needed:
        return None
    low, high = 0.0, 1.0
    while high - low > 1e-4:
        share = (low + high) / 2
        missed = sum(comb(of, k) * share**k * (1 - share) ** (of - k) for k in range(needed))
        low, high = (share, high) if 1 - missed < power else (low, share)
    return high


def paired_difference(pairs: Sequence[tuple[bool, bool]], alpha: float) -> Difference:
    """Difference of two shares over the same items, with Newcombe's interval for pairs (1998, method 10).

    The items count as independent; for several seeds of one prompt see `bootstrap.clustered_difference`.
    """
    of = len(pairs)
    before, after = sum(first for first, _ in pairs), sum(second for _, second in pairs)
    if of == 0:
        return Difference(before=0, after=0, of=0, value=0.0, low=-1.0, high=1.0)
    value = (after - before) / of
    (low_1, high_1), (low_2, high_2) = wilson(before, of, alpha), wilson(after, of, alpha)
    share_1, share_2 = before / of, after / of
    phi = _phi(pairs)
    down = sqrt(
        (share_2 - low_2) ** 2 - 2 * phi * (share_2 - low_2) * (high_1 - share_1) + (high_1 - share_1) ** 2,
    )
    up = sqrt(
        (high_2 - share_2) ** 2 - 2 * phi * (high_2 - share_2) * (share_1 - low_1) + (share_1 - low_1) ** 2,
    )
    return Difference(before=before, after=after, of=of, value=value, low=max(-1.0, value - down), high=min(1.0, value + up))


def _phi(pairs: Sequence[tuple[bool, bool]]) -> float:
    """Correlation of the two sides, Newcombe's continuity-corrected form; 0 where a margin is empty."""
    both = sum(first and second for first, second in pairs)
    neither = sum(not first and not second for first, second in pairs)
    lost = sum(first and not second for first, second in pairs)
    won = sum(second and not first for first, second in pairs)
    margins = (both + lost) * (won + neither) * (both + won) * (lost + neither)
    if margins == 0:
        return 0.0
    cross = float(both * neither - lost * won)
    if cross > 0:
        cross = max(cross - len(pairs) / 2, 0)
    return cross / sqrt(margins)
