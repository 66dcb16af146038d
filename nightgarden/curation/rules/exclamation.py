"""exclamation: exclamation marks and their cousins, with the context that each stands in.

In 1,000 marks of repository prose 521 were Markdown images and 65 code; so the reason names the
context, and a person can see what a zero tolerance costs. The limit counts per turn. Op 1's
contrast is exempt under every scope.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import re2

from nightgarden.curation.canaries import PROMPT, Canaries, bad_row, clean_rows, of_answers
from nightgarden.curation.matching import engine
from nightgarden.digests import example_id
from nightgarden.params import ExclamationRule
from nightgarden.records import Example, Hit

_MARKS = r"[!！﹗︕‼⁉⁈❗❕¡‽ǃ]"
_CONTEXTS = {
    "code": r"(?s)```.*?(?:```|\z)|`[^`\n]+`",
    "a Markdown image": r"!\[[^\]\n]*\]\([^)\n]*\)",
    "a quotation": r"\"[^\"\n]*\"|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»|(?m)^\s*>.*$",
}
_MARK = re2.compile(_MARKS)
_REGIONS = {name: re2.compile(pattern) for name, pattern in _CONTEXTS.items()}

_RUN = re2.compile(r"[?？]*[!！﹗︕‼⁉⁈❗❕¡‽ǃ][!！﹗︕‼⁉⁈❗❕¡‽ǃ?？]*")  # noqa: RUF001
"""A run of marks, question marks among them: what one repair replaces."""
_STOPS = set(".…:;,。")

ENGINE = engine(_MARKS, *_CONTEXTS.values())
_MANY = 300
CANARY_BAD = tuple(f"The wall is cold{mark * _MANY}" for mark in "!！﹗‼⁉❗❕¡") + (
    f"Run `{'!' * _MANY}wall` in the shell.",
    "![wall](wall.png)" * _MANY,
    f'She said "{"cold!" * _MANY}".',
)


def canaries(settings: ExclamationRule) -> Canaries:
    """Every mark, and every context; under `whole_row` a prompt as well."""
    answers = of_answers("exclamation", CANARY_BAD)
    if settings.scope == "assistant":
        return answers
    prompt = bad_row("exclamation:prompt", 0, "It is the cold.", prompt=PROMPT + "!" * _MANY)
    return Canaries(bad=(*answers.bad, prompt), clean=clean_rows())


def hits(example: Example, settings: ExclamationRule) -> tuple[Hit, ...]:
    """A hit for every mark in a turn of the scope that has more than `max_marks` of them."""
    found = []
    for index, turn in enumerate(example.turns):
        if settings.scope == "assistant" and turn.role != "assistant":
            continue
        marks = [match.start() for match in _MARK.finditer(turn.content)]
        if len(marks) > settings.max_marks:
            regions = list(_regions(turn.content))
            found += [Hit(turn=index, start=at, end=at + 1, reason=_reason(at, regions)) for at in marks]
    return tuple(found)


def _regions(text: str) -> Iterator[tuple[str, int, int]]:
    """Contexts with their spans; where two cover a mark, the first counts."""
    return ((name, *match.span()) for name, region in _REGIONS.items() for match in region.finditer(text))


def _reason(at: int, regions: Sequence[tuple[str, int, int]]) -> str:
    context = next((name for name, start, end in regions if start <= at < end), "prose")
    return f"exclamation mark in {context}"


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
            before = text[: match.start()].rstrip(" ")[-1:] if match[0][0] in "❗❕" else text[: match.start()][-1:]
            text = text[: match.start()] + _stop(match[0], before) + text[match.end() :]
    return text


def _stop(run: str, before: str) -> str:
    if set(run) <= {"¡"}:
        return ""
    if set(run) & set("?⁉⁈‽？"):  # noqa: RUF001 - the full-width mark
        return "?"
    return "" if before in _STOPS else "。" if "！" in run else "."  # noqa: RUF001
