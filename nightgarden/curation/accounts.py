"""The law of conservation: every row that goes in comes out in exactly one place.

Knows ids and counts, nothing of rules. What is checked are the files as they were written, row by row:
all of them are sorted by op and id, so memory holds one row of each.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from nightgarden.errors import Refusal
from nightgarden.jsonl import read
from nightgarden.params import Curation
from nightgarden.records import OPS, Example

Report = dict[str, float | int | str]
NAMED = 3
"""Ids that a refusal names."""

Key = tuple[int, str]
"""Op and content id: the order of every file of rows."""


class _Keyed(msgspec.Struct):
    """What the law needs of an example or a ledger line."""

    op: int
    id: str


def order(row: Any) -> Key:
    """The place of an example, an annotation or a ledger line in its file."""
    return row.op, row.id


def keys(path: Path) -> Iterator[Key]:
    """Op and id of every row of a file."""
    rows: Iterator[_Keyed] = read(path, _Keyed)
    return map(order, rows)


def settle(stage: str, rows_in: Iterable[Key], **parts: Iterable[Key]) -> None:
    """Check that the parts share out the rows that came in, by id: none lost, none new, none twice.

    Args:
        stage: for the message.
        rows_in: sorted.
        parts: each sorted.

    Raises:
        Refusal: they do not, or something is not sorted; names counts and some ids. Call it before anything is published.
    """
    before = _told(_sorted(stage, "rows in", rows_in), 0)
    after = (_told(_sorted(stage, name, part), 1) for name, part in parts.items())
    counts = [0, 0]
    wrong = []
    for key, group in groupby(heapq.merge(before, *after), key=lambda told: told[0]):
        sides = Counter(side for _, side in group)
        counts[0] += sides[0]
        counts[1] += sides[1]
        if (sides[0], sides[1]) != (1, 1):
            wrong.append(key[1])
    if wrong:
        raise Refusal(
            f"{stage}: {counts[0]} rows in, {counts[1]} accounted for as {' + '.join(parts)}; {len(wrong)} ids do not "
            f"stand exactly once on both sides, such as {', '.join(wrong[:NAMED])}. Nothing was published. "
            "This is a fault of the stage, not of your data: please report it."
        )


def _told(rows: Iterable[Key], side: int) -> Iterator[tuple[Key, int]]:
    return ((key, side) for key in rows)


def _sorted(stage: str, name: str, rows: Iterable[Key]) -> Iterator[Key]:
    last: Key = (-1, "")
    for key in rows:
        if key < last:
            raise Refusal(
                f"{stage}: {name} are not sorted by op and id, {key[1]} stands behind {last[1]}. Nothing was published. "
                "If a stage made the file, please report it; else run `dvc repro` to make it anew."
            )
        last = key
        yield key


def pass_order(curation: Curation) -> list[str]:
    """The passes in their order, from the first to the last."""
    after = {item.prev: rule for rule, item in curation.passes.items()}
    found, current = [], curation.first
    while current in after:
        current = after[current]
        found.append(current)
    return found


def count_by_op(rows: Iterable[Key]) -> list[int]:
    """Rows per op, one number for each of OPS."""
    counts = Counter(op for op, _ in rows)
    return [counts[op] for op in range(len(OPS))]


def is_outside(row: Example) -> bool:
    """Whether the row came from a file that was taken as a whole under one op: loss budgets do not hold it."""
    return row.meta.get("outside") is True


class Tally:
    """Counts of one pass, row by row: in all, per op, and per op for seed rows only (`op0_seed_in`)."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, row: Example, fate: str) -> None:
        """Count a row that came in, and its fate: `kept`, `dropped` or `repaired`."""
        self._counts[fate] += 1
        seeds = ("", "seed_") if not is_outside(row) else ("",)
        for seed in seeds:
            self._counts[f"op{row.op}_{seed}in"] += 1
            if fate == "dropped":
                self._counts[f"op{row.op}_{seed}dropped"] += 1

    def merge(self, number: int) -> None:
        """Of the repaired rows so many turned out to equal a row that is there."""
        self._counts["repaired"] -= number
        self._counts["merged"] += number

    def of(self, op: int, what: str) -> int:
        """One count of an op: `in`, `dropped`, `seed_in` or `seed_dropped`."""
        return self._counts[f"op{op}_{what}"]

    def report(self) -> Report:
        """All counts; a repaired row is kept as another one."""
        fates = ("kept", "dropped", "repaired", "merged")
        report: Report = {"rows_in": sum(self._counts[fate] for fate in fates)}
        report |= {"kept": self._counts["kept"] + self._counts["repaired"]}
        report |= {fate: self._counts[fate] for fate in fates[1:]}
        for op in range(len(OPS)):
            report |= {f"op{op}_{what}": self.of(op, what) for what in ("in", "dropped", "seed_in", "seed_dropped")}
        return report
