"""Asking a chat model for judgements, one item a call, each answer kept on disk at once.

A killed run repeats no call: answers are stored by model, prompt, scale, temperature and item. Knows
prompts and answers; does not know days or which items deserve a question.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from nightgarden import jsonl
from nightgarden.chat import Chat
from nightgarden.chat.opening import open_chat
from nightgarden.digests import content_id, sha256_text
from nightgarden.params import Night
from nightgarden.records import SCHEMA, Head, Label, Turn
from nightgarden.teacher import scales
from nightgarden.teacher.items import Item

if TYPE_CHECKING:
    from nightgarden.stage import Place

log = logging.getLogger(__name__)

PROMPTS = Path(__file__).parent / "prompts"
MAX_TOKENS: dict[Head, int] = {"importance": 32, "appraisal": 192, "reaction": 32, "relevance": 32, "interest": 32}
"""Three times a well-formed answer; a longer one is cut, does not parse and counts as missing."""
RETRY_WARMER = 0.3
"""Added to the temperature of the one retry: with the same seed the same words would come again."""
TOLD_EVERY = 50
"""Answers between two lines in the log."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """What one task's questions brought, in the order of asking."""

    task: Head
    labels: list[Label]
    asked: int
    left: int = 0
    """Items beyond the night's cap that were not asked about."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One stored exchange; the last raw reply holds the value, if any does."""

    model: str
    prompt: str
    item: str
    raw: list[str]


def open_judge(settings: Night, root: Path, place: Place) -> AbstractContextManager[Chat]:
    """The teacher that the settings name, for the length of a `with` block.

    Raises:
        UserError: a model is named and no server is known.
    """
    return open_chat(settings.teacher.model, root, place, seed=settings.student.seed, setting="night.teacher.model")


def prompt_of(task: Head) -> tuple[str, str]:
    """A task's instruction and its version: a changed word makes a new generation of labels."""
    text = (PROMPTS / f"{task}.md").read_text(encoding="utf-8")
    return text, sha256_text(text)[:8]


def ask(task: Head, wanted: Sequence[Item], *, judge: Chat, temperature: float, cache: Path) -> Batch:
    """Judge every item, from the cache where the same question was answered before.

    Args:
        task: names the prompt and the scale.
        wanted: items in the order of asking.
        judge: who answers; its name stands on the labels.
        temperature: of every first try.
        cache: folder outside DVC; answers go below `teacher/`.

    Raises:
        UserError: the server does not answer at all; what it answered before is kept.
    """
    prompt, version = prompt_of(task)
    labels, fresh = [], 0
    for number, item in enumerate(wanted, 1):
        question = item.text if item.pair is None else f"Said: {item.text}\nMemory: {item.pair}"
        key = content_id([judge.name, prompt, scales.answer_schema(task), temperature, question])
        path = cache / "teacher" / f"{key}.json"
        if path.is_file():
            answer: Answer = jsonl.read_json(path, Answer)
        else:
            raw = _exchange(judge, task, prompt, question, temperature)
            answer = Answer(model=judge.name, prompt=version, item=item.id, raw=raw)
            jsonl.write_json(path, answer)
            fresh += 1
        value = scales.read_answer(task, answer.raw[-1])
        if value is not None:
            labels.append(Label(schema=SCHEMA, task=task, item=item.id, value=value, by=f"{judge.name}@{version}"))
        if number % TOLD_EVERY == 0 or number == len(wanted):
            log.info("%s: %d of %d asked, %d of them now, %d readable", task, number, len(wanted), fresh, len(labels))
    return Batch(task=task, labels=labels, asked=len(wanted))


def _exchange(chat: Chat, task: Head, prompt: str, question: str, temperature: float) -> list[str]:
    """Raw replies to one question: one, or two where the first could not be read.

    The failed answer is not shown to the model again.
    """
    turns = (Turn(role="system", content=prompt), Turn(role="user", content=question))
    raw: list[str] = []
    for warmth in (temperature, temperature + RETRY_WARMER):
        raw.append(chat.reply(turns, temperature=warmth, max_tokens=MAX_TOKENS[task], schema=scales.answer_schema(task)))
        if scales.read_answer(task, raw[-1]) is not None:
            break
    return raw
