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


def turn(item: Any, number: int, role_key: str, text_key: str) -> Turn:
    """One turn.

    Raises:
        Malformed: it is no object with a known role and a text, or a tool speaks or is called.
    """
    if not isinstance(item, dict) or role_key not in item or text_key not in item:
        raise Malformed(f"turn {number}: needs {role_key} and {text_key}")
    if item.get("tool_calls") or item.get("function_call"):
        raise Malformed(f"turn {number}: calls a tool, which no template of ours renders")
    return Turn(role=role(item[role_key], number), content=text(item[text_key], number))


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
