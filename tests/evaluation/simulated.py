"""Known truths through the panel of poles: `python -m tests.evaluation.simulated` prints how often it says what."""

import sys
from collections import Counter
from collections.abc import Callable

import numpy as np

from nightgarden.evaluation.poles import panel

DRAWS = 400
Draw = Callable[[np.random.Generator, int], np.ndarray]


def _likert(*shares: float) -> Draw:
    return lambda random, size: random.choice(np.array([1, 2, 3, 4, 5]), size, p=shares) / 5


NULLS: dict[str, tuple[Draw, float]] = {
    "Likert, one mode": (_likert(0.05, 0.2, 0.5, 0.2, 0.05), 0.2),
    "Likert, J-shape": (_likert(0.03, 0.05, 0.07, 0.25, 0.6), 0.2),
    "mean of 6 checks": (lambda random, size: random.binomial(6, 0.7, size) / 6, 1 / 6),
    "exponential": (lambda random, size: np.minimum(random.exponential(0.2, size), 1.0), 0.0),
}
TRUTHS: dict[str, tuple[Draw, float]] = {
    "barbell 35 / 45 %": (_likert(0.35, 0.06, 0.08, 0.06, 0.45), 0.2),
    "the same, spread": (_likert(0.25, 0.1, 0.2, 0.1, 0.35), 0.2),
    "15 % tail": (_likert(0.12, 0.03, 0.1, 0.3, 0.45), 0.2),
}


def verdicts(truth: tuple[Draw, float], size: int, draws: int, seed: int) -> Counter[str]:
    """How often the panel says what, over samples of so many prompts with one seed."""
    draw, step = truth
    random = np.random.default_rng(seed)
    samples = (draw(random, size) for _ in range(draws))
    return Counter(panel({f"p{n}": [float(v)] for n, v in enumerate(values)}, step, 0.05).verdict for values in samples)


def main() -> None:
    """Print the table."""
    for size in (35, 105):
        for title, truths in (("one mode", NULLS), ("two poles", TRUTHS)):
            for name, truth in truths.items():
                told = verdicts(truth, size, DRAWS, 20260907)
                sys.stdout.write(f"{size:4} prompts  {title:9}  {name:18} {dict(told)}\n")


if __name__ == "__main__":
    main()
