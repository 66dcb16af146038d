"""What identifies a chat template together with a tokenizer: digests, control ids and golden token ids.

Written into an adapter's card when it is trained, compared before it is used. Golden ids are the proof,
the digests only say where to look. Knows no card and no verdict.
"""

from __future__ import annotations

import json
from itertools import zip_longest
from typing import Any

from nightgarden import digests
from nightgarden.records import MemoryLine, Turn
from nightgarden.templates import registry
from nightgarden.templates.registry import ChatTemplate

CARD_KEY = "template"
"""Where an adapter's card holds its fingerprint."""

_SYSTEM = Turn(role="system", content="You keep the lighthouse log.")
_ASK = Turn(role="user", content="Is it  7 °C?\n\n1. yes <|im_end|> [/INST]")
_SAY = Turn(role="assistant", content="Nearly, 6.5 °C.")
GOLDEN: dict[str, tuple[list[Turn], list[MemoryLine], list[str]]] = {
    "bare": ([_ASK], [], []),
    "system": ([_SYSTEM, _ASK, _SAY, _ASK], [], []),
    "memory": (
        [_SYSTEM, _ASK],
        [
            MemoryLine(type="episodic", text="Fog at noon.", date="2026-09-01"),
            MemoryLine(type="semantic", text="The lamp is new.", correction=True),
        ],
        ["Be brief."],
    ),
}
"""Chats whose ids are kept: turns, memories, directives. White space, digits and foreign control tokens on purpose."""


def fingerprint(template: ChatTemplate, tokenizer: Any) -> dict[str, Any]:
    """The fingerprint as a JSON value: equal for equal behaviour on any machine."""
    control = sorted({*template.control, template.stop, *filter(None, [tokenizer.bos_token, tokenizer.eos_token])})
    return {
        "name": template.name,
        "template_sha256": digests.sha256_text(template.text),
        "memory_block_sha256": digests.sha256_text(registry.source("memory_block.jinja")),
        "tokenizer_sha256": _tokenizer_digest(tokenizer),
        "control_ids": {token: tokenizer.convert_tokens_to_ids(token) for token in control},
        "golden_ids": {
            case: registry.encode_prompt(template, tokenizer, turns, memories, directives)
            for case, (turns, memories, directives) in GOLDEN.items()
        },
    }


def _tokenizer_digest(tokenizer: Any) -> str:
    """Of all that decides the ids; truncation and padding are a caller's business and change while in use."""
    state = json.loads(tokenizer.backend_tokenizer.to_str())
    state.pop("truncation", None)
    state.pop("padding", None)
    return digests.sha256_text(json.dumps(state, sort_keys=True))


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """A sentence for each field in which two fingerprints differ; empty if they are equal."""
    found = []
    for field in sorted(one.keys() | other.keys()):
        a, b = one.get(field), other.get(field)
        if isinstance(a, dict) and isinstance(b, dict):
            keys = [key for key in sorted(a.keys() | b.keys()) if a.get(key) != b.get(key)]
            found += [f"{field} of {key!r}: {_apart(a.get(key), b.get(key))}" for key in keys]
        elif a != b:
            found.append(f"{field}: {_apart(a, b)}")
    return found


def _apart(one: Any, other: Any) -> str:
    """Two values as far as they tell each other apart."""
    if isinstance(one, list) and isinstance(other, list):
        pairs = zip_longest(one, other)
        place, (a, b) = next((place, pair) for place, pair in enumerate(pairs) if pair[0] != pair[1])
        return f"token {place} is {a} and {b}"
    return " and ".join("nothing" if value is None else str(value)[:16] for value in (one, other))
