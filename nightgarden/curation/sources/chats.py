"""The turns of a foreign row, by its shape; what is no part of them is kept beside them.

Knows nothing of files, ops or ids. Nothing is guessed: where a row leaves open who said what, or which of two
texts holds, it raises with that reason.
"""

from __future__ import annotations

from typing import Any

from nightgarden.curation.sources.parsing import Malformed, parse
from nightgarden.curation.sources.roles import DIALECTS, Said, said, text
from nightgarden.records import Role, Turn

Read = tuple[tuple[Turn, ...], dict[str, Any]]
"""The turns of a row, and its keys that are no part of them."""

CHATS = ("messages", "conversations", "conversation")
"""Keys of a list of turns, in the order in which they are looked for."""
ASKED = ("prompt", "question", "query")
TOLD = ("completion", "response")
"""Keys of a question and its answer; of several the first that is there."""


def read_chat(row: dict[str, Any]) -> Read:
    """A list of turns, which may be a JSON text."""
    key = next(key for key in CHATS if key in row)
    rest = {name: value for name, value in row.items() if name != key}
    return _joined(rest, _chat(row, key))


def read_preference(row: dict[str, Any]) -> Read:
    """What was asked and the chosen answer; the rejected one stays beside them.

    The chosen side may repeat what was asked, or hold all of it. A list of turns that ends in an answer
    is the whole chat by itself.
    """
    asked, used = _asked(row)
    if used <= set(CHATS) and asked[0] and asked[0][-1].role == "assistant":
        return read_chat(row)
    if not asked[0] and isinstance(row["chosen"], str):
        raise Malformed("chosen is one text, and nothing was asked: where a turn begins is not told")
    chosen = _side(row["chosen"], "chosen", "assistant")
    rest = {name: value for name, value in row.items() if name not in {*used, "chosen"}}
    return _joined(_with_system_prompt(rest), _whole(asked, chosen) or _both(asked, chosen))


def _asked(row: dict[str, Any]) -> tuple[Said, set[str]]:
    """What was asked before a chosen side, and the keys that hold it."""
    if (key := next((key for key in CHATS if key in row), None)) is not None:
        return _chat(row, key), {key}
    if (key := next((key for key in ASKED if key in row), None)) is not None:
        return _side(row[key], key, "user"), {key}
    if "instruction" in row:
        return ([_alpaca_prompt(row)], [{}]), {"instruction", "input"}
    return ([], []), set()


def read_pair(row: dict[str, Any]) -> Read:
    """A question and its answer, each a text or a list of turns; OpenOrca's `system_prompt` is its system text."""
    asked, told = (next(key for key in keys if key in row) for keys in (ASKED, TOLD))
    rest = {name: value for name, value in row.items() if name not in {asked, told}}
    return _joined(_with_system_prompt(rest), _both(_side(row[asked], asked, "user"), _side(row[told], told, "assistant")))


def read_alpaca(row: dict[str, Any]) -> Read:
    """Instruction, with the input on a line of its own behind it; earlier rounds in `history` come first."""
    rest = {name: value for name, value in row.items() if name not in {"instruction", "input", "output", "history"}}
    turns: list[Turn] = []
    history = row.get("history")
    if not (isinstance(history, list) or history in (None, "")):  # both stand for an empty one in public files
        raise Malformed(f"history must be a list, this is a {type(history).__name__}")
    for round_ in history or ():
        if not (isinstance(round_, list) and len(round_) == 2):
            raise Malformed("history must hold pairs of question and answer")
        turns += [Turn(role="user", content=text(round_[0], 0)), Turn(role="assistant", content=text(round_[1], 0))]
    turns += [_alpaca_prompt(row), Turn(role="assistant", content=_alpaca_text(row, "output"))]
    return _joined(rest, (turns, []))


def _chat(row: dict[str, Any], key: str) -> Said:
    items = row[key]
    if isinstance(items, str):
        try:
            items = parse(items.encode("utf-8", "surrogatepass"))
        except Malformed as error:
            raise Malformed(f"{key} is a text that is no list of turns: {error}") from error
    return said(items, key, DIALECTS[0] if key == "messages" else DIALECTS[1])


def _side(value: Any, key: str, role: Role) -> Said:
    """What one side says: a text of that role, one turn, or a list of turns."""
    if isinstance(value, str):
        return [Turn(role=role, content=value)], [{}]
    if isinstance(value, dict):
        return said([value], key)
    if not isinstance(value, list):
        raise Malformed(f"{key} must be a text or a list of turns, this is a {type(value).__name__}")
    return said(value, key)


def _both(asked: Said, told: Said) -> Said:
    return asked[0] + told[0], asked[1] + told[1]


def _whole(asked: Said, chosen: Said) -> Said | None:
    """The chosen side, if it is a whole chat: it begins with a user; a system turn that only the other side has joins it."""
    spoken = _spoken(chosen[0])
    if not spoken or spoken[0].role != "user":
        return None
    if spoken[: len(_spoken(asked[0]))] != _spoken(asked[0]):
        raise Malformed("the chosen side is a whole chat, but not of what was asked: which one holds is unknown")
    system = [turn for turn in asked[0] if turn.role == "system"]
    if not system or any(turn.role == "system" for turn in chosen[0]):
        return chosen
    return system + chosen[0], [{} for _ in system] + chosen[1]


def _spoken(turns: list[Turn]) -> list[Turn]:
    return [turn for turn in turns if turn.role != "system"]


def _alpaca_prompt(row: dict[str, Any]) -> Turn:
    instruction, extra = _alpaca_text(row, "instruction"), _alpaca_text(row, "input")
    return Turn(role="user", content=f"{instruction}\n{extra}" if extra.strip() else instruction)


def _alpaca_text(row: dict[str, Any], name: str) -> str:
    value = row.get(name, "" if name == "input" else None)
    if not isinstance(value, str):
        raise Malformed(f"{name} must be a text, this is a {type(value).__name__}")
    return value


def _joined(rest: dict[str, Any], chat: Said) -> Read:
    """Turns with the row's `system` column in front; the other keys of the row's own turns stay beside them.

    An empty system text counts as none (OpenHermes is full of them); `rest` then says so.
    """
    turns, beside = chat
    if any(beside):
        if "turns" in rest:
            raise Malformed("turns beside the chat, whose turns have keys of their own: both would be kept under that name")
        rest["turns"] = beside
    if isinstance(rest.get("system"), str):
        turns = _with_column(rest.pop("system"), turns)
    filled = tuple(turn for turn in turns if turn.role != "system" or turn.content.strip())
    if len(filled) < len(turns):
        rest["empty_system"] = True
    return filled, rest


def _with_system_prompt(rest: dict[str, Any]) -> dict[str, Any]:
    """Other keys, with OpenOrca's name of the system column under its usual one."""
    if isinstance(rest.get("system_prompt"), str) and "system" not in rest:
        rest["system"] = rest.pop("system_prompt")
    return rest


def _with_column(column: str, turns: list[Turn]) -> list[Turn]:
    own = [turn.content for turn in turns if turn.role == "system"]
    if column.strip() and own and own != [column]:
        raise Malformed("a system column beside another system turn: which one holds is unknown")
    return turns if own == [column] else [Turn(role="system", content=column), *turns]
