"""Intervals over prompts: several seeds of one prompt are no independent draws, so whole prompts are drawn.

Knows numbers by prompt; not what they measure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from nightgarden.evaluation.paired import Difference, Interval, paired_difference

DRAWS = 4000
"""The ends of a 95 % interval then move by about a hundredth of its length from seed to seed."""
SEED = 20260907


def cluster_interval(values: Mapping[str, Sequence[float]], alpha: float, seed: int = SEED) -> Interval:
    """Percentile interval of the mean of all values, prompts drawn with replacement (Davison and Hinkley 1997, 2.4, 3.8).

    Args:
        values: by prompt, one a seed, each in [-1, 1].
        alpha: 1 - coverage.
        seed: of the draws.

    Returns:
        (-1, 1) for fewer than two prompts: nothing is known of how prompts differ.
    """
    if len(values) < 2:
        return -1.0, 1.0
    sums = np.array([sum(group) for _, group in sorted(values.items())])
    counts = np.array([len(group) for _, group in sorted(values.items())])
    drawn = np.random.default_rng(seed).integers(len(sums), size=(DRAWS, len(sums)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.quantile(means, (alpha / 2, 1 - alpha / 2))
    return float(low), float(high)


def clustered_difference(pairs: Mapping[str, Sequence[tuple[bool, bool]]], alpha: float) -> Difference:
    """Difference of two shares over the same replies, prompts drawn as wholes.

    The bootstrap knows that seeds of one prompt go together, but where no drawn prompt differs its interval has no
    length; Newcombe's knows how little a few replies can tell, but takes them as independent. The interval reaches as
    far as the wider one at each end.

    Args:
        pairs: by prompt, one a seed: passed before, passed after.
        alpha: 1 - coverage.
    """
    found = paired_difference([pair for group in pairs.values() for pair in group], alpha)
    if found.of == 0:
        return found
    changes = {prompt: [float(after) - float(before) for before, after in group] for prompt, group in pairs.items()}
    low, high = cluster_interval(changes, alpha)
    return replace(found, low=min(found.low, low), high=max(found.high, high))
