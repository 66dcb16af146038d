"""The optional rater: a chat model gives each reply 1 to 5, and its scores count only once it has passed its exam.

The anchors stand blind among the replies, in an order that hashes decide, so no random state and no side sets any
apart. Who does not pass gives no score at all, only the reasons. Knows records; no file but the rubric.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Literal

from nightgarden.chat import Chat
from nightgarden.digests import content_id, sha256_text
from nightgarden.evaluation import exam
from nightgarden.evaluation.anchors import Anchor
from nightgarden.evaluation.answers import Reply, Side
from nightgarden.evaluation.exam import ASKED, Exam
from nightgarden.evaluation.judge import Given, Judge, Own, system_text
from nightgarden.records import Prompt, Record

log = logging.getLogger(__name__)

TOLD_EVERY = 25
"""Answers between two lines in the log."""
MAX_SHIFT = 0.3
"""Of the mean score of the anchors, with the persona before the rubric and not behind it (facts/evaluation.md, section 5)."""


@dataclass(frozen=True, kw_only=True)
class Item:
    """A real reply that is to be rated."""

    prompt: Prompt
    seed: int
    side: Side
    text: str


class Rating(Record, frozen=True, kw_only=True):
    """What one reply was given."""

    prompt: str
    seed: int
    side: Side
    score: int | None
    """1..5; None where the judge's answer could not be read."""
    comment: str


class Ratings(Record, frozen=True, kw_only=True):
    """What a rater said, or why it may not say anything."""

    judge: str
    """Name of its model."""
    rubric: str
    """sha256 of rubric and persona."""
    template: Literal["agree", "unverified"]
    """`agree`: our template for the judge's model gives as many tokens as its server read, for every question."""
    seed: int
    """Of the order of asking."""
    exam: Exam
    asked: tuple[str, ...]
    """Anchor of each entry of the exam's key."""
    warnings: tuple[str, ...]
    ratings: tuple[Rating, ...]
    """In the order of the items; empty where the exam was not passed."""


class Shift(Record, frozen=True, kw_only=True):
    """Whether the persona leaks into the score."""

    before: tuple[int | None, ...]
    """Scores of the anchors with the persona before the rubric."""
    after: tuple[int | None, ...]
    """The same with the persona behind the rubric, as `rate` asks."""
    shift: float | None
    """Mean of `before` minus mean of `after`, over anchors that were read both times; None where there is none."""
    warning: str | None


def items(prompts: Sequence[Prompt], replies: Sequence[Reply]) -> list[Item]:
    """The replies of an evaluation, each with its prompt."""
    by_id = {prompt.id: prompt for prompt in prompts}
    return [Item(prompt=by_id[reply.prompt], seed=reply.seed, side=reply.side, text=reply.text) for reply in replies]


def order(wanted: Sequence[Item], anchors: Sequence[Anchor], seed: int) -> dict[str, Anchor | Item]:
    """Items and anchors, each anchor ASKED times, by the hash of seed and name and in its order: equal input, equal order.

    Raises:
        ValueError: two items, or two anchors, have one name.
    """
    found: dict[str, Anchor | Item] = {_key(item, seed): item for item in wanted}
    found |= {content_id([seed, "anchor", anchor.id, time]): anchor for anchor in anchors for time in range(ASKED)}
    if len(found) != (needed := len(wanted) + len(anchors) * ASKED):
        raise ValueError(f"{needed - len(found)} of {needed} questions have the name of another")
    return {key: found[key] for key in sorted(found)}


def _key(item: Item, seed: int) -> str:
    return content_id([seed, "item", item.prompt.id, item.seed, item.side])


def rate(chat: Chat, wanted: Sequence[Item], anchors: Sequence[Anchor], seed: int, *, folder: Path | None = None) -> Ratings:
    """Rate every item, with the anchors blind among them.

    Args:
        chat: the judge.
        wanted: the real replies.
        anchors: all that `anchors.load` gives.
        seed: of the order.
        folder: of the model behind `chat`, to check its template by; None where it is unknown.

    Raises:
        UserError: the judge cannot be reached.
        Refusal: the judge's server renders its questions with another template than its model's.
    """
    judge = Judge(chat=chat, system=system_text(), own=None if folder is None else Own.of(folder))
    questions = order(wanted, anchors, seed)
    given = _ask_all(judge, questions)
    asked = [(what, given[key].score) for key, what in questions.items() if isinstance(what, Anchor)]
    found = exam.examine([anchor.level for anchor, _ in asked], [score for _, score in asked])
    ratings = [_rating(item, given[_key(item, seed)]) for item in wanted] if found.passed else []
    counted = judge.own is not None and judge.own.agreed and all(answer.counted for answer in given.values())
    return Ratings(
        judge=chat.name,
        rubric=sha256_text(judge.system),
        template="agree" if counted else "unverified",
        seed=seed,
        exam=found,
        asked=tuple(anchor.id for anchor, _ in asked),
        warnings=tuple(exam.warnings([rating.score for rating in ratings])),
        ratings=tuple(ratings),
    )


def _ask_all(judge: Judge, questions: Mapping[str, Anchor | Item]) -> dict[str, Given]:
    given: dict[str, Given] = {}
    for number, (key, what) in enumerate(questions.items(), 1):
        given[key] = judge.ask(what.prompt, what.text)
        if number % TOLD_EVERY == 0 or number == len(questions):
            unread = sum(answer.score is None for answer in given.values())
            log.info("%s: %d of %d answers judged, %d of them unreadable", judge.chat.name, number, len(questions), unread)
    return given


def _rating(item: Item, given: Given) -> Rating:
    return Rating(prompt=item.prompt.id, seed=item.seed, side=item.side, score=given.score, comment=given.comment)


def persona_shift(chat: Chat, anchors: Sequence[Anchor], *, folder: Path | None = None) -> Shift:
    """Ask every anchor once with the persona before the rubric and once behind it: a fair judge gives the same.

    Raises:
        UserError: the judge cannot be reached.
        Refusal: the judge's server renders its questions with another template than its model's.
    """
    own = None if folder is None else Own.of(folder)
    before, after = (
        [Judge(chat=chat, system=system_text(persona_first=first), own=own).ask(item.prompt, item.text).score for item in anchors]
        for first in (True, False)
    )
    pairs = [(one, other) for one, other in zip(before, after, strict=True) if one is not None and other is not None]
    shift = fmean(one - other for one, other in pairs) if pairs else None
    return Shift(before=tuple(before), after=tuple(after), shift=shift, warning=_leak(shift, len(pairs), len(anchors)))


def _leak(shift: float | None, pairs: int, of: int) -> str | None:
    """What to warn of, or None."""
    if shift is None:
        return f"whether the persona leaks into the score could not be measured: none of {of} anchors was read both times"
    if abs(shift) > MAX_SHIFT:
        return (
            f"the persona leaks into severity: before the rubric it moves the mean score of {pairs} anchors by {shift:+.2f}; "
            f"up to {MAX_SHIFT} is fine"
        )
    return None
