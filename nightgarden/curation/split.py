"""The `split` stage: a held-out part of every op, by a hash of the content id.

A row stays on its side when others come or go (but for the few that fill an op's minimum). The id
itself does not serve: rebalance chose rows by it. Near-copies cannot straddle the two sides, since
the duplicate pass left none.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from nightgarden.curation.accounts import Key, Report, count_by_op, keys, settle
from nightgarden.curation.dataset import HELD_OUT, TRAIN
from nightgarden.jsonl import read_lines, whole_file
from nightgarden.params import Curation, SplitSettings

MINIMUM = ((20, 2), (5, 1))
"""(rows of an op, held-out rows it then has at least): a loss per op needs rows to be measured on."""


def lot(id_: str) -> float:
    """A number in [0, 1) that the content id draws, the same for ever."""
    return int.from_bytes(hashlib.sha256(f"held out {id_}".encode()).digest()[:8]) / 2**64


def held_out_ids(rows: Iterable[Key], settings: SplitSettings) -> set[str]:
    """Ids of the held-out rows: those whose lot is below the share, and the next lots up to an op's minimum."""
    by_op: dict[int, list[str]] = defaultdict(list)
    for op, id_ in rows:
        by_op[op].append(id_)
    chosen: set[str] = set()
    for ids in by_op.values():
        ids.sort(key=lot)
        least = next((least for size, least in MINIMUM if len(ids) >= size), 0)
        below = sum(lot(id_) < settings.held_out for id_ in ids)
        chosen.update(ids[: max(below, least)])
    return chosen


def split(curation: Curation, root: Path) -> Report:
    """Write train.jsonl and held_out.jsonl, each by op and id.

    Returns:
        Rows of both, and held-out rows per op.
    """
    path = root / "data/curated/rebalance/examples.jsonl"
    chosen = held_out_ids(keys(path), curation.split)
    with ExitStack() as stack:
        train, held_out = (stack.enter_context(whole_file(root / name)) for name in (TRAIN, HELD_OUT))
        for line, (_, id_) in zip(read_lines(path), keys(path), strict=True):
            (held_out if id_ in chosen else train).write(line + b"\n")
        for file in (train, held_out):
            file.flush()
        parts = {"train": Path(train.name), "held_out": Path(held_out.name)}
        settle("split", keys(path), **{name: keys(part) for name, part in parts.items()})
        counts = {name: count_by_op(keys(part)) for name, part in parts.items()}
    report: Report = {name: sum(per_op) for name, per_op in counts.items()}
    return report | {f"held_out_op{op}": num for op, num in enumerate(counts["held_out"])}
