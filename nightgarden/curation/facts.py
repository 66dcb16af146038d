"""What the stages counted, read once for the data card and the report page.

Metrics where a stage wrote them; what no metric holds (places, quarantine, the two sides of the split) is
counted from the files line by line. Knows nothing of how it is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from nightgarden.curation.accounts import count_by_op, keys, pass_order
from nightgarden.curation.dataset import HELD_OUT, TRAIN
from nightgarden.curation.filter import engine_of
from nightgarden.curation.gate import REPORT as VERDICT
from nightgarden.curation.ingest import FOLDER, Position
from nightgarden.curation.ingest import REPORT as INGEST
from nightgarden.jsonl import read, read_json
from nightgarden.params import Curation
from nightgarden.records import Quarantined

RENDERED = Path("reports/render.json")


class PassCounts(msgspec.Struct, frozen=True):
    """One pass, as reports/funnel.json has it."""

    name: str = msgspec.field(name="pass")
    rows: int
    kept: int
    dropped: int
    repaired: int
    merged: int
    sole: int
    """Rows of those that no other rule hits."""


class OverlapCounts(msgspec.Struct, frozen=True):
    """reports/overlap.json: how rules share the raw rows."""

    rules: list[str]
    rows: list[list[int]]
    """Rows that two rules both hit; on the diagonal all that a rule hits."""
    sole: list[int]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Everything that was counted on the way of a dataset."""

    curation: Curation
    ingest: dict[str, int]
    passes: list[PassCounts]
    per_op: dict[str, dict[str, int]]
    """Pass, or `rebalance` -> its report."""
    overlap: OverlapCounts
    engines: dict[str, str]
    """Rule -> engine with its version and the hash of its patterns and settings."""
    verdict: dict[str, Any]
    rendered: dict[str, Any]
    train: list[int]
    held_out: list[int]
    """Rows per op."""
    read_from: Counter[str]
    """File -> rows taken from it."""
    quarantined_from: Counter[str]
    quarantine: Counter[str]
    """Reason -> rows."""

    @property
    def rows(self) -> list[int]:
        """Rows of the dataset per op."""
        return [one + two for one, two in zip(self.train, self.held_out, strict=True)]

    @property
    def digest(self) -> str:
        """Name of the dataset: the sha256 of its two files."""
        return str(self.verdict["digest"])


def gather(curation: Curation, root: Path) -> Facts:
    """Read what the stages up to `gate` left.

    Raises:
        UserError: one of them has not run.
    """
    order = pass_order(curation)
    positions: Iterator[Position] = read(root / FOLDER / "positions.jsonl", Position)
    quarantine, quarantined_from = Counter[str](), Counter[str]()
    lines: Iterator[Quarantined] = read(root / FOLDER / "quarantine.jsonl", Quarantined)
    for line in lines:
        quarantine[line.reason] += 1
        quarantined_from[line.file] += 1
    return Facts(
        curation=curation,
        ingest=read_json(root / INGEST, dict[str, int]),
        passes=read_json(root / "reports/funnel.json", list[PassCounts]),
        per_op={rule: read_json(root / f"reports/passes/{rule}.json", dict[str, int]) for rule in (*order, "rebalance")},
        overlap=read_json(root / "reports/overlap.json", OverlapCounts),
        engines={rule: engine_of(rule, curation.rules.of(rule)) for rule in order},
        verdict=read_json(root / VERDICT, dict[str, Any]),
        rendered=read_json(root / RENDERED, dict[str, Any]),
        train=count_by_op(keys(root / TRAIN)),
        held_out=count_by_op(keys(root / HELD_OUT)),
        read_from=Counter(position.file for position in positions),
        quarantined_from=quarantined_from,
        quarantine=quarantine,
    )
