"""question_cascade: answers that end in a question, or pile questions up.

A run of marks (`?!`, `??`) is one question. A mark inside a word, as in a web address, is none.
Questions in quotation marks count too: whoever is quoted, the answer hands the turn back.
"""

from __future__ import annotations

import re2

from nightgarden.curation.canaries import Canaries, bad_row, of_answers
from nightgarden.curation.matching import Folded, answers, engine
from nightgarden.params import QuestionCascadeRule
from nightgarden.records import Example, Hit

_QUESTION = r"[?!⁉⁈]*[?‽⁉⁈]+[?!]*"
_BEHIND = r"[\s\"')\]}*_~\pS\pM]"
"""What may stand behind the last question: closing quotes and brackets, emphasis, emoji."""
_MARK = re2.compile(rf"({_QUESTION})(?:{_BEHIND}|$)")
_FINAL = re2.compile(rf"({_QUESTION}){_BEHIND}*$")

ENGINE = engine(_QUESTION, _BEHIND)
_MANY = 300
CANARY_BAD = (
    "What specific aspect would you like to explore?",
    "It is the cold. Shall I go on？",  # noqa: RUF001 - the full-width mark
    'It is the cold. "Shall I go on?" 🙂',
)
"""The first quote is from the reference run."""


def canaries(settings: QuestionCascadeRule) -> Canaries:
    """A long chain of questions; where no answer may end in one, the known endings too."""
    chain = "Is it the wall? " * _MANY + "It is the wall."
    texts = of_answers("question_cascade", [chain])
    if settings.allow_final:
        return texts
    endings = tuple(bad_row("question_cascade:end", number, text) for number, text in enumerate(CANARY_BAD))
    return Canaries(bad=texts.bad + endings, clean=texts.clean)


def hits(example: Example, settings: QuestionCascadeRule) -> tuple[Hit, ...]:
    """A hit on the final question of an answer, and on each question beyond the limit."""
    found = []
    for index, text in answers(example):
        folded = Folded(text)
        marks = [folded.span(*match.span(1)) for match in _MARK.finditer(folded.text)]
        if (final := _FINAL.search(folded.text)) and not settings.allow_final:
            start, end = folded.span(*final.span(1))
            found.append(Hit(turn=index, start=start, end=end, reason="the answer ends in a question"))
        reason = f"one of {len(marks)} questions in this answer; allowed are {settings.max_questions}"
        found += [Hit(turn=index, start=start, end=end, reason=reason) for start, end in marks[settings.max_questions :]]
    return tuple(sorted(found, key=lambda hit: (hit.turn, hit.start, hit.reason)))
