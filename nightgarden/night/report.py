"""The morning page: one self-contained HTML file that says what the night changed and why.

Knows records and who judged; computes nothing that is not already in a record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from nightgarden.params import TrustSettings
from nightgarden.records import HEADS, Head
from nightgarden.trust import ledger
from nightgarden.trust.blend import consulted
from nightgarden.trust.record import HeadRecord, NightRecord

COLOURS: dict[Head, str] = {  # Okabe and Ito: told apart by colour-blind readers too
    "importance": "#0072b2",
    "appraisal": "#d55e00",
    "reaction": "#009e73",
    "relevance": "#cc79a7",
    "interest": "#b8860b",
}
WIDTH, HEIGHT = 720, 320
LEFT, RIGHT, TOP, BOTTOM = 56, 130, 16, 44
"""Margins of the picture in pixels; the names of the heads stand in the right one."""
MOST_DATES = 8
"""Dates below the picture; more would run into each other."""
STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;margin:1rem 0}td,th{padding:.25rem .8rem;border-bottom:1px solid #ddd;text-align:right}
td:first-child,th:first-child,td.why{text-align:left}.why{color:#666;font-size:.9em}
.end{display:inline-block;padding:.1rem .7rem;border-radius:1rem;color:#fff;background:#777}
.Promoted{background:#00805e}.RolledBack{background:#b3410e}svg{max-width:100%;height:auto}"""


def page(history: Sequence[NightRecord], judges: Mapping[str, int], settings: TrustSettings) -> str:
    """The page of the last night in `history`.

    Args:
        history: records, first night first.
        judges: who labelled -> how many labels tonight.
        settings: from which trust a head is consulted.
    """
    now = history[-1]
    asked = [head for head in HEADS if consulted(now.heads[head].trust, settings.consult_from)]
    heard = f"Consulted from now on: {', '.join(asked)}." if asked else "No head is consulted yet."
    model = f"The model of night {now.serving} serves." if now.serving else "No model serves yet."
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Night {escape(now.night)}</title><style>{STYLE}</style></head><body>
<h1>Night {escape(now.night)} <span class="end {now.end}">{now.end}</span></h1>
<p>{escape(now.reason[:1].upper() + now.reason[1:])}.</p>
<p>{model} {heard}</p>
<p><b>Whose labels:</b> {escape(whose(judges))}. Skill and trust measure agreement with these labels on held-out lessons,
and nothing else.</p>
<h2>Trust per head</h2>
{picture(history, settings.consult_from)}
{_heads(now)}
<h2>Tonight's labels</h2>
{_account(now)}
</body></html>
"""


def whose(judges: Mapping[str, int]) -> str:
    """Who labelled, in words: `640 hand-written labels, 84 from the person's own ratings`."""
    known = {"hand-written": "hand-written labels", "user": "from the person's own ratings"}
    told = [f"{count} {known.get(name, f'labels by the teacher {name}')}" for name, count in sorted(judges.items())]
    return ", ".join(told) or "no label tonight"


def picture(history: Sequence[NightRecord], consult_from: float) -> str:
    """Trust of every head over the nights as SVG; a night without a number leaves a gap."""
    last = max(len(history) - 1, 1)

    def x(index: int) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (index / last if len(history) > 1 else 0.5)

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - value)

    parts = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="#e5e5e5"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>')
    at = y(consult_from)
    parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="#999" stroke-dasharray="5 4"/>')
    parts.append(f'<text x="{WIDTH - RIGHT + 16}" y="{at + 4:.1f}" fill="#777">consulted from {consult_from:g}</text>')
    for index in range(0, len(history), -(-len(history) // MOST_DATES)):
        parts.append(
            f'<text x="{x(index):.1f}" y="{HEIGHT - 22}" text-anchor="middle">{index + 1}</text>'
            f'<text x="{x(index):.1f}" y="{HEIGHT - 6}" text-anchor="middle" fill="#777">{escape(history[index].night)}</text>'
        )
    for number, head in enumerate(HEADS):
        trusts = enumerate(ledger.trajectory(history, head))
        parts += _line([(x(index), None if trust is None else y(trust)) for index, trust in trusts], COLOURS[head])
        row = TOP + 14 + 20 * number
        parts.append(f'<rect x="{WIDTH - RIGHT + 16}" y="{row - 10}" width="12" height="12" fill="{COLOURS[head]}"/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 34}" y="{row}">{head}</text>')
    body = "\n".join(parts)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img" aria-label="Trust per head over nights" '
        f'font-size="12" font-family="system-ui,sans-serif">\n{body}\n</svg>'
    )


def _line(points: Sequence[tuple[float, float | None]], colour: str) -> list[str]:
    """A dot per known point, and a stroke between neighbours that are both known."""
    dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>' for x, y in points if y is not None]
    strokes = [
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="2"/>'
        for (x1, y1), (x2, y2) in zip(points, points[1:], strict=False)
        if y1 is not None and y2 is not None
    ]
    return strokes + dots


def _heads(now: NightRecord) -> str:
    def row(head: Head, one: HeadRecord) -> str:
        numbers = (_number(one.trust), _number(one.skill), _number(one.before), str(one.n), _number(one.baseline))
        cells = "".join(f"<td>{number}</td>" for number in numbers)
        return f'<tr><td>{head}</td>{cells}<td class="why">{escape(one.why)}</td></tr>'

    rows = "\n".join(row(head, now.heads[head]) for head in HEADS)
    return (
        "<table><tr><th>head</th><th>trust</th><th>skill of tonight's model</th><th>skill of the model before</th>"
        "<th>held-out lessons</th><th>baseline</th><th></th></tr>\n"
        f"{rows}</table>\n"
        '<p class="why">Skill: 1 perfect, 0 no better than always saying the same. Both models are measured on the same '
        "held-out lessons; below about thirty of them a skill may be luck. Baseline: the majority's share (reaction, "
        "relevance) or the variance (the others).</p>"
    )


def _account(now: NightRecord) -> str:
    columns = ("asked", "answered", "missing", "refused", "user", "left", "kept", "reason")
    header = "".join(f"<th>{name}</th>" for name in ("head", *columns))
    rows = "\n".join(
        f"<tr><td>{head}</td>" + "".join(f"<td>{escape(str(account.get(name, '')))}</td>" for name in columns) + "</tr>"
        for head, account in sorted(now.labels.items(), key=lambda item: HEADS.index(item[0]))
    )
    return f"<table><tr>{header}</tr>\n{rows}</table>"


def _number(value: float | None) -> str:
    return "&ndash;" if value is None else f"{value:.3f}"
