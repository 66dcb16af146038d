"""The exam that a rater must pass before its scores count: fifteen anchored answers, each asked twice, among the real ones.

An uncalibrated rater once gave 1 to all of 235 interactions. So anchors of known level stand blind among what is
rated, and a rater that does not find the levels again is refused with its reasons. Knows numbers only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean

from nightgarden.records import Record

LEVELS = (1, 2, 3, 4, 5)
PER_LEVEL = 3
ASKED = 2
"""Times that each anchor is asked: of 1,000 raters who press all levels towards 3 once lets 15 pass, twice 1 (simulated)."""
MIN_DISTINCT, MAX_MEAN_ERROR, MIN_KAPPA, MIN_WITHIN_ONE = 3, 0.5, 0.7, 0.87
"""The gate that facts/evaluation.md, section 5, simulated: one set of limits, not tuned."""
MAX_SAME, MIN_NORMAL, NORMAL = 0.8, 0.4, (3, 4)
"""On real answers: above this share of one score, or below that share in the normal range, the reader is warned."""


class Exam(Record, frozen=True, kw_only=True):
    """What a rater made of the anchors."""

    passed: bool
    reasons: tuple[str, ...]
    """Every limit that was missed, or what was reached."""
    key: tuple[int, ...]
    """Level of each anchor as it was asked, 1..5."""
    scores: tuple[int | None, ...]
    """What the rater gave it; None where its answer could not be read."""
    kappa: float | None
    mean_error: float | None
    within_one: float | None
    """Shares are of all anchors: an unread answer is as wrong as can be."""


def examine(key: Sequence[int], scores: Sequence[int | None]) -> Exam:
    """Whether a rater may rate.

    Args:
        key: levels of the anchors, each as often as it was asked: PER_LEVEL * ASKED of each level.
        scores: the rater's, in the same order.

    Raises:
        ValueError: the anchors are not as many of each level, or there are not as many scores.
    """
    if Counter(key) != dict.fromkeys(LEVELS, PER_LEVEL * ASKED) or len(key) != len(scores):
        raise ValueError(
            f"anchors of levels {sorted(key)} with {len(scores)} scores; {PER_LEVEL * ASKED} of each level are needed"
        )
    pairs = [(level, score) for level, score in zip(key, scores, strict=True) if score is not None]
    if not pairs:
        return _exam(key, scores, ("none of the answers could be read as a score",), None, None, None)
    error = fmean(score - level for level, score in pairs)
    kappa = weighted_kappa([level for level, _ in pairs], [score for _, score in pairs])
    within = sum(abs(score - level) <= 1 for level, score in pairs) / len(key)
    distinct = len({score for _, score in pairs})
    faults = []
    if distinct < MIN_DISTINCT:
        faults.append(f"{distinct} different scores on answers of five levels; at least {MIN_DISTINCT} are needed")
    if abs(error) > MAX_MEAN_ERROR:
        faults.append(
            f"it is {'lenient' if error > 0 else 'harsh'} by {abs(error):.2f} on average; up to {MAX_MEAN_ERROR} is fine"
        )
    if kappa < MIN_KAPPA:
        faults.append(f"weighted kappa {kappa:.2f} with the key; at least {MIN_KAPPA} is needed")
    if within < MIN_WITHIN_ONE:
        faults.append(f"{within:.0%} of the anchors within one of their level; at least {MIN_WITHIN_ONE:.0%} are needed")
    return _exam(key, scores, tuple(faults), kappa, error, within)


def _exam(
    key: Sequence[int],
    scores: Sequence[int | None],
    faults: tuple[str, ...],
    kappa: float | None,
    error: float | None,
    within: float | None,
) -> Exam:
    reached = f"weighted kappa {kappa}, mean error {error}, within one {within}"
    return Exam(
        passed=not faults,
        reasons=faults or (reached,),
        key=tuple(key),
        scores=tuple(scores),
        kappa=kappa,
        mean_error=error,
        within_one=within,
    )


def weighted_kappa(one: Sequence[int], other: Sequence[int]) -> float:
    """Cohen's kappa with quadratic weights over LEVELS (Cohen 1968); 0 where neither varies."""
    observed = fmean((a - b) ** 2 for a, b in zip(one, other, strict=True))
    expected = fmean((a - b) ** 2 for a in one for b in other)
    return 1 - observed / expected if expected else 0.0


def warnings(scores: Sequence[int | None]) -> list[str]:
    """What is odd about the scores of real answers."""
    read = [score for score in scores if score is not None]
    found = []
    if missing := len(scores) - len(read):
        found.append(f"{missing} of {len(scores)} answers could not be read as a score; they are missing, not counted")
    if not read:
        return found
    score, times = Counter(read).most_common(1)[0]
    if times / len(read) > MAX_SAME:
        found.append(f"{times} of {len(read)} replies got a {score}: the rater hardly tells them apart")
    if (normal := sum(score in NORMAL for score in read) / len(read)) < MIN_NORMAL:
        found.append(f"{normal:.0%} of the scores are {NORMAL[0]} or {NORMAL[1]}, the normal range")
    return found
