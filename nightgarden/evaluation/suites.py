"""Suites: a file of prompts with what a reply must satisfy, in one of three forms.

`.yaml`: a user's own, with settings beside the prompts. `.jsonl`: IFEval's published form, or that of the 35 prompts.
Knows no model.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from pydantic import ValidationError

from nightgarden import jsonl, strict_yaml
from nightgarden.digests import sha256_file
from nightgarden.errors import UserError
from nightgarden.evaluation import ifeval, prompts
from nightgarden.evaluation.ifeval import Item
from nightgarden.evaluation.prompts import SYSTEM, Line
from nightgarden.faults import explain
from nightgarden.params import Evaluation
from nightgarden.records import Constraint, Prompt, Record, Turn

PUBLISHED: dict[str, Any] = {"temperature": 0.0, "seeds": 1, "max_new_tokens": 1280, "max_reply_words": None}
"""How IFEval is asked (Zhou et al. 2023): greedily, 1280 tokens; each prompt says how long its reply is to be."""
SETTABLE = ("seeds", "max_new_tokens", "temperature", "top_p", "max_reply_words")
"""Settings that a suite may bring; the others are no property of prompts."""


class File(Record, frozen=True, kw_only=True):
    """A suite in YAML."""

    prompts: tuple[Line, ...]
    settings: dict[str, Any] = {}


@dataclass(frozen=True, kw_only=True)
class Suite:
    """Prompts and how they are asked."""

    name: str
    """The file's name without its ending."""
    sha: str
    """sha256 of the file."""
    prompts: tuple[Prompt, ...]
    settings: Evaluation


def load(path: Path, base: Evaluation, asked: dict[str, Any] | None = None, count: int | None = None) -> Suite:
    """Read and check a suite.

    Args:
        path: the file.
        base: the settings of params.yaml; a suite's own come over them.
        asked: settings that come over both.
        count: prompts to take, balanced over the categories; None takes all.

    Raises:
        UserError: an unknown ending, a prompt that is none, a setting that is none.
    """
    if path.suffix in (".yaml", ".yml"):
        own, found = _yaml(path)
    elif path.suffix == ".jsonl":
        own, found = _jsonl(path)
    else:
        raise UserError(f'{path}: a suite ends in .yaml or .jsonl. See README, "Suites of your own".')
    if not found:
        raise UserError(f"{path} holds no prompt; give at least one.")
    return Suite(
        name=path.stem,
        sha=sha256_file(path),
        prompts=tuple(prompts.choose(prompts.checked(found, path), count)),
        settings=_settings(path, base, own | (asked or {})),
    )


def _yaml(path: Path) -> tuple[dict[str, Any], list[Prompt]]:
    try:
        file = msgspec.convert(strict_yaml.read(path, "Give the path of a suite."), File)
    except msgspec.ValidationError as error:
        raise UserError(
            f"{path}: {error}. A suite has `prompts`, each with id, category and messages; a date stands in quotes."
        ) from error
    return file.settings, [prompts.with_system(line) for line in file.prompts]


def _jsonl(path: Path) -> tuple[dict[str, Any], list[Prompt]]:
    first = next(jsonl.read_lines(path), b"")
    if b'"instruction_id_list"' in first:
        return PUBLISHED, [as_prompt(item) for item in ifeval.load(path)]
    lines: list[Line] = list(jsonl.read(path, Line))
    return {}, [prompts.with_system(line) for line in lines]


def as_prompt(item: Item) -> Prompt:
    """An item of IFEval as a prompt; its category is the group of its first instruction."""
    return Prompt(
        id=str(item.key),
        category=item.instruction_id_list[0].split(":")[0],
        turns=(Turn(role="system", content=SYSTEM), Turn(role="user", content=item.prompt)),
        constraints=tuple(
            Constraint(kind=kind, args={name: value for name, value in msgspec.structs.asdict(args).items() if value is not None})
            for kind, args in zip(item.instruction_id_list, item.kwargs, strict=True)
        ),
    )


def _settings(path: Path, base: Evaluation, own: dict[str, Any]) -> Evaluation:
    if strange := sorted(set(own) - set(SETTABLE)):
        raise UserError(f"{path}: settings {', '.join(strange)}; a suite may set {', '.join(SETTABLE)}. Remove the others.")
    try:
        return Evaluation.model_validate(base.model_dump() | {"first_tokens": 0} | own)
    except ValidationError as error:
        raise UserError(explain(error, Evaluation, path)) from error
