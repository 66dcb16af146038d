"""The `split` stage: a held-out part of every op, by a hash of the content id.

A row stays on its side when others come or go (but for the few that fill an op's minimum). The id
itself does not serve: rebalance chose rows by it. Near-copies cannot straddle the two sides, since
the duplicate pass left none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from nightgarden.curation.accounts import Report, count_by_op, settle
from nightgarden.jsonl import read, write
from nightgarden.params import Curation, SplitSettings
from nightgarden.records import OPS, Example

TRAIN = Path("data/dataset/train.jsonl")
HELD_OUT = Path("data/dataset/held_out.jsonl")
MINIMUM = ((20, 2), (5, 1))
"""(rows of an op, held-out rows it then has at least): a loss per op needs rows to be measured on."""


def lot(id_: str) -> float:
    """A number in [0, 1) that the content id draws, the same for ever."""
    return int.from_bytes(hashlib.sha256(f"held out {id_}".encode()).digest()[:8]) / 2**64


def held_out_ids(rows: Sequence[Example], settings: SplitSettings) -> set[str]:
    """Ids of the held-out rows: those whose lot is below the share, and the next lots up to an op's minimum."""
    chosen: set[str] = set()
    for op in range(len(OPS)):
        ids = sorted((row.id for row in rows if row.op == op), key=lot)
        least = next((least for size, least in MINIMUM if len(ids) >= size), 0)
        below = sum(lot(id_) < settings.held_out for id_ in ids)
        chosen.update(ids[: max(below, least)])
    return chosen


def split(curation: Curation, root: Path) -> Report:
    """Write train.jsonl and held_out.jsonl, each by op and id.

    Returns:
        Rows of both, and held-out rows per op.
    """
    rows: list[Example] = sorted(read(root / "data/curated/rebalance/examples.jsonl", Example), key=lambda row: (row.op, row.id))
    chosen = held_out_ids(rows, curation.split)
    train = [row for row in rows if row.id not in chosen]
    held_out = [row for row in rows if row.id in chosen]
    settle("split", (row.id for row in rows), train=(row.id for row in train), held_out=(row.id for row in held_out))
    write(root / TRAIN, train)
    write(root / HELD_OUT, held_out)
    report: Report = {"train": len(train), "held_out": len(held_out)}
    return report | {f"held_out_op{op}": num for op, num in enumerate(count_by_op(held_out))}
