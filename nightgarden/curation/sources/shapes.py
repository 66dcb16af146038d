"""Rows of foreign shapes as examples, sniffed row by row.

By their keys, of which the first that is there decides: `messages` (ours with `op`, `memories` or
`directives`); `conversations` or `conversation` (ShareGPT, also as a JSON string); `chosen` (preference
pairs: the chosen side, with `prompt` or without); `prompt` with `completion`; `instruction` with `output`
(Alpaca); `question` or `query` with `response` (OpenOrca with its `system_prompt`). A row with `label`
false is one that people rejected. Every other key stays in `meta.foreign`.
Knows nothing of files. A row that fits no shape raises with its reason. A row that fits but is a
faulty example (an empty answer, a last turn by the user) passes: that is for the `schema` rule to
see, where it is counted as a drop and not as a reading fault.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from nightgarden.curation.sources import roles
from nightgarden.curation.sources.parsing import Malformed, parse
from nightgarden.digests import example_id
from nightgarden.records import Example, MemoryLine, Role, Turn

OURS = {"op", "memories", "directives"}
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


def _shape(row: dict[str, Any]) -> tuple[str, Reader]:
    """Name and reader of the row's shape."""
    if "messages" in row:
        return ("ours" if OURS & row.keys() else "messages"), _read_messages
    for shape, (keys, read) in SHAPES.items():
        if all(any(key in row for key in either) for either in keys):
            return shape, read
    if isinstance(row.get("text"), str):
        raise Malformed("one text for a whole chat: where a turn begins is not told; give turns, as messages or conversations")
    needed = " or ".join(" with ".join("/".join(either) for either in keys) for keys, _ in SHAPES.values())
    raise Malformed(f"no known shape: need messages or {needed}; the keys are {(', '.join(sorted(row)) or 'none'):.120}")


Read = tuple[tuple[Turn, ...], dict[str, Any]]
"""The turns of a row, and its keys that are no part of them."""
Reader = Callable[[dict[str, Any]], Read]


def _read_messages(row: dict[str, Any]) -> Read:
    return _chat(row, "messages", "role", "content")


def _read_sharegpt(row: dict[str, Any]) -> Read:
    key = "conversations" if "conversations" in row else "conversation"
    if isinstance(row[key], str):
        row = row | {key: parse(row[key].encode("utf-8", "surrogatepass"))}
    items = row[key]
    is_messages = isinstance(items, list) and bool(items) and isinstance(items[0], dict) and "role" in items[0]
    return _chat(row, key, "role", "content") if is_messages else _chat(row, key, "from", "value")


def _chat(row: dict[str, Any], key: str, role_key: str, text_key: str) -> Read:
    """Turns of a list of objects; other keys of its objects are kept beside them, by turn."""
    rest = {name: value for name, value in row.items() if name != key}
    turns, beside = _turns(row[key], key, role_key, text_key)
    if any(beside):
        rest["turns"] = beside
    return _with_system(rest, turns), rest


def _turns(items: Any, key: str, role_key: str, text_key: str) -> tuple[list[Turn], list[dict[str, Any]]]:
    """Turns of a list of objects, and the other keys of each."""
    if not isinstance(items, list):
        raise Malformed(f"{key} must be a list, this is a {type(items).__name__}")
    turns = [roles.turn(item, number, role_key, text_key) for number, item in enumerate(items, 1)]
    return turns, [{name: value for name, value in item.items() if name not in {role_key, text_key}} for item in items]


def _read_preference(row: dict[str, Any]) -> Read:
    """The chosen side; the rejected one is kept as a foreign key."""
    rest = {name: value for name, value in row.items() if name not in {"prompt", "chosen"}}
    turns = _side(row.get("prompt"), "prompt", "user")
    chosen = _side(row["chosen"], "chosen", "assistant")
    is_whole = len(chosen) > 1 and chosen[: len(turns)] == turns  # a side that repeats the prompt
    return _with_system(rest, chosen if is_whole else [*turns, *chosen]), rest


def _read_completion(row: dict[str, Any]) -> Read:
    rest = {name: value for name, value in row.items() if name not in {"prompt", "completion"}}
    return _with_system(rest, _side(row["prompt"], "prompt", "user") + _side(row["completion"], "completion", "assistant")), rest


def _read_response(row: dict[str, Any]) -> Read:
    asked = "question" if "question" in row else "query"
    rest = {name: value for name, value in row.items() if name not in {asked, "response"}}
    if "system_prompt" in rest and "system" not in rest:
        rest["system"] = rest.pop("system_prompt")
    return _with_system(rest, _side(row[asked], asked, "user") + _side(row["response"], "response", "assistant")), rest


def _side(value: Any, key: str, role: Role) -> list[Turn]:
    """What one side says: a text of that role, or a list of messages; nothing where it is not there."""
    if value is None:
        return []
    if isinstance(value, list):
        return _turns(value, key, "role", "content")[0]
    if not isinstance(value, str):
        raise Malformed(f"{key} must be a text or a list of messages, this is a {type(value).__name__}")
    return [Turn(role=role, content=value)]


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
        turns += [Turn(role="user", content=roles.text(round_[0], 0)), Turn(role="assistant", content=roles.text(round_[1], 0))]
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


def _ours(rest: dict[str, Any]) -> tuple[tuple[MemoryLine, ...], tuple[str, ...], dict[str, Any]]:
    """Memories, directives and meta of a row of ours, taken out of `rest`."""
    try:
        memories = msgspec.convert(rest.pop("memories", []), tuple[MemoryLine, ...])
        directives = msgspec.convert(rest.pop("directives", []), tuple[str, ...])
        meta = msgspec.convert(rest.pop("meta", {}), dict[str, Any])
    except msgspec.ValidationError as error:
        raise Malformed(f"memories, directives or meta: {error}") from error
    return memories, directives, meta


SHAPES: dict[str, tuple[tuple[tuple[str, ...], ...], Reader]] = {
    "sharegpt": ((("conversations", "conversation"),), _read_sharegpt),
    "preference": ((("chosen",),), _read_preference),
    "completion": ((("prompt",), ("completion",)), _read_completion),
    "alpaca": ((("instruction",), ("output",)), _read_alpaca),
    "response": ((("question", "query"), ("response",)), _read_response),
}
"""Shapes beside `messages`, in the order in which they are tried: the keys that a row needs, one of each group."""
