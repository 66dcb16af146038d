"""What travels between the parts of an evaluation: prompts as ids, replies, scores.

Shapes only; no rule, no file, no model.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from nightgarden.records import Prompt, Record

Side = Literal["stock", "adapted", "sibling"]
"""`sibling`: the instruct model of a base model, for the eye; nothing is compared with it."""
SIDES: tuple[Side, ...] = ("stock", "adapted")
"""The two that are compared."""
COLUMNS: tuple[Side, ...] = (*SIDES, "sibling")
"""In the order in which they are shown."""
Pole = Literal["failing", "middle", "excellent"]
POLES: tuple[Pole, ...] = ("failing", "middle", "excellent")


class Answer(Record, frozen=True, kw_only=True):
    """A reply with the prompt that it answers: what a scorer sees."""

    prompt: Prompt
    text: str
    """The reply without its stop token; every other control token stays visible."""
    max_words: int | None
    """Words that a reply may have; None where the prompt alone says how long."""
    truncated: bool = False
    """True when the reply was cut off before its stop token."""


class Score(Record, frozen=True, kw_only=True):
    """What one scorer says about one reply."""

    name: str
    value: float | None
    """What was counted (words, marks, phrases); None for void and not applicable."""
    passed: bool | None
    """None where there is nothing to judge: the reply is void here, or the prompt asks for nothing of the kind."""
    reason: str
    spans: tuple[tuple[int, int], ...] = ()
    """Character spans [start, end) of the reply that the reason speaks of."""


class Reply(Record, frozen=True, kw_only=True):
    """One line of replies.jsonl: what one side wrote for one prompt and seed."""

    prompt: str
    category: str
    seed: int
    side: Side
    prompt_ids: tuple[int, ...]
    """The token ids that the model was given; equal on both sides."""
    prompt_sha: str
    """sha256 of the ids' canonical JSON."""
    reply_ids: tuple[int, ...]
    """Generated ids without the stop token."""
    text: str
    truncated: bool


class Scored(Record, frozen=True, kw_only=True):
    """One line of scores.jsonl: every score of one reply, and its pole."""

    prompt: str
    category: str
    seed: int
    side: Side
    void: str | None
    """Why the reply is void, or None."""
    pole: Pole
    scores: tuple[Score, ...]

    def passed(self, name: str) -> bool | None:
        """The judgement of one scorer by its name."""
        (score,) = [score for score in self.scores if score.name == name]
        return score.passed

    @property
    def complies(self) -> bool:
        """True when the reply is not void and breaks no constraint of its prompt."""
        return self.void is None and self.passed("format_compliance") is not False


def columns(replies: Iterable[Reply]) -> tuple[Side, ...]:
    """The sides that wrote, in the order in which they are shown."""
    there = {reply.side for reply in replies}
    return tuple(side for side in COLUMNS if side in there)
