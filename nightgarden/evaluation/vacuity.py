"""Replies that say nothing: empty ones, and ones that leak the chat format.

An empty reply is a perfect style reply: under a wrong template 34 of 48 replies were empty, and four of
six style scores looked better. A void reply is therefore never a style win. A missing generation prompt
moves no score at all; only the role header at the start of the reply shows it. Knows no template.
"""

from __future__ import annotations

import re

CONTROL = (
    r"<\|[a-z_]{2,30}\|>",  # ChatML, Llama 3, Phi, Zephyr
    r"\[/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|AVAILABLE_TOOLS|TOOL_RESULTS)\]",  # Mistral
    r"</?s>",
    r"<</?SYS>>",  # Llama 2
    r"<(?:start|end)_of_turn>|<bos>|<eos>|<unk>",  # Gemma and SentencePiece
    r"^#{2,3} ?(?:Instruction|Response|Human|Assistant)\b:?",  # Alpaca, Vicuna
    r"</?(?:memory|directives)>",  # our own memory block
)
"""Control text of the chat formats in facts/evaluation.md, sections 2.1 and 2.4."""
LEAKED = re.compile("|".join(CONTROL), re.MULTILINE)
HEADER = re.compile(
    r"\A\s*(?:assistant|user|system)\s*(?::|\n|\Z)|\Amodel\n|^(?:assistant|user|system)[ :]*$", re.IGNORECASE | re.MULTILINE
)


def void_reason(text: str) -> str | None:
    """Why a reply is void, or None if it is a reply."""
    if not re.search(r"\w", text):
        return "empty: no letter or digit in it"
    if leak := LEAKED.search(text):
        return f"leaks control text: {leak.group()!r}"
    if header := HEADER.search(text):
        return f"leaks a role header: {header.group().strip()!r}"
    return None


def leak_span(text: str) -> tuple[tuple[int, int], ...]:
    """Where the leak stands, for the page; nothing for an empty reply."""
    found = LEAKED.search(text) or HEADER.search(text)
    return (found.span(),) if found else ()
