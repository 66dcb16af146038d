"""The pictures of an evaluation as SVG, the same bytes for the same numbers.

Knows rates and shares; not where they came from.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from nightgarden.evaluation.answers import POLES, Pole, Side
from nightgarden.evaluation.barbell import Barbell, Share
from nightgarden.evaluation.crossover import FirstTokens
from nightgarden.evaluation.scorers import SCORERS, SIX
from nightgarden.evaluation.verdicts import Rate, readable

INK, FAINT, GRID = "#22252b", "#6b7280", "#e4e6ea"
SIDE_COLOURS: dict[Side, str] = {"stock": "#8b93a1", "adapted": "#2f7d5b", "sibling": "#5b6fb0"}
POLE_COLOURS: dict[Pole, str] = {"failing": "#c9654b", "middle": "#e3d5ae", "excellent": "#4e9470"}
EFFECT_COLOURS = {"beginning": "#2f7d5b", "rest": "#8b93a1", "placebo": "#c9654b"}
STYLE = {
    "svg.hashsalt": "nightgarden",
    "svg.fonttype": "path",  # the same picture on any machine, whatever fonts it has
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": GRID,
    "axes.labelcolor": FAINT,
    "xtick.color": FAINT,
    "ytick.color": INK,
}
WIDTH = 8.6
"""Inches; the page is as wide."""


def scores(rates: Mapping[Side, Mapping[str, Rate]], alpha: float) -> str:
    """The six scores, the sides one below the other with their intervals of coverage 1 - alpha, as SVG."""
    names = [name for name in SIX if SCORERS[name].good == "low"] + [name for name in SIX if SCORERS[name].good == "high"]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 4.3), layout="constrained")
        axes = figure.subplots()
        for row, name in enumerate(names):
            for place, side in enumerate(rates):
                offset = 0.34 * (place - (len(rates) - 1) / 2) * 2 / max(2, len(rates))
                _whisker(axes, rates[side][name], row + offset, SIDE_COLOURS[side])
        parting = sum(SCORERS[name].good == "low" for name in names) - 0.5
        axes.axhline(parting, color=GRID, linewidth=1.2)
        axes.set_yticks(range(len(names)), [SCORERS[name].title for name in names])
        axes.set_ylim(len(names) - 0.4, -0.6)
        _percent_axis(axes)
        axes.text(1.135, -0.62, "replies", color=FAINT, fontsize=8.5, ha="center", va="bottom")
        axes.set_xlabel(
            "share of replies: above the line further left is better, below it further right; "
            f"bars are {100 * (1 - alpha):g} % intervals"
        )
        handles = [axes.plot([], [], "o", color=SIDE_COLOURS[side], label=side)[0] for side in rates]
        axes.legend(
            handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, borderpad=0, handletextpad=0
        )
        return _svg(figure)


def _whisker(axes: Any, rate: Rate, height: float, colour: str) -> None:
    """A dot with its interval, and its count at the right; only the count where nothing was judged."""
    axes.text(1.135, height, f"{rate.count} of {rate.of}", color=colour, fontsize=8.5, ha="center", va="center")
    if rate.value is not None:
        axes.plot(
            [rate.low, rate.high],
            [height, height],
            color=colour,
            linewidth=2.4,
            alpha=0.45,
            solid_capstyle="round",
            clip_on=False,
        )
        axes.plot([rate.value], [height], "o", color=colour, markersize=7, clip_on=False)


def poles(barbell: Barbell) -> str:
    """Shares of failing, middle and excellent replies per category and side, as SVG."""
    rows = [(category, side) for category, sides in barbell.items() for side in sides]
    each = len(rows) // len(barbell)
    heights = [index + 0.55 * (index // each) for index in range(len(rows))]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 1.1 + 0.41 * len(rows)), layout="constrained")
        axes = figure.subplots()
        for height, (category, side) in zip(heights, rows, strict=True):
            _stacked(axes, barbell[category][side], height)
        axes.set_yticks(
            heights,
            [f"{readable(category)}   {side}" if side == next(iter(barbell[category])) else side for category, side in rows],
        )
        axes.set_ylim(heights[-1] + 0.6, -0.6)
        _percent_axis(axes)
        axes.set_xlabel("share of replies; whiskers are intervals of the two poles")
        handles = [axes.barh([0], [0], color=POLE_COLOURS[name], label=name) for name in POLES]
        axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, borderpad=0)
        return _svg(figure)


def _stacked(axes: Any, shares: Mapping[Pole, Share], height: float) -> None:
    """One bar of three parts with counts, and a whisker for the inner end of each pole."""
    left = 0.0
    for name in POLES:
        share = shares[name]
        width = share.count / share.of if share.of else 0.0
        axes.barh([height], [width], left=[left], height=0.78, color=POLE_COLOURS[name])
        if share.count:
            axes.text(left + width / 2, height, str(share.count), ha="center", va="center", fontsize=9)
        left += width
    failing, excellent = shares["failing"], shares["excellent"]
    if failing.of:
        axes.plot([failing.low, failing.high], [height + 0.3] * 2, color="#7c2d1a", linewidth=1.1)
        axes.plot([1 - excellent.high, 1 - excellent.low], [height - 0.3] * 2, color="#1d5238", linewidth=1.1)


def first_tokens(panel: FirstTokens) -> str:
    """Left: what k tokens of the beginning do, beside the whole difference. Right: where the two sides part. As SVG."""
    points = panel.crossover.points
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 3.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        for name, colour in EFFECT_COLOURS.items():
            effects = [getattr(point, name) for point in points]
            ks = [point.k for point in points]
            left.fill_between(ks, [e.low for e in effects], [e.high for e in effects], color=colour, alpha=0.16, linewidth=0)
            left.plot(ks, [e.value for e in effects], "o-", color=colour, label=name, markersize=5)
        left.axhline(panel.crossover.total.value, color=INK, linewidth=1, linestyle="--", label="the whole difference")
        left.axhline(0, color=GRID, linewidth=1.2)
        left.set_xlabel("tokens of the beginning (k)")
        left.set_ylabel("effect on quality")
        left.legend(frameon=False, fontsize=8.5)
        for side, curve in panel.divergence.items():
            places = range(1, len(curve.nats) + 1)
            right.plot(places, curve.nats, color=SIDE_COLOURS[side], linewidth=1.4, label=f"along {side}'s replies")
        right.set_xlabel("position in the reply")
        right.set_ylabel("KL(adapted || stock), nats")
        right.set_xscale("log")
        right.legend(frameon=False, fontsize=8.5)
        for axes in (left, right):
            axes.tick_params(length=0)
        return _svg(figure)


def _percent_axis(axes: Any) -> None:
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, pad=8)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _svg(figure: Figure) -> str:
    """The figure's SVG without a date."""
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return file.getvalue()
