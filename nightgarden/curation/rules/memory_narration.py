"""memory_narration: answers that talk about remembering instead of using what is remembered."""

from __future__ import annotations

from nightgarden.curation.canaries import Canaries, of_answers
from nightgarden.curation.matching import NEVER, Triggers, engine, phrase_hits, phrase_pattern
from nightgarden.records import Example, Hit
from nightgarden.rule_params import PhraseRule

ENGINE = engine(phrase_pattern("a phrase"))
CANARY_BAD = (
    "Based on our previous conversations, the hall faces north.",
    "My cognitive architecture allows me to see that the hall faces north.",
)
"""The first two quotes are from the reference run, where such answers were trained on."""


def canaries(settings: PhraseRule) -> Canaries:
    """The quotes of the reference run, and every phrase of the settings: none of them may be dead."""
    return of_answers("memory_narration", [*CANARY_BAD, *(f"Well, {phrase} then." for phrase in settings.phrases)])


def triggers(settings: PhraseRule, prompts: object = ()) -> Triggers:
    """The phrases."""
    return Triggers(answers="|".join(map(phrase_pattern, settings.phrases)) or NEVER)


def hits(example: Example, settings: PhraseRule) -> tuple[Hit, ...]:
    """Every phrase of the settings in an answer."""
    return phrase_hits(example, settings.phrases, "memory narration")
