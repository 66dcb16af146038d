"""Who speaks and what is said in foreign rows, as turns of ours. A misspelt role is a fault, never a guess."""

from __future__ import annotations

from typing import Any

from nightgarden.curation.sources.parsing import Malformed
from nightgarden.records import Role, Turn

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
"""The closed table of roles that a template of ours renders (the ShareGPT dialects, the later name of the system role)."""
TOOL_ROLES = frozenset({"tool", "observation", "function", "function_call"})
"""Roles that are known, and that no template of ours renders."""
DIALECTS = (("role", "content"), ("from", "value"))
"""Keys of role and text, as messages and ShareGPT have them."""

Said = tuple[list[Turn], list[dict[str, Any]]]
"""Turns, and the other keys of each."""


def said(items: Any, key: str, dialect: tuple[str, str] = DIALECTS[0]) -> Said:
    """Turns of a list of objects; they may be in the other dialect than the list's name lets expect.

    Raises:
        Malformed: it is no list, or one of them is no turn.
    """
    if not isinstance(items, list):
        raise Malformed(f"{key} must be a list, this is a {type(items).__name__}")
    if items and isinstance(items[0], dict) and dialect[0] not in items[0]:
        dialect = next((other for other in DIALECTS if other[0] in items[0]), dialect)
    role_key, text_key = dialect
    turns, beside = [], []
    for number, item in enumerate(items, 1):
        turns.append(turn(item, number, role_key, text_key))
        beside.append({name: value for name, value in item.items() if name not in dialect} if len(item) > 2 else {})
    return turns, beside


def turn(item: Any, number: int, role_key: str, text_key: str) -> Turn:
    """One turn.

    Raises:
        Malformed: it is no object with a known role and a text, or a tool speaks or is called.
    """
    if not isinstance(item, dict):
        raise Malformed(f"turn {number}: must be an object, this is a {type(item).__name__}")
    if item.get("tool_calls") or item.get("function_call"):
        raise Malformed(f"turn {number}: calls a tool, which no template of ours renders")
    name, content = item.get(role_key), item.get(text_key)
    known = ROLES.get(name) if type(name) is str else None
    if known is not None and type(content) is str:
        return Turn(role=known, content=content)
    if role_key not in item:
        raise Malformed(f"turn {number}: needs {role_key} and {text_key}")
    known = role(name, number)
    if text_key not in item:
        raise Malformed(f"turn {number}: needs {role_key} and {text_key}")
    return Turn(role=known, content=text(content, number))


def role(name: Any, number: int) -> Role:
    """A role of ours by its foreign name."""
    known = ROLES.get(name.casefold()) if isinstance(name, str) else None
    if known is not None:
        return known
    if isinstance(name, str) and name.casefold() in TOOL_ROLES:
        raise Malformed(f"turn {number}: a tool speaks ({name}), which no template of ours renders")
    raise Malformed(f"turn {number}: unknown role {name!r:.40}; known are {', '.join(sorted({*ROLES, *TOOL_ROLES}))}")


def text(value: Any, number: int) -> str:
    """Text of a turn: a string, or a list of text parts, which are joined by line breaks."""
    if isinstance(value, list) and value:
        parts = [part if isinstance(part, dict) else {} for part in value]
        if strange := sorted({str(part.get("type")) for part in parts if part.get("type") != "text"}):
            raise Malformed(f"turn {number}: a part of the type {', '.join(strange):.60}, of which only text can be rendered")
        value = "\n".join(text(part.get("text"), number) for part in parts)
    if not isinstance(value, str):
        raise Malformed(f"turn {number}: its text must be a string, this is a {type(value).__name__}")
    return value
