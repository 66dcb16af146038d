"""Rows as token ids, the order in which a run sees them, and their tensors.

The order is decided once, before the first step, from the row lengths and a seed: that is what makes
a resumed run equal to an uninterrupted one. Knows no model.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nightgarden.templates.registry import IGNORED

if TYPE_CHECKING:
    from torch import Tensor

BUCKET = 8
"""Rows whose lengths differ by less than this many tokens count as equally long and are mixed at random."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One example as the trainer sees it."""

    id: str
    op: int
    ids: list[int]
    labels: list[int]
    """As long as `ids`; IGNORED where the loss does not look."""

    @property
    def labelled(self) -> int:
        """Number of labelled tokens."""
        return sum(label != IGNORED for label in self.labels)


def plan(lengths: Sequence[int], batch_size: int, epochs: float, seed: int) -> list[list[int]]:
    """Row indices of every step of a run, in order.

    A batch holds rows of about one length, so little is spent on padding; the batches come in random
    order, but the one with the longest row comes first, so that memory runs out in minute one or never.
    An epoch's rows that fill no batch are drawn at random and wait until the end of the run: only the
    last batch may be smaller.

    Args:
        lengths: tokens of each row.
        batch_size: rows per step.
        epochs: passes over the rows; the fraction is a random part of them.
        seed: of the order.
    """
    rng = random.Random(seed)  # noqa: S311 - an order, not a secret
    full: list[list[int]] = []
    left: list[int] = []
    while epochs > 0:
        rows = rng.sample(range(len(lengths)), round(len(lengths) * min(epochs, 1)))
        longest = max(rows, key=lambda index: lengths[index], default=None)
        rows.sort(key=lambda index: index != longest)  # so that the longest row is in a full batch
        kept = len(rows) // batch_size * batch_size
        left += rows[kept:]
        rows = sorted(rows[:kept], key=lambda index: lengths[index] // BUCKET)
        batches = [rows[start : start + batch_size] for start in range(0, kept, batch_size)]
        rng.shuffle(batches)
        full += batches
        epochs -= 1
    full += [left[start : start + batch_size] for start in range(0, len(left), batch_size)]
    first = max(range(len(full)), key=lambda step: (len(full[step]), max(lengths[index] for index in full[step])))
    full.insert(0, full.pop(first))
    return full


def collate(rows: Sequence[Mapping[str, list[int]]], pad_id: int) -> dict[str, Tensor]:
    """Ids and labels of some rows, padded on the right to the longest.

    There is no attention mask: padding stands behind every real token, and a causal model never looks
    ahead, so real tokens see real tokens only; padding has no label.

    Args:
        rows: each with `input_ids` and `labels`.
        pad_id: any token id.

    Returns:
        `input_ids` and `labels`, each (B, T) int64.
    """
    import torch

    length = max(len(row["input_ids"]) for row in rows)
    ids = [row["input_ids"] + [pad_id] * (length - len(row["input_ids"])) for row in rows]
    labels = [row["labels"] + [IGNORED] * (length - len(row["labels"])) for row in rows]
    return {"input_ids": torch.tensor(ids), "labels": torch.tensor(labels)}
