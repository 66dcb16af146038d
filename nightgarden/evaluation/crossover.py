"""Whether the first tokens decide, asked as a causal question: one side writes k tokens, the other goes on.

Correlation cannot tell it: a good beginning may only announce what would have come anyway. So both
beginnings are continued by both sides, under the noise of an unbroken reply. The placebo is a beginning of
the same length that no side chose. Knows replies and their quality; not how they are made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Literal

from nightgarden.evaluation.answers import SIDES, Scored, Side
from nightgarden.records import Record

Interval = tuple[float, float]
Writer = Side | Literal["placebo"]
Verdict = Literal["decide", "do not decide", "cannot tell"]
FIRST = 10
"""Positions whose share of the divergence is told (Qi et al. 2024, arXiv 2406.05946: alignment lies in the first few tokens)."""
PLACEBO = "Well, let me see. There is more than one way to look at this, so I will take it one step at a time, and"
"""A beginning that fits any prompt and answers none; its first k tokens are the placebo."""


class Crossed(Record, frozen=True, kw_only=True):
    """The quality of one reply whose beginning and rest have different writers."""

    prompt: str
    seed: int
    k: int
    """Tokens of the beginning."""
    beginning: Writer
    rest: Side
    quality: float
    """See `quality`."""


class Effect(Record, frozen=True, kw_only=True):
    """A mean difference of quality, in [-1, 1], with its interval over prompts."""

    value: float
    low: float
    high: float
    prompts: int


class Point(Record, frozen=True, kw_only=True):
    """What k tokens do: `beginning` + `rest` is the whole difference between adapted and stock."""

    k: int
    beginning: Effect
    """Adapted instead of stock writes the first k tokens, whoever goes on."""
    rest: Effect
    """Adapted instead of stock goes on, whoever began."""
    placebo: Effect
    """The generic beginning instead of stock's, whoever goes on."""


class Crossover(Record, frozen=True, kw_only=True):
    """The curve over k, and what it says."""

    total: Effect
    """Adapted minus stock, unbroken."""
    points: tuple[Point, ...]
    verdict: Verdict
    reason: str


class Divergence(Record, frozen=True, kw_only=True):
    """Kullback-Leibler divergence of adapted from stock by position of the reply, mean over replies."""

    nats: tuple[float, ...]
    """KL(adapted || stock) at each position, in nats."""
    replies: tuple[int, ...]
    """Replies that reach the position."""
    first_share: float | None
    """Share of the sum over all replies that lies in the first FIRST positions; None if there is no divergence."""


class FirstTokens(Record, frozen=True, kw_only=True):
    """What the first tokens do."""

    crossover: Crossover
    divergence: dict[Side, Divergence]
    """Along each side's own replies."""
    prompts: int


def quality(scored: Scored) -> float:
    """Share of the checks that apply to a reply and pass, in [0, 1]; 0 for a void reply."""
    judged = [score.passed for score in scored.scores if score.passed is not None]
    return fmean(judged) if judged and scored.void is None else 0.0


def panel(
    unbroken: Mapping[Side, Mapping[tuple[str, int], float]],
    crossed: Sequence[Crossed],
    interval: Callable[[Mapping[str, Sequence[float]]], Interval],
) -> Crossover:
    """The effects for every k that was tried.

    Args:
        unbroken: quality of each side's own replies, by prompt and seed.
        crossed: quality of the replies with two writers.
        interval: of a mean, from its values by prompt; seeds of one prompt are no independent draws.

    Raises:
        ValueError: a reply of the crossing is missing.
    """

    def effect(values: Mapping[tuple[str, int], float]) -> Effect:
        by_prompt: dict[str, list[float]] = {}
        for (prompt, _), value in sorted(values.items()):
            by_prompt.setdefault(prompt, []).append(value)
        low, high = interval(by_prompt)
        return Effect(value=fmean(values.values()), low=low, high=high, prompts=len(by_prompt))

    keys = sorted(unbroken["stock"].keys() & unbroken["adapted"].keys())
    total = effect({key: unbroken["adapted"][key] - unbroken["stock"][key] for key in keys})
    points = []
    for k in sorted({item.k for item in crossed}):
        cells = _cells(unbroken, [item for item in crossed if item.k == k], keys)
        points.append(
            Point(
                k=k,
                beginning=effect({key: _main(cell, "beginning") for key, cell in cells.items()}),
                rest=effect({key: _main(cell, "rest") for key, cell in cells.items()}),
                placebo=effect({key: _main(cell, "beginning", "placebo") for key, cell in cells.items()}),
            )
        )
    verdict, reason = judged(total, points)
    return Crossover(total=total, points=tuple(points), verdict=verdict, reason=reason)


Cell = dict[tuple[Writer, Side], float]
"""Quality by who began and who went on, for one prompt and seed."""


def _cells(
    unbroken: Mapping[Side, Mapping[tuple[str, int], float]], crossed: Sequence[Crossed], keys: Sequence[tuple[str, int]]
) -> dict[tuple[str, int], Cell]:
    cells: dict[tuple[str, int], Cell] = {key: {(side, side): unbroken[side][key] for side in SIDES} for key in keys}
    for item in crossed:
        cells[item.prompt, item.seed][item.beginning, item.rest] = item.quality
    for (prompt, seed), cell in cells.items():
        if len(cell) != len(SIDES) * 3:
            raise ValueError(f"prompt {prompt}, seed {seed}: only {sorted(cell)} were written")
    return cells


def _main(cell: Cell, factor: Literal["beginning", "rest"], level: Writer = "adapted") -> float:
    """Main effect of one of two crossed factors: a level of it instead of stock, averaged over the other factor."""
    if factor == "beginning":
        return fmean(cell[level, rest] - cell["stock", rest] for rest in SIDES)
    return fmean(cell[beginning, "adapted"] - cell[beginning, "stock"] for beginning in SIDES)


def judged(total: Effect, points: Sequence[Point]) -> tuple[Verdict, str]:
    """What the curve says, in a sentence.

    The first k tokens decide if their effect has the sign of the whole difference, holds beyond chance, and is at
    least half of it, while the placebo of that length does not move quality the same way by as much.
    """
    if total.low <= 0 <= total.high:
        return "cannot tell", (
            f"adapted and stock differ by {total.value:+.3f} ({total.low:+.3f} to {total.high:+.3f}), which may be nothing"
        )
    for point in points:
        at_work = point.beginning.low > 0 if total.value > 0 else point.beginning.high < 0
        if at_work and abs(point.beginning.value) >= abs(total.value) / 2:
            if abs(point.placebo.value) >= abs(point.beginning.value) and point.placebo.value * total.value > 0:
                continue
            return "decide", (
                f"with the first {point.k} tokens the other side's quality moves by {point.beginning.value:+.3f} "
                f"({point.beginning.low:+.3f} to {point.beginning.high:+.3f}), of {total.value:+.3f} in all"
            )
    last = points[-1]
    held = last.rest.low > 0 if total.value > 0 else last.rest.high < 0
    if held and abs(last.rest.value) > abs(total.value) / 2:
        return "do not decide", (
            f"behind {last.k} tokens of either side the rest still moves quality by {last.rest.value:+.3f} "
            f"({last.rest.low:+.3f} to {last.rest.high:+.3f}), of {total.value:+.3f} in all"
        )
    return "cannot tell", f"neither the first {last.k} tokens nor the rest hold alone of {total.value:+.3f}"
