"""Rows of foreign shapes as examples, sniffed row by row.

By their keys, of which the first that is there decides: `messages` with `op`, `memories` or `directives` (ours);
`chosen` (preference pairs: the chosen side behind what was asked, or alone); `messages`, `conversations` or
`conversation` (a list of turns, or that as a JSON text); `prompt`, `question` or `query` with `completion` or
`response` (OpenOrca has a `system_prompt` too); `instruction` with `output` (Alpaca). A row with `label` false is one
that people rejected. Every other key stays in `meta.foreign`.
Knows nothing of files. A row that fits no shape raises with its reason. A row that fits but is a
faulty example (an empty answer, a last turn by the user) passes: that is for the `schema` rule to
see, where it is counted as a drop and not as a reading fault.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from nightgarden.curation.sources.chats import ASKED, CHATS, TOLD, Read, read_alpaca, read_chat, read_pair, read_preference
from nightgarden.curation.sources.parsing import Malformed
from nightgarden.digests import example_id
from nightgarden.records import Example, MemoryLine

OURS = frozenset({"op", "memories", "directives"})
"""Keys beside `messages` that make a row one of ours."""
ROW_KEYS = frozenset({"messages", "conversations", "conversation", "chosen", "completion", "instruction", "response"})
"""Every row of a known shape has one of these."""
RESERVED = ("outside", "shape")
"""Keys of `meta` that only ingest writes."""


def to_example(row: Any, source: str, op: int | None) -> Example:
    """The example that a row holds.

    Args:
        row: one parsed JSON value.
        source: name of the source in params.yaml; becomes `meta.source` unless a row of ours names its own.
        op: op for every row of an outside file, 0..3; None where rows carry their own.

    Raises:
        Malformed: the row fits no shape, has no op, or holds an answer that is marked as a bad one.
    """
    if not isinstance(row, dict):
        raise Malformed(f"a row must be an object, this is a {type(row).__name__}")
    shape, read = _shape(row)
    if "label" in row:
        _refuse_rejected(row["label"], shape)
    turns, rest = read(row)
    if not turns:
        raise Malformed("no turns")
    if op is None and not (shape == "ours" and "op" in row):
        raise Malformed(f"the row carries no op: give `op` in params.yaml, curation.sources.{source}")
    memories, directives, meta = _ours(rest) if shape == "ours" else ((), (), {})
    own_op = rest.pop("op", None) if shape == "ours" and op is None else op
    if type(own_op) is not int or not 0 <= own_op <= 3:
        raise Malformed("op must be a whole number from 0 to 3")
    meta = {"source": source} | meta
    foreign = rest | {key: meta.pop(key) for key in RESERVED if key in meta}
    if foreign:
        meta["foreign"] = foreign
    if op is not None:
        meta |= {"source": source, "outside": True, "shape": shape}
    return Example(
        id=example_id(own_op, turns, memories, directives),
        op=own_op,
        turns=turns,
        memories=memories,
        directives=directives,
        meta=meta,
    )


def is_ours(row: Any) -> bool:
    """Whether a parsed row is one of ours with an op of its own."""
    return isinstance(row, dict) and {"op", "messages"} <= row.keys()


def _refuse_rejected(label: Any, shape: str) -> None:
    """A rated answer is taken if its label is true; in another shape only `false` is a rating, the rest a key like others."""
    if label is False:
        raise Malformed("label false: an answer that people rejected")
    if shape == "completion" and label is not True and label is not None:
        raise Malformed(f"label {label!r:.40}: whether people rejected the answer is told by true or false")


def _shape(row: dict[str, Any]) -> tuple[str, Callable[[dict[str, Any]], Read]]:
    """Name and reader of the row's shape."""
    keys = row.keys()
    if "messages" in keys and keys & OURS:
        return "ours", read_chat
    if "chosen" in keys:
        return "preference", read_preference
    if "messages" in keys:
        return "messages", read_chat
    if "conversations" in keys or "conversation" in keys:
        return "sharegpt", read_chat
    if ("completion" in keys or "response" in keys) and not keys.isdisjoint(ASKED):
        return ("completion" if "completion" in keys else "response"), read_pair
    if "instruction" in keys and "output" in keys:
        return "alpaca", read_alpaca
    if isinstance(row.get("text"), str):
        raise Malformed("one text for a whole chat: where a turn begins is not told; give turns, as messages or conversations")
    raise Malformed(
        f"no known shape: need {', '.join(CHATS)}, chosen, {'/'.join(ASKED)} with {'/'.join(TOLD)}, or instruction with output; "
        f"the keys are {(', '.join(sorted(row)) or 'none'):.120}"
    )


def _ours(rest: dict[str, Any]) -> tuple[tuple[MemoryLine, ...], tuple[str, ...], dict[str, Any]]:
    """Memories, directives and meta of a row of ours, taken out of `rest`."""
    try:
        memories = msgspec.convert(rest.pop("memories", []), tuple[MemoryLine, ...])
        directives = msgspec.convert(rest.pop("directives", []), tuple[str, ...])
        meta = msgspec.convert(rest.pop("meta", {}), dict[str, Any])
    except msgspec.ValidationError as error:
        raise Malformed(f"memories, directives or meta: {error}") from error
    return memories, directives, meta
