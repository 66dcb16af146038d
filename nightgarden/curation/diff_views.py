"""The answer of `nightgarden diff` as text for a terminal, as a page, and as markdown for a pull request.

Shows some of the rows where there are many and says how many it leaves out; `--json` has all of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from html import escape

from nightgarden.curation.diff import KINDS, Change, Diff, Kind
from nightgarden.curation.page import page, section, table
from nightgarden.curation.texts import marked_changes, shortened, spans, whole
from nightgarden.records import OPS, Example

IN_TEXT, IN_MARKDOWN, IN_PAGE = 10, 20, 500
"""Rows of each kind that a view shows."""
OPENING = 90
"""Characters of its first question that name a row."""
NOT_SOUGHT = "Too many rows changed to look which are alike: edited rows were known by their repairs or first question alone."
_ONE_ROWS = re.compile(r"\b[0-9a-f]{20}\b|\b0\.\d+\b")
"""What a reason says of one row alone: an id, a similarity."""
_HEAD = re.compile(r"(?:its parent …: )?[^:;]*")

SIGNS: dict[Kind, str] = {"removed": "-", "added": "+", "edited": "~", "moved": ">"}


def _opening(row: Example) -> str:
    asked = next((turn.content for turn in row.turns if turn.role == "user"), row.turns[0].content if row.turns else "")
    text = " ".join(asked.split())
    return text if len(text) <= OPENING else text[: OPENING - 1] + "…"


def reasons(found: Diff, kind: Kind) -> list[tuple[str, int]]:
    """How often each kind of reason stands, the most frequent first."""
    heads = (_HEAD.match(_ONE_ROWS.sub("…", change.reason)) for change in found.of(kind))
    return Counter(head[0].strip() for head in heads if head).most_common()


def _counts(found: Diff) -> Iterator[tuple[str, list[int]]]:
    """Per op, then for all: rows before and after, then changes by kind."""
    for op, name in enumerate(OPS):
        yield f"{op} {name}", [found.before[op], found.after[op], *(len(found.of(kind, op)) for kind in KINDS)]
    yield "all", [sum(found.before), sum(found.after), *(len(found.of(kind)) for kind in KINDS)]


def _sides(change: Change) -> str:
    old, new = change.sides
    return f"{old} to {new}" if old and new and old != new else new or old


def _rest(found: Diff, kind: Kind, shown: int) -> str:
    return f"… and {len(found.of(kind)) - shown:,} more" if len(found.of(kind)) > shown else ""


def _notes(found: Diff) -> list[str]:
    notes = [] if found.sought else [NOT_SOUGHT]
    if found.other_meta:
        some = ", ".join(found.other_meta[:3]) + (" …" if len(found.other_meta) > 3 else "")
        notes.append(f"{len(found.other_meta):,} rows differ in nothing but their meta: {some}")
    return notes


def as_text(found: Diff) -> str:
    """For a terminal."""
    lines = [f"{found.old} -> {found.new}", ""]
    lines.append(f"{'op':24}" + "".join(f"{name:>9}" for name in ("before", "after", *KINDS)))
    lines += [f"{name:24}" + "".join(f"{count:9,}" for count in counts) for name, counts in _counts(found)]
    lines += ["", *_notes(found)] if _notes(found) else []
    for kind in KINDS:
        if changes := found.of(kind):
            lines += ["", f"{kind}: " + ", ".join(f"{count:,} {reason}" for reason, count in reasons(found, kind))]
            lines += [line for change in changes[:IN_TEXT] for line in _in_text(change)]
            lines += [f"  {rest} (--html and --json show them)"] if (rest := _rest(found, kind, IN_TEXT)) else []
    return "\n".join(lines)


def _in_text(change: Change) -> Iterator[str]:
    yield f"{SIGNS[change.kind]} op {change.row.op} {change.row.id} ({_sides(change)})  {change.reason}"
    if change.kind == "edited" and change.old is not None and change.new is not None:
        marks = {" ": "{}", "-": "[-{}-]", "+": "{{+{}+}}"}
        text = "".join(marks[span.sign].format(span.text) for span in shortened(spans(whole(change.old), whole(change.new))))
        yield f"    was {change.old.id}"
        yield "    " + text.replace("\n", "\n    ")
    else:
        yield f"    {_opening(change.row)}"


def as_markdown(found: Diff) -> str:
    """For a pull request: a table, the reasons, and some rows of each kind to unfold."""
    lines = [f"### Dataset: {found.old} → {found.new}", "", "| op | before | after | " + " | ".join(KINDS) + " |"]
    lines.append("|---|" + "---:|" * (2 + len(KINDS)))
    lines += [f"| {name} | " + " | ".join(f"{count:,}" for count in counts) + " |" for name, counts in _counts(found)]
    lines += ["", *(f"{note}  " for note in _notes(found))]
    for kind in KINDS:
        if changes := found.of(kind):
            why = ", ".join(f"{count:,} {_cell(reason)}" for reason, count in reasons(found, kind))
            lines += ["", f"<details><summary><b>{len(changes):,} {kind}</b>: {why}</summary>", "", "| op | id | why | row |"]
            lines += ["|---|---|---|---|", *map(_in_markdown, changes[:IN_MARKDOWN])]
            lines += ["", f"{_rest(found, kind, IN_MARKDOWN)}", "</details>"]
    return "\n".join(lines) + "\n"


def _in_markdown(change: Change) -> str:
    if change.kind == "edited" and change.old is not None and change.new is not None:
        text = _flat(marked_changes(whole(change.old), whole(change.new), short=True))
    else:
        text = _cell(_opening(change.row))
    return f"| {change.row.op} | `{change.row.id}` | {_cell(change.reason)} | {text} |"


def _cell(text: str) -> str:
    return _flat(escape(text, quote=False))


def _flat(text: str) -> str:
    """Text that neither ends a cell of a table nor is markdown."""
    return re.sub(r"([\\`*_\[\]~|])", r"\\\1", text).replace("\n", "<br>")


def as_page(found: Diff) -> str:
    """For a browser."""
    head = ["op", "before", "after", *KINDS]
    parts = [
        f"<h1>{escape(found.old)} → {escape(found.new)}</h1>\n",
        table(head, ([name, *counts] for name, counts in _counts(found))),
    ]
    parts += [f"<p>{escape(note)}</p>\n" for note in _notes(found)]
    for kind in KINDS:
        changes = found.of(kind)
        if not changes:
            continue
        body = table(["why", "rows"], reasons(found, kind))
        body += "".join(map(_on_page, changes[:IN_PAGE]))
        body += f"<p>{escape(_rest(found, kind, IN_PAGE))}</p>\n" if len(changes) > IN_PAGE else ""
        parts.append(section(f"{len(changes):,} {kind}", body))
    return page(f"{found.old} to {found.new}", parts)


def _on_page(change: Change) -> str:
    if change.old is not None and change.new is not None:
        text = marked_changes(whole(change.old), whole(change.new))
        was = f" was <code>{change.old.id}</code>," if change.old.id != change.new.id else ""
    else:
        text, was = escape(whole(change.row)), ""
    summary = f"<code>{change.row.id}</code>{was} op {change.row.op}, {_sides(change)}: {escape(change.reason)}"
    sign = {"removed": "del", "added": "ins"}.get(change.kind, "span")
    opening = f"<{sign}>{escape(_opening(change.row))}</{sign}>"
    return (
        f'<details class="row"><summary>{opening}<br><span class="small">{summary}</span></summary><pre>{text}</pre></details>\n'
    )
