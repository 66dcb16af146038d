"""Checkpoints of one training: where they lie, which of them are whole, when they go.

A checkpoint belongs to a fingerprint: equal data, settings, base, libraries, machine and code. It is whole if and only
if its marker, written last, names the digest of every file; anything else was cut off by a kill and is
never taken. Knows files; what is inside them is the trainer's.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from nightgarden import digests, jsonl
from nightgarden.errors import UserError

log = logging.getLogger(__name__)

MARKER = "whole.json"
MADE_FROM = "made_from.json"
"""Beside the checkpoints of a training: what it is made from, so that the log can say why another one starts anew."""
CODE = ("training", "templates", "models/load.py")
"""Files and folders of the package that decide what a step does to a weight."""
BESIDE_TENSORS_BYTES = 8_000_000
"""Of a checkpoint with SmolLM2's tokenizer: 3.6 MB measured, rounded up to twice that."""
KEPT = 2
"""Checkpoints kept while training: the last whole one stays until the next is whole."""


class Marker(msgspec.Struct, frozen=True, kw_only=True):
    """What a whole checkpoint says of itself."""

    step: int
    files: dict[str, str]
    """sha256 by file name, of every file but the marker."""


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A whole checkpoint."""

    folder: Path
    step: int


def made_from(identity: Mapping[str, Any], machine: str, code: str) -> dict[str, str]:
    """What a training is made from, each part as its digest.

    Args:
        identity: its card: dataset, settings, base, template, libraries.
        machine: kind of device and number of threads. A run is exact only where it began: with one thread
            instead of two the gradients differ in their last bits (measured, torch 2.13 on a CPU).
        code: digest of `CODE` when the run began. Resumed with an edited loss, the adapter would be half of each.
    """
    return {part: digests.content_id(value) for part, value in {**identity, "machine": machine, "code": code}.items()}


def fingerprint(parts: Mapping[str, str]) -> str:
    """Names the checkpoints of one training, by what it is made from."""
    return digests.content_id(parts)


def folder(state: Path, parts: Mapping[str, str]) -> Path:
    """Where the checkpoints of a training lie; those of others are left alone."""
    return state / "checkpoints" / fingerprint(parts)


def begin(place: Path, parts: Mapping[str, str]) -> str | None:
    """Note beside the checkpoints to come what their training is made from.

    Returns:
        Why it starts at step 0 though checkpoints of another training lie there; of several, that of the one which
        differs in the fewest parts. None where it goes on, or none lie there.
    """
    others = []
    for path in sorted(place.parent.glob(f"*/{MADE_FROM}")):
        if path.parent != place and any(path.parent.glob("checkpoint-*")):
            known: dict[str, str] = jsonl.read_json(path, dict[str, str])
            others.append((sorted(part for part in known.keys() | parts if known.get(part) != parts.get(part)), path.parent))
    jsonl.write_json(place / MADE_FROM, parts)
    if not others or any(place.glob("checkpoint-*")):
        return None
    unlike, other = min(others, key=lambda found: len(found[0]))
    return f"the checkpoints in {other} are of a training that differs in {', '.join(unlike)}; they are left alone"


def refuse_full_disk(place: str, tensor_bytes: int) -> None:
    """Look whether a checkpoint has room.

    Args:
        place: folder of the checkpoints.
        tensor_bytes: of the tensors in one; tokenizer and states of the libraries come on top.

    Raises:
        UserError: it has not.
    """
    needed, free = tensor_bytes + BESIDE_TENSORS_BYTES, shutil.disk_usage(place).free
    if free < needed:
        raise UserError(
            f"the disk of {place} has {free / 1e6:.0f} MB free, and a checkpoint needs {needed / 1e6:.0f} MB. "
            "Free space and run it again: it goes on at the last whole checkpoint."
        )


def mark(checkpoint: Path, step: int) -> None:
    """Declare a checkpoint whole: the last thing that is written into it."""
    jsonl.write_json(checkpoint / MARKER, Marker(step=step, files=digests.sha256_folder(checkpoint)))


def last_whole(place: Path) -> Checkpoint | None:
    """The latest whole checkpoint of a folder; removes those that are not whole.

    Returns:
        None where there is none: the training starts at step 0.
    """
    found = []
    for checkpoint in sorted(place.glob("checkpoint-*")):
        marker = _marker(checkpoint)
        if marker is None:
            log.warning("%s is not whole: the run ended while it was written. It is removed.", checkpoint)
            shutil.rmtree(checkpoint)
        else:
            found.append(Checkpoint(folder=checkpoint, step=marker.step))
    return max(found, key=lambda checkpoint: checkpoint.step, default=None)


def _marker(checkpoint: Path) -> Marker | None:
    """The marker of a checkpoint whose files are those that it names, or None."""
    if not (checkpoint / MARKER).is_file():
        return None
    marker: Marker = jsonl.read_json(checkpoint / MARKER, Marker)
    files = digests.sha256_folder(checkpoint)
    return marker if marker.files == {name: files[name] for name in files if name != MARKER} else None


def clear(place: Path) -> None:
    """Remove the checkpoints of a training whose outputs are written."""
    shutil.rmtree(place, ignore_errors=True)
