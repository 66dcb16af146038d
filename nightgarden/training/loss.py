"""The loss on labelled tokens, in training and on held-out rows.

Scores only the positions that have a label: the head is a matrix of the whole vocabulary, and on a CPU
scoring every position costs half as much again as the whole step (measured: 1.5 times the tokens per
CPU-second of TRL 1.16's own loss). Knows models, no files.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from nightgarden.errors import Refusal
from nightgarden.templates.registry import IGNORED
from nightgarden.training.batches import Row, collate

EVALUATION_BATCH = 8
"""Held-out rows per forward pass; no gradient is kept, so only speed depends on it."""


def labelled_loss(model: Any, input_ids: Tensor, labels: Tensor) -> tuple[Tensor, int]:
    """Summed negative log-likelihood of the labelled tokens, and their number.

    Args:
        model: a causal language model, adapted or not.
        input_ids: (B, T) padded on the right.
        labels: (B, T), IGNORED where there is no label.

    Returns:
        The sum in nats as a float32 scalar, and the count; a sum over nothing is 0.
    """
    states = model.get_decoder()(input_ids=input_ids, use_cache=False).last_hidden_state  # (B, T, D)
    targets = labels[:, 1:]
    labelled = targets != IGNORED
    logits = model.get_output_embeddings()(states[:, :-1][labelled])  # (N, V)
    return cross_entropy(logits.float(), targets[labelled], reduction="sum"), int(labelled.sum())


def held_out_loss(model: Any, rows: Sequence[Row], pad_id: int) -> dict[int, float]:
    """Mean negative log-likelihood per labelled token, by op, in nats."""
    by_op: dict[int, float] = {}
    model.eval()
    with torch.no_grad():
        for op in sorted({row.op for row in rows}):
            of_op = sorted((row for row in rows if row.op == op), key=lambda row: len(row.ids))
            total, count = 0.0, 0
            for start in range(0, len(of_op), EVALUATION_BATCH):
                batch = as_batch(of_op[start : start + EVALUATION_BATCH], pad_id, model)
                loss, labelled = labelled_loss(model, **batch)
                total, count = total + float(loss), count + labelled
            by_op[op] = total / count
    return by_op


def as_batch(rows: Sequence[Row], pad_id: int, model: Any) -> dict[str, Tensor]:
    """Rows as tensors on the model's device."""
    tensors = collate([{"input_ids": row.ids, "labels": row.labels} for row in rows], pad_id)
    return {name: tensor.to(model.device) for name, tensor in tensors.items()}


def require_models_own(model: Any, row: Row) -> None:
    """Refuse a model whose own forward gives another loss on a row than `labelled_loss`.

    Some architectures do something to the logits behind the head (a cap, a factor); the short way would
    then train towards the wrong target without a sign.

    Raises:
        Refusal: the two differ by more than the rounding of the model's dtype.
    """
    batch = as_batch([row], 0, model)
    with torch.no_grad():
        total, count = labelled_loss(model, **batch)
        own = float(model(**batch, use_cache=False).loss)
    ours = float(total) / count
    tolerance = 1e-3 if model.dtype == torch.float32 else 5e-2
    if not math.isclose(ours, own, rel_tol=tolerance, abs_tol=tolerance):
        raise Refusal(
            f"row {row.id}: the model's own loss is {own:.4f}, the loss on labelled positions {ours:.4f}. This architecture "
            f"({type(model).__name__}) changes its logits behind the head; training/loss.py does not know it yet."
        )
