"""Texts to unit vectors with a sentence-transformers folder, through plain transformers.

Reads the pooling (mean or last token) and the length limit from the folder. Does not know what the
texts are for, and uses no prompt or instruction prefix.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from nightgarden import jsonl
from nightgarden.errors import UserError
from nightgarden.models import specs

log = logging.getLogger(__name__)

Vectors = npt.NDArray[np.float32]
Pooling = Literal["mean", "last"]
POOLING_KEYS: dict[str, Pooling] = {"pooling_mode_mean_tokens": "mean", "pooling_mode_lasttoken": "last"}
"""Keys of 1_Pooling/config.json that this module can do."""


def pooling_of(folder: Path) -> Pooling:
    """How the folder pools token vectors into one.

    Raises:
        UserError: no pooling named, or one that this module cannot do.
    """
    config: dict[str, Any] = jsonl.read_json(folder / "1_Pooling" / "config.json", dict[str, Any])
    chosen = [key for key, on in config.items() if key.startswith("pooling_mode_") and on is True]
    if len(chosen) != 1 or chosen[0] not in POOLING_KEYS:
        raise UserError(f"{folder} pools by {chosen}; exactly one of {sorted(POOLING_KEYS)} is needed. Choose another embedder.")
    return POOLING_KEYS[chosen[0]]


def pool(states: Any, mask: Any, how: Pooling) -> Any:
    """One unit vector per row.

    Args:
        states: (B, T, D) last hidden states.
        mask: (B, T) attention mask, 1 on real tokens; padding may stand on either side.
        how: the mean over real tokens, or the last real token.

    Returns:
        (B, D), each row of length 1.
    """
    import torch

    if how == "mean":
        weights = mask.unsqueeze(-1).to(states.dtype)
        pooled = (states * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
    else:
        positions = torch.arange(mask.shape[1], device=mask.device)
        last = (mask * positions).argmax(1)
        pooled = states[torch.arange(mask.shape[0], device=mask.device), last]
    return torch.nn.functional.normalize(pooled, dim=1)


class Embedder:
    """A frozen text encoder; opens its weights at the first call."""

    def __init__(self, folder: Path, *, batch_size: int = 32) -> None:
        specs.digests(folder)
        self.folder = folder
        self.batch_size = batch_size
        self.pooling = pooling_of(folder)
        limits: dict[str, Any] = jsonl.read_json(folder / "sentence_bert_config.json", dict[str, Any])
        self.max_tokens = int(limits["max_seq_length"])
        """Longer texts are cut here, as the model was trained; each call says how many were."""

    @cached_property
    def dimensions(self) -> int:
        """Length of a vector."""
        return int(self._model.config.hidden_size)

    @cached_property
    def _tokenizer(self) -> Any:
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(self.folder, local_files_only=True, trust_remote_code=False, padding_side="right")

    @cached_property
    def _model(self) -> Any:
        import torch
        from transformers import AutoModel

        options = {"local_files_only": True, "trust_remote_code": False, "use_safetensors": True}
        return AutoModel.from_pretrained(self.folder, dtype=torch.float32, **options).eval()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of texts, in their order.

        Equal texts get equal vectors: each distinct text is computed once. Batches are cut from the
        distinct texts sorted by length, so little is spent on padding.

        Returns:
            (N, D) float32; (0, D) for no text.
        """
        distinct = sorted(set(texts))
        encoded = [self._tokenizer(text, truncation=False)["input_ids"] for text in distinct]
        cut = sum(len(ids) > self.max_tokens for ids in encoded)
        if cut:
            log.warning("%d of %d texts are longer than %d tokens and are cut there", cut, len(distinct), self.max_tokens)
        order = sorted(range(len(distinct)), key=lambda index: len(encoded[index]))
        vectors = np.zeros((len(distinct), self.dimensions), dtype=np.float32)
        for start in range(0, len(order), self.batch_size):
            batch = order[start : start + self.batch_size]
            vectors[batch] = self._batch([distinct[index] for index in batch])
        row = {text: index for index, text in enumerate(distinct)}
        return vectors[[row[text] for text in texts]]

    def _batch(self, texts: list[str]) -> Vectors:
        import torch

        inputs = self._tokenizer(texts, padding=True, truncation=True, max_length=self.max_tokens, return_tensors="pt")
        with torch.inference_mode():
            states = self._model(**inputs).last_hidden_state
            pooled: Vectors = pool(states, inputs["attention_mask"], self.pooling).numpy()
        return pooled
