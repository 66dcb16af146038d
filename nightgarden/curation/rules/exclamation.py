"""exclamation: exclamation marks and their cousins, with the context that each stands in.

In 1,000 marks of repository prose 521 were Markdown images and 65 code; so the reason names the
context, and a person can see what a zero tolerance costs; `contexts` narrows it. The limit counts per
turn. Op 1's contrast is exempt under every scope. Letters that look like a mark are none: the click of ǃKung.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import re2

from nightgarden.curation.canaries import PROMPT, Canaries, bad_row, clean_rows, of_answers
from nightgarden.curation.matching import CODE, Triggers, engine
from nightgarden.digests import example_id
from nightgarden.records import Example, Hit
from nightgarden.rule_params import ExclamationContext, ExclamationRule

_CHARACTERS = "!！﹗︕‼⁉⁈❗❕❢❣¡‽⸘⹓🙹🙺🙻՜߹᥄𞥞"
"""What Unicode 16 calls an exclamation mark or an interrobang, but for letters and the buttons 🆙 and 🔛."""
_MARKS = f"[{_CHARACTERS}]"
_CONTEXTS = {
    "code": CODE,
    "a Markdown image": r"!\[[^\]\n]*\]\([^)\n]*\)",
    "a quotation": r"\"[^\"\n]*\"|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»|(?m)^\s*>.*$",
}
_TOLD: dict[ExclamationContext, str] = {
    "prose": "prose",
    "code": "code",
    "markdown_image": "a Markdown image",
    "quotation": "a quotation",
}
"""How a reason names each context of the settings; what is none of the others is prose."""
_MARK = re2.compile(_MARKS)
_REGIONS = {name: re2.compile(pattern) for name, pattern in _CONTEXTS.items()}

_RUN = re2.compile(rf"[?？]*[{_CHARACTERS}][{_CHARACTERS}?？]*")
"""A run of marks, question marks among them: what one repair replaces."""
_STOPS = set(".…:;,。")

ENGINE = engine(_MARKS, *_CONTEXTS.values())
_MANY = 300
_KNOWN: dict[ExclamationContext, tuple[str, ...]] = {
    "prose": tuple(f"The wall is cold{mark * _MANY}" for mark in "!！﹗‼⁉❗❕❣¡՜"),
    "code": (f"Run `{'!' * _MANY}wall` in the shell.", f"Run\n```\n{'!' * _MANY}wall\n```"),
    "markdown_image": ("![wall](wall.png)" * _MANY,),
    "quotation": (f'She said "{"cold!" * _MANY}".',),
}
CANARY_BAD = tuple(text for texts in _KNOWN.values() for text in texts)


def canaries(settings: ExclamationRule) -> Canaries:
    """Every mark, and every context: clean where marks do not count there; under `whole_row` a prompt as well."""
    answers = of_answers("exclamation", [text for context in settings.contexts for text in _KNOWN[context]])
    spared = [text for context, texts in _KNOWN.items() if context not in settings.contexts for text in texts]
    clean = clean_rows() + tuple(bad_row("exclamation:spared", number, text) for number, text in enumerate(spared))
    if settings.scope == "assistant" or "prose" not in settings.contexts:
        return Canaries(bad=answers.bad, clean=clean)
    prompt = bad_row("exclamation:prompt", 0, "It is the cold.", prompt=PROMPT + "!" * _MANY)
    return Canaries(bad=(*answers.bad, prompt), clean=clean)


def triggers(settings: ExclamationRule, prompts: object = ()) -> Triggers:
    """A mark: each of them folds to itself or to another."""
    return Triggers(answers=_MARKS, others=_MARKS if settings.scope == "whole_row" else None)


def hits(example: Example, settings: ExclamationRule) -> tuple[Hit, ...]:
    """A hit for every mark that counts, in a turn of the scope that has more than `max_marks` of them."""
    contexts = {_TOLD[context] for context in settings.contexts}
    found = []
    for index, turn in enumerate(example.turns):
        if settings.scope == "assistant" and turn.role != "assistant":
            continue
        marks = [(at, context) for at, context in _marks(turn.content) if context in contexts]
        if len(marks) > settings.max_marks:
            found += [Hit(turn=index, start=at, end=at + 1, reason=f"exclamation mark in {context}") for at, context in marks]
    return tuple(found)


def _marks(text: str) -> Iterator[tuple[int, str]]:
    """Where each mark stands, and in which context."""
    places = [match.start() for match in _MARK.finditer(text)]
    regions = list(_regions(text)) if places else []
    for at in places:
        yield at, next((name for name, start, end in regions if start <= at < end), _TOLD["prose"])


def _regions(text: str) -> Iterator[tuple[str, int, int]]:
    """Contexts with their spans; where two cover a mark, the first counts."""
    return ((name, *match.span()) for name, region in _REGIONS.items() for match in region.finditer(text))


def repair(example: Example, settings: ExclamationRule) -> Example:
    """The example with a full stop where an assistant's prose exclaims, under its new id; code and images stay as they are.

    A mark beside a question mark goes, an inverted one too; after a full stop, or in a run, one stop is enough.
    """
    turns = tuple(
        msgspec.structs.replace(turn, content=_calm(turn.content)) if turn.role == "assistant" else turn for turn in example.turns
    )
    id_ = example_id(example.op, turns, example.memories, example.directives)
    return msgspec.structs.replace(example, id=id_, turns=turns)


def _calm(text: str) -> str:
    fixed = [match.span() for name in ("code", "a Markdown image") for match in _REGIONS[name].finditer(text)]
    for match in reversed(list(_RUN.finditer(text))):
        if not any(start <= match.start() < end for start, end in fixed):
            before = text[: match.start()].rstrip(" ")[-1:] if match[0][0] in "❗❕❢❣" else text[: match.start()][-1:]
            text = text[: match.start()] + _stop(match[0], before) + text[match.end() :]
    return text


def _stop(run: str, before: str) -> str:
    if set(run) <= set("¡՜𞥞"):  # they open a sentence, or stand inside a word
        return ""
    if set(run) & set("?⁉⁈‽⸘🙹🙺🙻？"):  # noqa: RUF001 - the full-width mark
        return "?"
    return "" if before in _STOPS else "。" if "！" in run else "."  # noqa: RUF001
