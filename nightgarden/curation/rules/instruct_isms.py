"""instruct_isms: the stock phrases of an assistant, in answers only.

Op 1's contrast is full of them by design and is exempt, like every user and system turn.
"""

from __future__ import annotations

from nightgarden.curation.canaries import Canaries, of_answers
from nightgarden.curation.matching import NEVER, Triggers, engine, phrase_hits, phrase_pattern
from nightgarden.records import Example, Hit
from nightgarden.rule_params import PhraseRule

ENGINE = engine(phrase_pattern("a phrase"))
CANARY_BAD = (
    "I'd be happy to help you with that.",
    "I’d\u00a0be happy\nto help you with that.",  # noqa: RUF001 - the forms that a plain regex misses
    "As an A\u200bI, I have no clock.",
    "_I'd be **happy** to_ help you with that.",
)


def canaries(settings: PhraseRule) -> Canaries:
    """Four spellings of known phrases, and every phrase of the settings: none of them may be dead."""
    return of_answers("instruct_isms", [*CANARY_BAD, *(f"Well, {phrase} then." for phrase in settings.phrases)])


def triggers(settings: PhraseRule, prompts: object = ()) -> Triggers:
    """The phrases."""
    return Triggers(answers="|".join(map(phrase_pattern, settings.phrases)) or NEVER)


def hits(example: Example, settings: PhraseRule) -> tuple[Hit, ...]:
    """Every phrase of the settings in an answer."""
    return phrase_hits(example, settings.phrases, "instruct-ism")
