"""Instruct-isms: the phrases of an assistant's costume, and the hedges that go with it."""

from __future__ import annotations

from nightgarden.evaluation.answers import Answer, Score
from nightgarden.evaluation.wording import find_phrases

COSTUME = (
    "as an ai",
    "as a language model",
    "ai language model",
    "ai assistant",
    "virtual assistant",
    "i'm just an ai",
    "i don't have personal",
    "i don't have feelings",
    "i'd be happy to",
    "i'd be glad to",
    "i would be happy to",
    "i'm happy to",
    "i'm glad to",
    "happy to help",
    "glad to help",
    "here to help",
    "here to assist",
    "certainly",
    "of course",
    "absolutely",
    "great question",
    "good question",
    "that's a great",
    "that's great to hear",
    "that's wonderful",
    "what a great",
    "what a wonderful",
    "i hope this helps",
    "hope this helps",
    "i hope this",
    "feel free to",
    "let me know if",
    "don't hesitate",
    "you're welcome",
    "how can i help",
    "how can i assist",
    "how may i assist",
    "anything else",
    "i'm sorry to hear",
    "i'm so sorry to hear",
    "i understand that",
    "i understand how",
    "here are some",
    "here are a few",
    "let's dive in",
    "rest assured",
    "in conclusion",
    "delve",
)
"""Seen in instruct-style answers; the curation rule has its own list, on purpose: data and score must not be one."""
HEDGES = (
    "it's important to note",
    "it's important to remember",
    "it is important to",
    "it's essential to",
    "it is essential to",
    "it's worth noting",
    "please note that",
    "keep in mind that",
    "remember that",
    "it's always a good idea",
    "it's always best to",
    "consult with a",
    "consult a professional",
    "seek professional",
    "results may vary",
    "may vary depending on",
    "it depends on various",
    "i cannot provide",
    "i can't provide",
    "i'm not able to provide",
)


def instruct_isms(answer: Answer) -> Score:
    """Number of costume phrases and hedges; passes with none."""
    spans = find_phrases(answer.text, COSTUME + HEDGES)
    said = ", ".join(f"“{answer.text[start:end]}”" for start, end in spans[:3])
    return Score(
        name="instruct_isms",
        value=len(spans),
        passed=not spans,
        reason=f"{len(spans)} instruct-isms: {said}" if spans else "no instruct-ism",
        spans=tuple(spans),
    )
