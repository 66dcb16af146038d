"""How the pages of curation look: one self-contained HTML file each, no network, no script from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

CSS = """
:root { color-scheme: light dark; --ink: #1d2329; --paper: #fbfaf7; --line: #d9d5cc; --pale: #f1eee7;
  --bad: #b3362b; --good: #22703a; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e4db; --paper: #16191d; --line: #3a3f46; --pale: #20252b;
    --bad: #f08a7e; --good: #7fc796; } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 70rem; margin: 0 auto; padding: 2rem 1.2rem 5rem; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; } h2 { margin: 2.4rem 0 .6rem; font-size: 1.2rem; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; } td, th { text-align: left; vertical-align: top;
  padding: .35rem .7rem .35rem 0; border-bottom: 1px solid var(--line); }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
mark { background: none; color: var(--bad); font-weight: 600; } code { font-size: .88em; overflow-wrap: anywhere; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font: inherit; font-size: .92rem; margin: .5rem 0 1rem; }
del { color: var(--bad); } ins { color: var(--good); text-decoration: none; border-bottom: 2px solid; }
.row { border-bottom: 1px solid var(--line); padding: .5rem 0; margin: 0; }
.row p { margin: .35rem 0; } .row summary > del { text-decoration: none; }
.tiles { display: flex; flex-wrap: wrap; gap: .8rem; margin: 1.4rem 0; padding: 0; list-style: none; }
.tiles li { flex: 1 1 8rem; background: var(--pale); border-radius: .5rem; padding: .7rem .9rem; font-size: .85rem; }
.tiles b { display: block; font-size: 1.5rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
figure { margin: .8rem 0; background: #fff; color: #1d2329; border: 1px solid var(--line); border-radius: .5rem; padding: 1rem; }
figure svg { display: block; margin: 0 auto; }
nav { font-size: .92rem; line-height: 2; } nav a { margin-right: .9rem; white-space: nowrap; }
.spans { margin-top: .6rem; } .spans th { padding-top: .9rem; } .spans td:last-child { white-space: nowrap; text-align: right; }
.dot { display: inline-block; width: .6rem; height: .6rem; border-radius: 50%; }
a { color: inherit; } h3 { margin: 2.2rem 0 .3rem; border-top: 1px solid var(--line); padding-top: 1.2rem; }
.refused { border-left: .4rem solid var(--bad); padding-left: 1rem; } .small { font-size: .85rem; opacity: .75; }
details { margin: .4rem 0; } summary { cursor: pointer; } img, svg { max-width: 100%; height: auto; }
"""


def page(title: str, parts: Iterable[str]) -> str:
    """A whole page."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{CSS}</style></head>\n<body><main>\n{''.join(parts)}</main></body></html>\n"
    )


def section(title: str, body: str) -> str:
    """A heading and what stands under it."""
    return f"<section><h2>{escape(title)}</h2>\n{body}</section>\n"


def figure(svg: str) -> str:
    """A picture on white paper: its ink is dark."""
    return f"<figure>{svg}</figure>\n"


def tiles(told: Iterable[tuple[str, str]]) -> str:
    """Large numbers in a line, each with what it counts."""
    return f'<ul class="tiles">{"".join(f"<li><b>{escape(big)}</b>{escape(small)}</li>" for big, small in told)}</ul>\n'


def table(head: Sequence[str], rows: Iterable[Sequence[str | int]]) -> str:
    """A table of escaped cells; numbers stand to the right. `Markup` is left as it is."""
    cells = [list(row) for row in rows]
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>\n" for row in cells)
    first = cells[0] if cells else [""] * len(head)
    names = "".join(f"<th{_right(value)}>{escape(name)}</th>" for name, value in zip(head, first, strict=True))
    return f"<table><thead><tr>{names}</tr></thead>\n<tbody>{body}</tbody></table>\n"


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def _cell(value: str | int) -> str:
    text = f"{value:,}" if isinstance(value, int) else value if isinstance(value, Markup) else escape(value)
    return f"<td{_right(value)}>{text}</td>"


def _right(value: str | int) -> str:
    return ' class="n"' if isinstance(value, int) else ""
