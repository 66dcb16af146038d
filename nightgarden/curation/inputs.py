"""What new rows are asked about: prompts without their answer, written by hand, one a line.

Knows the files and the prompts for the teacher; asks nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from nightgarden import jsonl
from nightgarden.digests import example_id, sha256_text
from nightgarden.errors import UserError
from nightgarden.records import MemoryLine, Record, Turn
from nightgarden.templates import registry

SEEDS = Path("data/seed/synthesis")
PROMPTS = Path(__file__).parent / "prompts"
OPS_MADE = (1, 2, 3)
"""Op 0 comes from public data sets and is never asked for."""
TARGETS = {1: "op1_stripped", 2: "op2", 3: "op3"}
"""Prompt file for the answer of each op."""
CONTRAST = "op1_contrast"
"""Prompt file for op 1's `meta.contrast`."""


class Input(Record, frozen=True, kw_only=True):
    """A line of the seeds: a row of ours without its last answer."""

    op: int
    messages: tuple[Turn, ...]
    memories: tuple[MemoryLine, ...] = ()
    directives: tuple[str, ...] = ()
    meta: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def id(self) -> str:
        """Content id: the same prompt is the same input in any file."""
        return example_id(self.op, self.messages, self.memories, self.directives)


class Request(NamedTuple):
    """One question for the teacher."""

    prompt: str
    """Name of the prompt file."""
    version: str
    """The first 8 digits of the sha256 of its text: another word makes another version."""
    turns: tuple[Turn, ...]


def read_inputs(root: Path) -> list[Input]:
    """Every input, by op and id: no file name and no position decides which ones are used.

    Raises:
        UserError: a line that is no prompt, or one that stands twice; names its place.
    """
    found: dict[str, tuple[Input, str]] = {}
    for path in sorted((root / SEEDS).glob("*.jsonl")):
        lines: Iterator[Input] = jsonl.read(path, Input)
        for number, item in enumerate(lines, 1):
            place = f"{path.relative_to(root)}:{number}"
            if reason := _fault(item):
                raise UserError(f"{place}: {reason}. Repair the line.")
            if item.id in found:
                raise UserError(f"{place} is the same prompt as {found[item.id][1]}. Remove one of them.")
            found[item.id] = (item, place)
    return sorted((item for item, _ in found.values()), key=lambda item: (item.op, item.id))


def _fault(item: Input) -> str | None:
    """Why no row can come of an input, or None."""
    if item.op not in OPS_MADE:
        return f"op is {item.op}; rows are made of ops {', '.join(map(str, OPS_MADE))}"
    if not item.messages or item.messages[-1].role != "user":
        return "the last turn must be the user's: its answer is what the teacher writes"
    try:
        registry.messages(item.messages, item.memories, item.directives)
    except UserError as error:
        return str(error).rstrip(".")
    if item.op == 2 and item.messages[0].role != "system":
        return "op 2 without a system turn: there is nothing to obey"
    return "op 3 without memories" if item.op == 3 and not item.memories else None


def inputs_for(rows: Sequence[int], root: Path) -> dict[int, list[Input]]:
    """All inputs of each op that rows are wanted of, in the order in which they are asked about: that of their ids.

    Args:
        rows: how many rows of ops 1, 2 and 3.
        root: the checkout.

    Raises:
        UserError: there are fewer inputs than rows; as `read_inputs`.
    """
    found = read_inputs(root) if any(rows) else []
    by_op = {op: [item for item in found if item.op == op] for op, wanted in zip(OPS_MADE, rows, strict=True) if wanted}
    for op, items in by_op.items():
        if len(items) < rows[op - 1]:
            raise UserError(
                f"curation.synthesis.rows wants {rows[op - 1]} rows of op {op}, and {SEEDS} holds {len(items)} prompts for it; "
                "each makes one row at most. Write more of them, or ask for fewer rows."
            )
    return by_op


def requests(item: Input) -> list[Request]:
    """What a row of this input needs: for op 1 the contrast, and then its answer.

    Raises:
        UserError: a prompt file has no place for the system text.
    """
    names = [CONTRAST, TARGETS[item.op]] if item.op == 1 else [TARGETS[item.op]]
    return [_request(name, item) for name in names]


def _request(name: str, item: Input) -> Request:
    text = (PROMPTS / f"{name}.txt").read_text(encoding="utf-8")
    if text.count("{system}") != 1:
        raise UserError(f"{PROMPTS / name}.txt must hold {{system}} once: there the row's own system text stands.")
    own, *spoken = item.messages if item.messages[0].role == "system" else (Turn(role="system", content=""), *item.messages)
    system = registry.system_text(own.content, item.directives, item.memories)
    turns = (Turn(role="system", content=text.replace("{system}", system).strip()), *spoken)
    return Request(prompt=name, version=sha256_text(text)[:8], turns=turns)
