"""An adapter's card: what it was made from, and nothing that differs between two equal trainings.

Scores belong to evaluation, seconds and machines to tracking. The same identity, without the adapter's
digest, names the checkpoints of a training, so a resumed run is a run of the same thing.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any, TypedDict

from nightgarden import jsonl
from nightgarden.models import specs
from nightgarden.models.adapters import CARD
from nightgarden.params import Params
from nightgarden.templates.fingerprint import fingerprint
from nightgarden.templates.registry import ChatTemplate

SCHEMA = 1
LIBRARIES = ("torch", "transformers", "trl", "peft", "accelerate", "tokenizers", "safetensors")
"""Whose versions can change a weight or a token id."""


class Base(TypedDict):
    """The base model: where it came from and what it is."""

    name: str
    repo: str | None
    revision: str | None
    dtype: str
    weights: dict[str, str]
    """sha256 by file name."""


class Card(TypedDict):
    """Identity of a training; `adapter`, the sha256 of the trained weights, joins in the file."""

    schema: int
    base: Base
    dataset: str
    """Digest of the gated dataset."""
    training: dict[str, Any]
    """The section `training` of params.yaml."""
    template: dict[str, Any]
    """`templates.fingerprint.fingerprint`, golden token ids included."""
    libraries: dict[str, str]


def identity(params: Params, root: Path, template: ChatTemplate, tokenizer: Any, dataset: str) -> Card:
    """The identity of the training that these arguments describe."""
    spec = params.base_spec
    return Card(
        schema=SCHEMA,
        base=Base(
            name=params.base,
            repo=spec.repo,
            revision=spec.revision,
            dtype=spec.dtype,
            weights=specs.weights_digest(specs.folder(spec, root)),
        ),
        dataset=dataset,
        training=params.training.model_dump(mode="json"),
        template=fingerprint(template, tokenizer),
        libraries={name: version(name) for name in LIBRARIES},
    )


def write(known: Card, adapter: str, folder: Path) -> None:
    """Write the card beside the adapter that it belongs to."""
    jsonl.write_json(folder / CARD, known | {"adapter": adapter})
