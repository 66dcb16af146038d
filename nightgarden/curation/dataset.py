"""The dataset as files: the trained part and the held-out one, and their name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from nightgarden.jsonl import read
from nightgarden.records import Example

TRAIN = Path("data/dataset/train.jsonl")
HELD_OUT = Path("data/dataset/held_out.jsonl")
BLOCK = 1 << 20


def dataset_digest(root: Path) -> str:
    """sha256 of train.jsonl followed by held_out.jsonl: the name of a dataset."""
    digest = hashlib.sha256()
    for path in (TRAIN, HELD_OUT):
        with (root / path).open("rb") as file:
            while block := file.read(BLOCK):
                digest.update(block)
    return digest.hexdigest()


def rows_of(root: Path) -> Iterator[Example]:
    """Every row of the dataset, the trained ones first."""
    train: Iterator[Example] = read(root / TRAIN, Example)
    held_out: Iterator[Example] = read(root / HELD_OUT, Example)
    return chain(train, held_out)
