"""The five heads: what each reads, its two layers, its loss and its answer in natural units.

Importance and interest also read the appraisal head's answer. Knows tensors; does not know lessons,
files or how long to train.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from nightgarden.records import FEELINGS, REACTIONS, Head

ORDER: tuple[Head, ...] = ("appraisal", "importance", "reaction", "relevance", "interest")
"""Order of training: appraisal first, since two heads read its answer."""
FELT: tuple[Head, ...] = ("importance", "interest")
"""Heads that also read the six feelings."""
OUTPUTS: dict[Head, int] = {
    "importance": 1,
    "appraisal": len(FEELINGS),
    "reaction": len(REACTIONS),
    "relevance": 1,
    "interest": 1,
}


def num_inputs(head: Head, dimensions: int) -> int:
    """Numbers that a head reads, for text vectors of length `dimensions`."""
    if head == "relevance":
        return 2 * dimensions + 1
    return dimensions + (len(FEELINGS) if head in FELT else 0)


def inputs(head: Head, texts: Tensor, pairs: Tensor | None, feelings: Tensor | None) -> Tensor:
    """What a head reads.

    Args:
        head: whose input.
        texts: (N, D) unit vectors.
        pairs: (N, D) unit vectors of the memories, relevance only.
        feelings: (N, 6) answers of the appraisal head in [0, 1], importance and interest only;
            zeros where no appraisal head was trained.

    Returns:
        (N, num_inputs).
    """
    if head == "relevance":
        if pairs is None:
            raise ValueError("relevance reads a query and a memory; the memory vectors are missing")
        product = texts * pairs
        return torch.cat([product, (texts - pairs).abs(), product.sum(1, keepdim=True)], dim=1)
    if head in FELT:
        return torch.cat([texts, texts.new_zeros(len(texts), len(FEELINGS)) if feelings is None else feelings], dim=1)
    return texts


class HeadNet(nn.Module):
    """Two layers: `hidden` units with GELU, then the outputs; weights drawn from the given generator."""

    def __init__(self, head: Head, dimensions: int, hidden: int, generator: torch.Generator) -> None:
        super().__init__()
        self.hidden = nn.Linear(num_inputs(head, dimensions), hidden)
        self.out = nn.Linear(hidden, OUTPUTS[head])
        for layer in (self.hidden, self.out):
            nn.init.xavier_uniform_(layer.weight, generator=generator)
            nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor) -> Tensor:
        """(N, num_inputs) -> (N, outputs), before the head's own squashing."""
        answer: Tensor = self.out(functional.gelu(self.hidden(x)))
        return answer

    def rest_at(self, bias: Tensor) -> None:
        """Set the output bias (outputs,), where training starts from."""
        with torch.no_grad():
            self.out.bias.copy_(bias)


def resting_bias(head: Head, targets: Tensor) -> Tensor:
    """Output bias at which an untrained head answers with the mean or the class shares of its lessons.

    Args:
        head: whose output.
        targets: (N, T) of the training lessons.
    """
    if head == "importance":
        return targets.mean(0)
    if head == "reaction":
        shares = torch.bincount(targets[:, 0].long(), minlength=len(REACTIONS)) + 1
        return (shares / shares.sum()).log()
    return torch.logit(targets.mean(0), eps=1e-3)


def loss(head: Head, logits: Tensor, targets: Tensor) -> Tensor:
    """Mean loss: MSE on 1-10 (importance), cross-entropy (reaction), binary cross-entropy (the rest).

    Binary cross-entropy takes graded targets in [0, 1] too: its minimum is the mean target.
    """
    if head == "importance":
        return functional.mse_loss(logits, targets)
    if head == "reaction":
        return functional.cross_entropy(logits, targets[:, 0].long())
    return functional.binary_cross_entropy_with_logits(logits, targets)


def answer(head: Head, logits: Tensor) -> Tensor:
    """Natural units: importance within 1..10, class probabilities for reaction, else in [0, 1]."""
    if head == "importance":
        return logits.clamp(1, 10)
    if head == "reaction":
        return logits.softmax(1)
    return logits.sigmoid()
