"""question_cascade: answers that end in a question, or pile questions up.

A run of marks (`?!`, `??`) is one question. A mark inside a word, as in a web address, is none, nor is one in
code (an optional group, a bound value) or in a line that is only an address: nobody is asked there.
Questions in quotation marks count too: whoever is quoted, the answer hands the turn back.
"""

from __future__ import annotations

import re2

from nightgarden.curation.canaries import Canaries, bad_row, of_answers
from nightgarden.curation.matching import CODE, Triggers, answers, code_spans, engine, fold
from nightgarden.records import Example, Hit
from nightgarden.rule_params import QuestionCascadeRule

_QUESTION = r"[?!⁉⁈]*[?‽⁉⁈⸮፧]+[?!]*"
_BEHIND = r"[\s\"')\]}*_~\pS\pM]"
"""What may stand behind the last question: closing quotes and brackets, emphasis, emoji."""
_MARK = re2.compile(rf"({_QUESTION})(?:{_BEHIND}|$)")
_FINAL = re2.compile(rf"({_QUESTION}){_BEHIND}*$")
_GREEK = r"(\p{Greek}{2}\s?);"
"""Greek asks with a semicolon; behind a single letter it parts symbols (`α; β`)."""
_ADDRESS = r"(?m)^[ \t]*\w+://\S+[ \t]*$"
_GREEK_MARK, _ADDRESS_LINE = re2.compile(_GREEK), re2.compile(_ADDRESS)
_ANY = re2.compile(rf"{_QUESTION}|;")

ENGINE = engine(_QUESTION, _BEHIND, _GREEK, _ADDRESS, CODE)
_MANY = 300
CANARY_BAD = (
    "What specific aspect would you like to explore?",
    "It is the cold. Shall I go on？",  # noqa: RUF001 - the full-width mark
    'It is the cold. "Shall I go on?" 🙂',
    "Φταίει το κρύο. Να συνεχίσω;",
)
"""The first quote is from the reference run."""
CANARY_CLEAN = ("Write `walls?` there:\n```sql\nINSERT INTO walls VALUES (?, ?)\n```", "https://example.org/walls?")
"""Marks that ask nobody."""


def canaries(settings: QuestionCascadeRule) -> Canaries:
    """A long chain of questions; where no answer may end in one, the known endings too."""
    chain = "Is it the wall? " * _MANY + "It is the wall."
    texts = of_answers("question_cascade", [chain])
    endings = () if settings.allow_final else CANARY_BAD
    ends = tuple(bad_row("question_cascade:end", number, text) for number, text in enumerate(endings))
    silent = tuple(bad_row("question_cascade:silent", number, text) for number, text in enumerate(CANARY_CLEAN))
    return Canaries(bad=texts.bad + ends, clean=texts.clean + silent)


def triggers(settings: QuestionCascadeRule, prompts: object = ()) -> Triggers:
    """A mark that may be a question's."""
    return Triggers(answers=f"{_QUESTION}|;")


def hits(example: Example, settings: QuestionCascadeRule) -> tuple[Hit, ...]:
    """A hit on the final question of an answer, and on each question beyond the limit."""
    found = []
    for index, text in answers(example):
        folded = fold(text)
        if _ANY.search(folded.text) is None:
            continue
        spoken = _spoken(folded.text)
        marks = [folded.span(*match.span(1)) for match in _MARK.finditer(spoken)]
        if (final := _FINAL.search(spoken)) and not settings.allow_final:
            start, end = folded.span(*final.span(1))
            found.append(Hit(turn=index, start=start, end=end, reason="the answer ends in a question"))
        reason = f"one of {len(marks)} questions in this answer; allowed are {settings.max_questions}"
        found += [Hit(turn=index, start=start, end=end, reason=reason) for start, end in marks[settings.max_questions :]]
    return tuple(sorted(found, key=lambda hit: (hit.turn, hit.start, hit.reason)))


def _spoken(text: str) -> str:
    """The folded text, as long as before, with letters in place of code and of address lines, and Greek questions marked."""
    for start, end in (*code_spans(text), *(match.span() for match in _ADDRESS_LINE.finditer(text))):
        text = text[:start] + "x" * (end - start) + text[end:]
    marked: str = _GREEK_MARK.sub(r"\1?", text)
    return marked
