"""A trained student: loading one, and asking its heads.

A checkpoint is a folder with heads.safetensors and card.json; it answers only on the backbone that it
was trained on. Knows vectors; does not know whether a head may be believed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors.torch
import torch
from torch import Tensor

from nightgarden import jsonl
from nightgarden.errors import UserError
from nightgarden.records import Head, Lesson
from nightgarden.student import heads
from nightgarden.student.backbone import Vectors, one_thread

Answers = npt.NDArray[np.float64]
WEIGHTS = "heads.safetensors"
CARD = "card.json"


class Student:
    """Heads by name; one that never had lessons enough is not there."""

    def __init__(self, nets: dict[Head, heads.HeadNet], dimensions: int) -> None:
        """Take nets as they are.

        Args:
            nets: trained heads.
            dimensions: length of the vectors that they read.
        """
        self.nets = nets
        self.dimensions = dimensions

    def read(self, head: Head, texts: Tensor, pairs: Tensor | None = None) -> Tensor:
        """(N, num_inputs): what a head reads, the appraisal head's answer included where it counts."""
        feelings = None
        if head in heads.FELT and "appraisal" in self.nets:
            with torch.no_grad():
                feelings = heads.answer("appraisal", self.nets["appraisal"](texts))
        return heads.inputs(head, texts, pairs, feelings)

    def answers(self, head: Head, texts: Vectors, pairs: Vectors | None = None) -> Answers | None:
        """What a head says, or None if there is no such head.

        Args:
            head: who is asked.
            texts: (N, D) unit vectors.
            pairs: (N, D) unit vectors of the memories, relevance only.

        Returns:
            (N, W) in natural units: importance 1..10; appraisal (W = 6), relevance and interest in
            [0, 1]; reaction P(cold), P(neutral), P(warm).
        """
        if head not in self.nets:
            return None
        with one_thread(), torch.inference_mode():
            x = self.read(head, torch.from_numpy(texts), None if pairs is None else torch.from_numpy(pairs))
            said: Answers = heads.answer(head, self.nets[head](x)).numpy().astype(np.float64)
        return said

    def state(self) -> dict[str, Tensor]:
        """Every weight by `HEAD.LAYER.NAME`, sorted."""
        named = {f"{head}.{name}": value for head, net in self.nets.items() for name, value in net.state_dict().items()}
        return {name: named[name].contiguous() for name in sorted(named)}


def stacked(lessons: Sequence[Lesson], vectors: Mapping[str, Vectors]) -> tuple[Vectors, Vectors | None]:
    """(N, D) vectors of the lessons' texts, and of their pairs where they have one."""
    texts = np.stack([vectors[lesson.text] for lesson in lessons])
    pairs = [vectors[lesson.pair] for lesson in lessons if lesson.pair is not None]
    return texts, np.stack(pairs) if pairs else None


def warmth(said: Answers) -> Answers:
    """(N,) P(warm) - P(cold) from the reaction head's answers: the higher draft is sent."""
    return said[:, 2] - said[:, 0]


def load(folder: Path, backbone: str) -> Student:
    """A checkpoint from its folder.

    Args:
        folder: holds heads.safetensors and card.json.
        backbone: digest of the backbone that will make the vectors.

    Raises:
        UserError: missing, or trained on another backbone.
    """
    card: dict[str, Any] = jsonl.read_json(folder / CARD, dict[str, Any])
    if card["backbone"] != backbone:
        raise UserError(
            f"{folder} was trained on the backbone {card['backbone']}, and the one at hand is {backbone}. "
            "Fetch the embedder that it names, or train again."
        )
    try:
        state = safetensors.torch.load((folder / WEIGHTS).read_bytes())
    except OSError as error:
        raise UserError(f"cannot read {folder / WEIGHTS}: {error.strerror}. Run `dvc checkout` to restore it.") from error
    nets: dict[Head, heads.HeadNet] = {}
    for head in heads.ORDER:
        own = {name.removeprefix(f"{head}."): value for name, value in state.items() if name.startswith(f"{head}.")}
        if own:
            nets[head] = heads.HeadNet(head, card["dimensions"], card["hidden"], torch.Generator())
            nets[head].load_state_dict(own)
    return Student(nets, card["dimensions"])
