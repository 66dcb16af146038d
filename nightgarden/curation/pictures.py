"""The pictures of the report page as SVG, the same bytes for the same numbers.

Knows counts; not where they came from. The waterfall is the funnel's own (`report.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

from nightgarden.curation.report import COLOURS
from nightgarden.records import OPS

INK, FAINT, GRID, PALE, NOTHING = "#1d2329", "#6d7178", "#dfdcd4", "#c9c5bb", "#f7f5f1"
WIDTH = 10.4
"""Inches; the page is as wide."""
STYLE = {
    "svg.hashsalt": "nightgarden",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": PALE,
    "axes.labelcolor": FAINT,
    "xtick.color": FAINT,
    "ytick.color": INK,
}
BIN, LAST_BIN = 10, 200
"""Words of a bar of the length histograms, and from where on all answers stand in the last bar."""


def mix(kept: Sequence[int], dataset: Sequence[int], targets: Sequence[float]) -> str:
    """Per op: its share of the rows that the passes kept, of the dataset, and the share that is wanted."""
    with _style():
        figure, axes = _figure(2.5)
        totals = max(1, sum(kept)), max(1, sum(dataset))
        for op, colour in enumerate(COLOURS):
            share = dataset[op] / totals[1]
            axes.barh(op, kept[op] / totals[0], height=0.78, color=colour, alpha=0.22, linewidth=0)
            axes.barh(op, share, height=0.4, color=colour)
            axes.plot([targets[op]] * 2, [op - 0.46, op + 0.46], color=INK, linewidth=1.8)
            furthest = max(share, kept[op] / totals[0], targets[op])
            axes.text(furthest + 0.008, op, f"{dataset[op]:,} rows, {share:.1%}", va="center")
        axes.set_yticks(range(len(OPS)), [f"op {op}  {name}" for op, name in enumerate(OPS)])
        axes.invert_yaxis()
        axes.set_xlim(0, max(0.4, *(count / totals[1] + 0.1 for count in dataset)))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axes.set_xlabel("share of all rows; bar: the dataset, pale: what the passes kept, line: what is wanted")
        _bare(axes, "y")
        return _svg(figure)


def overlap(rules: Sequence[str], rows: Sequence[Sequence[int]], sole: Sequence[int]) -> str:
    """Rule by rule: rows that both hit; the darker, the larger the part of the row's rule that also hits the column's."""
    with _style():
        figure, axes = _figure(0.42 * len(rules) + 1.7)
        names = [rule.replace("_", " ") for rule in rules]
        for y, own in enumerate(rows):
            for x, both in enumerate(own):
                part = both / max(1, own[y])
                colour = GRID if x == y else NOTHING if not both else (0.70, 0.21, 0.17, min(1.0, 0.1 + part * 1.3))
                axes.fill(
                    [x - 0.47, x + 0.47, x + 0.47, x - 0.47], [y - 0.45, y - 0.45, y + 0.45, y + 0.45], color=colour, linewidth=0
                )
                if both:
                    dark = x != y and part > 0.45
                    axes.text(x, y, f"{both:,}", ha="center", va="center", color="white" if dark else INK, fontsize=9)
            axes.text(len(rules) + 0.35, y, f"{sole[y]:,}", ha="center", va="center", weight="bold")
        axes.text(len(rules) + 0.35, -0.7, "alone", ha="center", va="bottom", color=FAINT)
        axes.set_xticks(range(len(rules)), names, rotation=35, ha="left", rotation_mode="anchor")
        axes.set_yticks(range(len(rules)), names)
        axes.xaxis.tick_top()
        axes.set_xlim(-0.55, len(rules) + 0.8)
        axes.set_ylim(len(rules) - 0.45, -0.55)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        return _svg(figure)


def lengths(kept: Sequence[Mapping[int, int]], dropped: Sequence[Mapping[int, int]], limit: int | None) -> str:
    """Words per answer, one histogram an op: answers of the dataset, and on top of them those that a pass dropped.

    Args:
        kept: words -> answers, one for each op.
        dropped: likewise.
        limit: longest answer that the length rule lets pass; None where it is switched off.
    """
    with _style():
        figure, all_axes = _figure(4.6, rows=2, columns=2)
        starts = range(0, LAST_BIN + BIN, BIN)
        for op, (axes, colour) in enumerate(zip(all_axes.flat, COLOURS, strict=True)):
            left, gone = (_binned(counts[op], starts) for counts in (kept, dropped))
            axes.bar(starts, left, width=BIN * 0.9, align="edge", color=colour, label="in the dataset")
            axes.bar(starts, gone, width=BIN * 0.9, align="edge", bottom=left, color=PALE, label="dropped by a pass")
            if limit is not None and limit <= LAST_BIN:
                axes.axvline(limit, color=INK, linewidth=1, linestyle=(0, (3, 2)))
            axes.set_title(f"op {op}  {OPS[op]}", loc="left", fontsize=10)
            axes.set_xlim(0, LAST_BIN + BIN)
            ticks = range(0, LAST_BIN + 1, 50)
            axes.set_xticks(ticks, [f"{tick}" for tick in ticks[:-1]] + [f"{LAST_BIN}+"])
            axes.yaxis.get_major_locator().set_params(integer=True)
            _bare(axes, "x")
        figure.supxlabel(
            "words per answer; grey: dropped by a pass; dashed: the longest that the length rule lets pass",
            fontsize=10,
            color=FAINT,
        )
        return _svg(figure)


def _binned(counts: Mapping[int, int], starts: Sequence[int]) -> list[int]:
    bars = [0] * len(starts)
    for number, times in counts.items():
        bars[min(number // BIN, len(bars) - 1)] += times
    return bars


def _style() -> Any:
    import matplotlib

    return matplotlib.rc_context(STYLE)


def _figure(height: float, rows: int = 1, columns: int = 1) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots(rows, columns)


def _bare(axes: Any, along: str) -> None:
    """No frame but the line that the bars stand on."""
    axes.spines[["top", "right", "left" if along == "x" else "bottom"]].set_visible(False)
    axes.tick_params(length=0)


def _svg(figure: Any) -> str:
    drawing = BytesIO()
    figure.savefig(drawing, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return inline(drawing.getvalue().decode())


def inline(svg: str) -> str:
    """An SVG file as an element of a page."""
    return svg[svg.index("<svg") :]
