"""A finished evaluation as a folder of files, so that another day can check it: who spoke, which template, which ids.

Reads and writes; judges nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nightgarden import jsonl
from nightgarden.errors import UserError
from nightgarden.evaluation.answers import SIDES, Reply, Scored, Side
from nightgarden.records import Prompt, Record

FILES = RUN, PROMPTS, REPLIES, SCORES = ("run.json", "prompts.jsonl", "replies.jsonl", "scores.jsonl")
TABLE = "table.json"
"""Every reply with its scores, as MLflow shows it."""
RATINGS = "ratings.json"
"""What a rater said, where one was asked."""


class Run(Record, frozen=True, kw_only=True):
    """What identifies a run beside its prompts; no time and no place."""

    base: str
    """Name of the model spec in params.yaml."""
    weights: dict[str, str]
    """Digests of the base's weights by file."""
    template: dict[str, Any]
    """Fingerprint of template and tokenizer, see `templates/fingerprint.py`."""
    passport: dict[str, Any]
    """The witnesses as they were heard."""
    adapter: str
    """Digest of the adapter's weights and config."""
    card: dict[str, Any]
    """The adapter's card."""
    settings: dict[str, Any]
    """The section `evaluation` of params.yaml."""
    machine: str
    libraries: dict[str, str]
    sides: tuple[Side, ...] = SIDES
    """Who was asked."""
    suite: dict[str, str] = {}
    """Name and sha256 of the suite that was asked; empty for the 35 prompts."""
    sibling: dict[str, str] = {}
    """Digests of the weights of the third column, where there is one."""
    served: dict[str, str] = {}
    """Side -> the name of the model at a server that answered as it; its weights are not known."""


@dataclass(frozen=True, kw_only=True)
class Past:
    """The files of one run, read."""

    name: str
    """How its reader called it."""
    run: Run
    prompts: tuple[Prompt, ...]
    replies: tuple[Reply, ...]
    scored: tuple[Scored, ...]


def write(folder: Path, run: Run, prompts: Sequence[Prompt], replies: Sequence[Reply], scored: Sequence[Scored]) -> None:
    """Write the files of a run, each whole or not at all."""
    jsonl.write_json(folder / RUN, run)
    jsonl.write(folder / PROMPTS, prompts)
    jsonl.write(folder / REPLIES, replies)
    jsonl.write(folder / SCORES, scored)


def read(folder: Path) -> Past:
    """The files of a run that lies in a folder.

    Raises:
        UserError: one is missing or no such file.
    """
    if missing := [name for name in FILES if not (folder / name).is_file()]:
        raise UserError(f"{folder} is no whole run: {', '.join(missing)} is missing. Give the folder that `evaluate` wrote.")
    return read_from(lambda name: folder / name, str(folder))


def read_from(file: Callable[[str], Path], name: str) -> Past:
    """The files of a run that lie wherever `file` says, such as in DVC's cache."""
    return Past(
        name=name,
        run=jsonl.read_json(file(RUN), Run),
        prompts=tuple(jsonl.read(file(PROMPTS), Prompt)),
        replies=tuple(jsonl.read(file(REPLIES), Reply)),
        scored=tuple(jsonl.read(file(SCORES), Scored)),
    )
