"""Where adapted and stock part: the divergence of their next-token distributions along one and the same text.

Runs the model, teacher-forced: both sides read a reply that is already written, so they differ in their weights
only and not in what stands before. Knows ids; not what a reply means.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from nightgarden.evaluation.crossover import FIRST, Divergence
from nightgarden.evaluation.generate import Sides


@torch.inference_mode()
def along(sides: Sides, prompt_ids: Sequence[int], reply_ids: Sequence[int]) -> list[float]:
    """KL(adapted || stock) before each token of a reply, in nats. (T,)"""
    ids = torch.tensor([[*prompt_ids, *reply_ids]], device=sides.model.device)
    with sides.on("stock"):
        stock = _log_shares(sides, ids, len(reply_ids))
    adapted = _log_shares(sides, ids, len(reply_ids))
    values: list[float] = (adapted.exp() * (adapted - stock)).sum(-1).clamp(min=0).tolist()
    return values


def _log_shares(sides: Sides, ids: torch.Tensor, size: int) -> torch.Tensor:
    """Log probabilities of the tokens of the reply's positions. (T, V), double precision."""
    logits: torch.Tensor = sides.model(input_ids=ids, logits_to_keep=size + 1, use_cache=False).logits[0, :-1]
    return logits.double().log_softmax(-1)


def divergence(curves: Sequence[Sequence[float]]) -> Divergence:
    """The mean curve over replies, and how much of it lies at the beginning."""
    longest = max(map(len, curves), default=0)
    there = [[curve[place] for curve in curves if len(curve) > place] for place in range(longest)]
    total = sum(map(sum, curves))
    first = sum(sum(curve[:FIRST]) for curve in curves)
    return Divergence(
        nats=tuple(sum(column) / len(column) for column in there),
        replies=tuple(map(len, there)),
        first_share=first / total if total > 0 else None,
    )
