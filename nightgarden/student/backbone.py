"""The frozen backbone: a vector for every text, computed once and kept.

Every text is embedded alone on one thread: in a padded batch the last bits of a vector depend on its
neighbours, and the heads' bytes would depend on what happened to be in the cache. Knows texts and
vectors, nothing of lessons.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from nightgarden import jsonl
from nightgarden.digests import content_id, sha256_text
from nightgarden.models import specs
from nightgarden.models.embed import Embedder

log = logging.getLogger(__name__)

Vectors = npt.NDArray[np.float32]
TOLD_EVERY = 500
"""Texts between two lines in the log, and between two writes of the cache."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch on one thread inside the block: sums come out equal on machines with other core counts."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Backbone:
    """The embedder with its cache."""

    def __init__(self, folder: Path, cache: Path) -> None:
        """Open the cache that belongs to these weights.

        Args:
            folder: a sentence-transformers folder; its weight digest names the cache.
            cache: folder outside DVC; vectors go below `embeddings/`.
        """
        self.digest = content_id(specs.weights_digest(folder))
        """Id of the weights: another backbone has another cache and another student."""
        self._embedder = Embedder(folder, batch_size=1)
        self._path = cache / "embeddings" / f"{self.digest}.npz"
        self._known: dict[str, Vectors] = self._read()

    def vectors(self, texts: Iterable[str]) -> dict[str, Vectors]:
        """Text -> unit vector (D,), float32; new ones are computed and kept."""
        keys = {text: sha256_text(text) for text in texts}
        new = sorted({text for text, key in keys.items() if key not in self._known})
        with one_thread():
            for start in range(0, len(new), TOLD_EVERY):
                part = new[start : start + TOLD_EVERY]
                for text, vector in zip(part, self._embedder.embed(part), strict=True):
                    self._known[keys[text]] = vector
                self._write()
                log.info("embedded %d of %d new texts", start + len(part), len(new))
        return {text: self._known[key] for text, key in keys.items()}

    def _read(self) -> dict[str, Vectors]:
        if not self._path.is_file():
            return {}
        with np.load(self._path, allow_pickle=False) as stored:
            return dict(zip(stored["keys"].tolist(), stored["vectors"], strict=True))

    def _write(self) -> None:
        keys = sorted(self._known)
        buffer = io.BytesIO()
        np.savez(buffer, keys=np.array(keys), vectors=np.stack([self._known[key] for key in keys]))
        with jsonl.whole_file(self._path) as file:
            file.write(buffer.getbuffer())
