"""placeholder: unfilled slots and the marks of a dry run.

A dry run's rows once passed every later step and nearly reached training. Slots in double braces are
sought everywhere, op 1's contrast included; the other forms in all but user turns, where a person may
well ask about a template. Not sought: single braces (they are code).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from nightgarden.curation.canaries import Canaries, clean_rows, of_answers, row
from nightgarden.curation.matching import ROW, Folded, Patterns, engine, phrase_pattern
from nightgarden.params import PlaceholderRule
from nightgarden.records import Example, Hit, Turn

_BRACES = {"slot in double braces": r"\{\{\s*[^\s{}0-9\\][^{}\n]{0,60}\}\}"}
_SLOTS = {
    "slot in capitals": r"\[[A-Z]{2,}(?:[ _'/&-]+[A-Z0-9]+)*\]",
    "slot to be filled": r"(?i)\[(?:your|insert|fill in|name|date|recipient|company)\b[^\[\]\n]{0,60}\]",
    "slot to be entered": r"(?i)\[(?:enter|add|specify) (?:your|the|an?|name|date|text)\b[^\[\]\n]{0,60}\]",
    "slot with a name": r"(?i)\[[^\[\]\n]{1,40}\b(?:name|number|date|address|title|company|amount|e-?mail)s?(?: here)?\]",
    "slot in angle brackets": r"(?i)<(?:insert|enter|add|fill in|your)\b[^<>\n]{0,60}>",
    "open TODO": r"\b(?:TODO|FIXME|TBD)\b",
}
_CONTROL = {"INST", "SYS", "SYSTEM_PROMPT", "AVAILABLE_TOOLS", "TOOL_CALLS", "TOOL_RESULTS", "TOOL_CONTENT", "IMG", "IMG_END"}
"""Capitals in brackets that are control tokens: the residue rule's."""
_DONE = {"REDACTED", "SIC", "OK"}
"""Capitals in brackets that stand for something else than a slot."""

ENGINE = engine(*_BRACES.values(), *_SLOTS.values(), *sorted(_CONTROL | _DONE))
CANARY_BAD = (
    "I am {{name}}, an AI assistant developed by {{author}}.",
    "Dear [LANDLORD NAME], the fan is broken. Yours, [Your Name]",
    "Ask <insert name> for the key.",
    "Closed on Monday. TODO: add the new hours.",
)


def canaries(settings: PlaceholderRule) -> Canaries:
    """The forms of a slot, every mark of the settings, and a slot in op 1's contrast."""
    texts = of_answers("placeholder", [*CANARY_BAD, *(f"This answer is {marker}." for marker in settings.markers)])
    clean = clean_rows()
    contrast = row("placeholder:contrast", op=1, turns=clean[1].turns, meta={"contrast": CANARY_BAD[0]})
    prompt = row("placeholder:prompt", op=0, turns=(Turn(role="user", content="What is {{topic}}?"), clean[0].turns[1]))
    return Canaries(bad=(*texts.bad, contrast, prompt), clean=clean)


def hits(example: Example, settings: PlaceholderRule) -> tuple[Hit, ...]:
    """Every slot and mark; places outside the turns come as hits on the row that name the place."""
    braces, slots = _patterns(settings.markers)
    return tuple(
        Hit(turn=turn, start=start, end=end, reason=f"{name}{place}")
        for turn, place, text in _texts(example)
        for patterns in ((braces,) if turn != ROW and example.turns[turn].role == "user" else (braces, slots))
        for name, start, end in _located(patterns, turn, text)
    )


@lru_cache(maxsize=4)
def _patterns(markers: tuple[str, ...]) -> tuple[Patterns, Patterns]:
    marks = {f"mark: {marker}": phrase_pattern(marker) for marker in markers}
    return Patterns(_BRACES), Patterns(_SLOTS | marks)


def _located(patterns: Patterns, turn: int, text: str) -> Iterator[tuple[str, int, int]]:
    done: set[tuple[int, int]] = set()
    for name, start, end in patterns.find(Folded(text)):
        before, inside, behind = text[start - 1 : start], text[start + 1 : end - 1].strip("/ "), text[end : end + 1]
        if name == "slot in capitals" and inside in _CONTROL | _DONE:
            continue
        if text[start] == "[" and behind and behind in "([{+*":  # a Markdown link, a class in a regular expression
            continue
        if before == "$" and name in _BRACES or (start, end) in done:  # a workflow's `${{ ... }}`; a slot known by two forms
            continue
        done.add((start, end))
        yield (name, 0, 0) if turn == ROW else (name, start, end)


def _texts(example: Example) -> Iterator[tuple[int, str, str]]:
    """Turn index, where it is said in the reason, text: everything that is rendered, and op 1's contrast."""
    for index, turn in enumerate(example.turns):
        yield index, "", turn.content
    for memory in example.memories:
        yield ROW, " in a memory", memory.text
    for directive in example.directives:
        yield ROW, " in a directive", directive
    if isinstance(contrast := example.meta.get("contrast"), str):
        yield ROW, " in meta.contrast", contrast
