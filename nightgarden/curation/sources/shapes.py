"""Rows of foreign shapes as examples: ours, messages, ShareGPT, Alpaca; sniffed row by row.

Knows nothing of files. A row that fits no shape raises with its reason. A row that fits but is a
faulty example (an empty answer, a last turn by the user) passes: that is for the `schema` rule to
see, where it is counted as a drop and not as a reading fault.
"""

from __future__ import annotations

from typing import Any

import msgspec

from nightgarden.curation.sources.parsing import Malformed
from nightgarden.digests import example_id
from nightgarden.records import Example, MemoryLine, Role, Turn

ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
}
"""The closed table of role names (the ShareGPT dialects, and the later name of the system role).

Tool roles (`tool`, `observation`, `function`, `function_call`) are left out on purpose: no template
of ours renders them. A misspelt role is a fault, never a guess.
"""
OURS = {"op", "memories", "directives"}
"""Keys beside `messages` that make a row one of ours."""
ROW_KEYS = frozenset({"messages", "conversations", "conversation", "instruction"})
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
    if row.get("label") is False:
        raise Malformed("label false: an answer that people rejected")
    shape, read = _shape(row)
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


def _shape(row: dict[str, Any]) -> tuple[str, Any]:
    """Name and reader of the row's shape."""
    if "messages" in row:
        return ("ours" if OURS & row.keys() else "messages"), _read_messages
    if "conversations" in row or "conversation" in row:
        return "sharegpt", _read_sharegpt
    if "instruction" in row and "output" in row:
        return "alpaca", _read_alpaca
    raise Malformed(
        "no known shape: need messages, conversations, or instruction with output; "
        f"the keys are {(', '.join(sorted(row)) or 'none'):.120}"
    )


Read = tuple[tuple[Turn, ...], dict[str, Any]]
"""The turns of a row, and its keys that are no part of them."""


def _read_messages(row: dict[str, Any]) -> Read:
    return _chat(row, "messages", "role", "content")


def _read_sharegpt(row: dict[str, Any]) -> Read:
    return _chat(row, "conversations" if "conversations" in row else "conversation", "from", "value")


def _chat(row: dict[str, Any], key: str, role_key: str, text_key: str) -> Read:
    """Turns of a list of objects; other keys of its objects are kept beside them, by turn."""
    rest = {name: value for name, value in row.items() if name != key}
    if not isinstance(row[key], list):
        raise Malformed(f"{key} must be a list, this is a {type(row[key]).__name__}")
    turns: list[Turn] = []
    beside = []
    for item in row[key]:
        if not isinstance(item, dict) or role_key not in item or text_key not in item:
            raise Malformed(f"turn {len(turns) + 1}: needs {role_key} and {text_key}")
        if item.get("tool_calls"):
            raise Malformed(f"turn {len(turns) + 1}: calls a tool, which no template of ours renders")
        turns.append(Turn(role=_role(item[role_key], len(turns) + 1), content=_text(item[text_key], len(turns) + 1)))
        beside.append({name: value for name, value in item.items() if name not in {role_key, text_key}})
    if any(beside):
        rest["turns"] = beside
    return _with_system(rest, turns), rest


def _read_alpaca(row: dict[str, Any]) -> Read:
    """Instruction, with the input on a line of its own behind it; earlier rounds in `history` come first."""
    rest = {name: value for name, value in row.items() if name not in {"instruction", "input", "output", "history"}}
    instruction, extra, answer = (_alpaca_text(row, name) for name in ("instruction", "input", "output"))
    turns: list[Turn] = []
    history = row.get("history")
    if not (isinstance(history, list) or history in (None, "")):  # both stand for an empty one in public files
        raise Malformed(f"history must be a list, this is a {type(history).__name__}")
    for round_ in history or ():
        if not (isinstance(round_, list) and len(round_) == 2):
            raise Malformed("history must hold pairs of question and answer")
        turns += [Turn(role="user", content=_text(round_[0], 0)), Turn(role="assistant", content=_text(round_[1], 0))]
    prompt = f"{instruction}\n{extra}" if extra.strip() else instruction
    turns += [Turn(role="user", content=prompt), Turn(role="assistant", content=answer)]
    return _with_system(rest, turns), rest


def _alpaca_text(row: dict[str, Any], name: str) -> str:
    value = row.get(name, "" if name == "input" else None)
    if not isinstance(value, str):
        raise Malformed(f"{name} must be a text, this is a {type(value).__name__}")
    return value


def _with_system(rest: dict[str, Any], turns: list[Turn]) -> tuple[Turn, ...]:
    """Turns with the row's `system` column in front.

    An empty system text counts as none (OpenHermes is full of them); `rest` then says so.
    """
    if isinstance(rest.get("system"), str):
        column = rest.pop("system")
        if column.strip() and any(turn.role == "system" for turn in turns):
            raise Malformed("a system column beside a system turn: which one holds is unknown")
        turns = [Turn(role="system", content=column), *turns]
    filled = tuple(turn for turn in turns if turn.role != "system" or turn.content.strip())
    if len(filled) < len(turns):
        rest["empty_system"] = True
    return filled


def _role(name: Any, number: int) -> Role:
    role = ROLES.get(name.casefold()) if isinstance(name, str) else None
    if role is None:
        raise Malformed(f"turn {number}: unknown role {name!r:.40}; known are {', '.join(sorted(ROLES))}")
    return role


def _text(value: Any, number: int) -> str:
    """Text of a turn: a string, or a list with one text part."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) and value[0].get("type") == "text":
        value = value[0].get("text")
    if not isinstance(value, str):
        raise Malformed(f"turn {number}: its text must be a string, this is a {type(value).__name__}")
    return value


def _ours(rest: dict[str, Any]) -> tuple[tuple[MemoryLine, ...], tuple[str, ...], dict[str, Any]]:
    """Memories, directives and meta of a row of ours, taken out of `rest`."""
    try:
        memories = msgspec.convert(rest.pop("memories", []), tuple[MemoryLine, ...])
        directives = msgspec.convert(rest.pop("directives", []), tuple[str, ...])
        meta = msgspec.convert(rest.pop("meta", {}), dict[str, Any])
    except msgspec.ValidationError as error:
        raise Malformed(f"memories, directives or meta: {error}") from error
    return memories, directives, meta
