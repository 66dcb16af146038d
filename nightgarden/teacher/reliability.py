"""Whether a batch of answers carries a judgement at all. Knows values in the order of asking, no items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from nightgarden.jsonl import encode
from nightgarden.records import Head

FEWEST = 10
"""Fewer answers are no evidence of a habit."""
LARGEST_SHARE: dict[Head, float] = {"importance": 0.6, "appraisal": 0.6, "interest": 0.6, "reaction": 0.9, "relevance": 0.9}
"""Largest share that one value may have. 0.6 on the graded scales: real raters stay below 0.3 and collapsed
ones lie above 0.7 (dolly-12B 94 %, alpaca-7B 70 %). With two or three classes an honest day can pass
0.6 (warm replies on a good day), so only near-constancy is refused there."""
LARGEST_STEP_SHARE = 0.6
"""Largest share of one and the same step from answer to answer: small models count 1, 2, 3, ... instead of judging."""


def degenerate(task: Head, values: Sequence[Any]) -> str | None:
    """Why a batch is refused as a whole, or None.

    Args:
        task: whose scale the values are on.
        values: valid answers in the order in which they were asked.
    """
    if len(values) < FEWEST:
        return None
    value, count = Counter(encode(value) for value in values).most_common(1)[0]
    if count / len(values) > LARGEST_SHARE[task]:
        return f"{count} of {len(values)} {task} answers are {value.decode()}; a judge who always says the same is not heard"
    if task in ("importance", "interest"):
        steps = Counter(after - before for before, after in zip(values, values[1:], strict=False))
        step, repeats = steps.most_common(1)[0]
        if step != 0 and repeats / (len(values) - 1) > LARGEST_STEP_SHARE:
            return f"{repeats} of {len(values) - 1} {task} answers follow the one before by {step:+d}; that counts positions"
    return None
