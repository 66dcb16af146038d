"""The page that a refusal leaves: why, what to do, and examples.

It lies outside DVC's outputs, or DVC would take it away with what the stage did not publish.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from nightgarden.curation.page import page, section, table
from nightgarden.jsonl import write_text

FOLDER = Path("reports/refused")


class Shown(NamedTuple):
    """One hit as the page shows it."""

    id: str
    turn: int
    reason: str
    snippet: str


def write(
    stage: str, reasons: Sequence[str], ways: Sequence[str], counts: Mapping[str, int], spans: Sequence[Shown], root: Path
) -> Path:
    """Write the page of a stage's refusal; its path, relative to the root.

    Args:
        stage: the rule whose pass refused, or `gate`.
        reasons: sentences.
        ways: what a person may do.
        counts: hits by their reason.
        spans: examples of them.
        root: the checkout.
    """
    path = FOLDER / f"{stage}.html"
    head = "".join(f"<p>{escape(reason)}</p>" for reason in reasons)
    parts = [f'<header class="refused"><h1>{escape(stage)}: refused</h1>{head}</header>\n']
    parts.append(section("What to do", "<ol>" + "".join(f"<li>{escape(way)}</li>" for way in ways) + "</ol>"))
    if counts:
        parts.append(section("What was hit", table(["reason", "hits"], counts.items())))
    for reason in dict.fromkeys(span.reason for span in spans):
        rows = [[s.snippet or "(the row as a whole)", s.id] for s in spans if s.reason == reason]
        parts.append(section(f"{reason}: {len(rows)} of {counts.get(reason, len(rows))}", table(["text", "id"], rows)))
    write_text(root / path, page(f"{stage} refused", parts))
    return path


def clear(stage: str, root: Path) -> None:
    """Take away the page of a refusal that no longer holds."""
    (root / FOLDER / f"{stage}.html").unlink(missing_ok=True)
