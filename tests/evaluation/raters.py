"""Simulated raters through the very exam: `python -m tests.evaluation.raters` prints how often each is refused."""

import random
import sys
from collections.abc import Callable

from nightgarden.evaluation.exam import ASKED, LEVELS, PER_LEVEL, examine

DRAWS = 1000
KEY = [level for level in LEVELS for _ in range(PER_LEVEL * ASKED)]


def _clip(value: float) -> int:
    return min(5, max(1, round(value)))


def _noisy(sd: float, bias: float = 0.0, slope: float = 1.0) -> Callable[[int, random.Random], int]:
    return lambda level, chance: _clip(3 + slope * (level - 3) + bias + chance.gauss(0, sd))


BAD: dict[str, Callable[[int, random.Random], int]] = {
    "all 1": lambda level, chance: 1,
    "constant 3": lambda level, chance: 3,
    "coin 3 or 4": lambda level, chance: chance.choice((3, 4)),
    "uniform": lambda level, chance: chance.choice(LEVELS),
    "binary 1 or 5": lambda level, chance: 1 if level + chance.gauss(0, 0.5) < 3 else 5,
    "harsh by 1": _noisy(0.4, bias=-1),
    "lenient by 1": _noisy(0.4, bias=1),
    "compressed": _noisy(0.4, slope=0.25),
}
GOOD: dict[str, Callable[[int, random.Random], int]] = {"noise sd 0.5": _noisy(0.5)}
BETWEEN: dict[str, Callable[[int, random.Random], int]] = {"noise sd 0.8": _noisy(0.8), "noise sd 1.2": _noisy(1.2)}


def refused(rater: Callable[[int, random.Random], int], seed: int, draws: int = DRAWS) -> int:
    """Of so many exams, those that the rater fails."""
    chance = random.Random(seed)
    return sum(not examine(KEY, [rater(level, chance) for level in KEY]).passed for _ in range(draws))


def main() -> None:
    """Print the table."""
    for title, raters in (("bad", BAD), ("between", BETWEEN), ("good", GOOD)):
        for name, rater in raters.items():
            sys.stdout.write(f"{title:8} {name:16} refused {refused(rater, 20260907):5} of {DRAWS}\n")


if __name__ == "__main__":
    main()
