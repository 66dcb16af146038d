"""The history of all nights, read from their records; there is no second copy that could differ.

Knows records; draws nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nightgarden.records import HEADS, Head, Record
from nightgarden.trust import record
from nightgarden.trust.gate import End
from nightgarden.trust.record import NightRecord


class Row(Record, frozen=True, kw_only=True):
    """One head on one night."""

    number: int
    """1 for the first night."""
    night: str
    head: Head
    end: End
    skill: float | None
    trust: float | None
    n: int
    why: str


def read(paths: Sequence[Path]) -> list[NightRecord]:
    """The records in the order of the paths."""
    return [record.read(path) for path in paths]


def rows(records: Sequence[NightRecord]) -> list[Row]:
    """One row per night and head, first night first."""
    return [
        Row(
            number=number,
            night=item.night,
            head=head,
            end=item.end,
            skill=item.heads[head].skill,
            trust=item.heads[head].trust,
            n=item.heads[head].n,
            why=item.heads[head].why,
        )
        for number, item in enumerate(records, 1)
        for head in HEADS
    ]
