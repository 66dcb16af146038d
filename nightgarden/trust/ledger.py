"""The history of all nights, read from their records: there is no second copy that could differ.

Knows records; draws nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nightgarden.records import Head
from nightgarden.trust import record
from nightgarden.trust.record import NightRecord


def read(paths: Sequence[Path]) -> list[NightRecord]:
    """The records in the order of the paths.

    Raises:
        UserError: one is missing or not a night's record.
    """
    return [record.read(path) for path in paths]


def trajectory(history: Sequence[NightRecord], head: Head) -> list[float | None]:
    """A head's trust night by night; None where it was not measured."""
    return [night.heads[head].trust for night in history]
