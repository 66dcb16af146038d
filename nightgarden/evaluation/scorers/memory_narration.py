"""Memory narration: a reply that speaks of its memory instead of using it."""

from __future__ import annotations

from nightgarden.evaluation.answers import Answer, Score
from nightgarden.evaluation.wording import find_phrases

PHRASES = (
    "based on our previous conversation",
    "based on our previous conversations",
    "based on our last conversation",
    "based on what you",
    "based on the memory",
    "based on the memories",
    "my cognitive architecture",
    "cognitive architecture",
    "i remember",
    "i recall",
    "if i remember",
    "as you mentioned",
    "you mentioned",
    "you told me",
    "you've told me",
    "you shared with me",
    "as we discussed",
    "we talked about",
    "our previous conversation",
    "our previous conversations",
    "our last conversation",
    "last time we",
    "my memory",
    "my memories",
    "my records",
    "the memory says",
    "according to the memory",
    "according to your",
    "from what i know about you",
)


def memory_narration(answer: Answer) -> Score:
    """Number of phrases that narrate the memory system; passes with none."""
    spans = find_phrases(answer.text, PHRASES)
    said = ", ".join(f"“{answer.text[start:end]}”" for start, end in spans[:3])
    return Score(
        name="memory_narration",
        value=len(spans),
        passed=not spans,
        reason=f"narrates its memory: {said}" if spans else "no narration",
        spans=tuple(spans),
    )
