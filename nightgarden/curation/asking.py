"""Asking the teacher, some questions at once, each answer on disk before it counts.

A killed run repeats no call that had finished: answers are kept by all that makes them (model, prompt, input,
temperature, seed, limit, attempt). Knows requests and answers; not what becomes of them.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from nightgarden import jsonl
from nightgarden.chat import Answer, Chat, Declined
from nightgarden.curation.inputs import Input, Request, requests
from nightgarden.curation.rules.secrets import masked
from nightgarden.digests import content_id
from nightgarden.errors import UserError
from nightgarden.params import Synthesis
from nightgarden.records import Record

log = logging.getLogger(__name__)

FOLDER = Path("synthesis")
"""Below the state folder: one file an answer."""
ATTEMPTS = 2
WARMER = 0.3
"""Added to the temperature of the second attempt: with the same seed the same words would come again."""
TOLD_EVERY = 10
"""Rows between two lines in the log."""


class Kept(Record, frozen=True, kw_only=True):
    """A finished call as it lies on disk. An empty or a cut answer is kept as what it is, since it was paid for."""

    model: str
    prompt: str
    prompt_version: str
    input: str
    temperature: float
    text: str
    """Secrets masked: a model may repeat what it was trained on."""
    cut: bool
    prompt_tokens: int | None
    completion_tokens: int | None

    @property
    def fault(self) -> str | None:
        """Why it makes no row: `empty`, `cut`, or None."""
        return "cut" if self.cut else None if self.text.strip() else "empty"


class Call(NamedTuple):
    """One finished call."""

    kept: Kept
    earlier: bool
    """Whether an earlier run had made it."""


class Asked(NamedTuple):
    """What became of one input."""

    input: Input
    answers: tuple[Kept, ...]
    """What the row is made of, one a request; of a failed input those before the one that failed."""
    fault: str | None
    """`empty`, `cut` or `declined`: why there is no row."""
    calls: tuple[Call, ...]
    """All of them, those that failed too."""


class Teacher:
    """A chat with a memory on disk; without one (`cache` is None) it forgets."""

    def __init__(self, chat: Chat, settings: Synthesis, cache: Path | None) -> None:
        self.name = chat.name
        self._chat, self._settings, self._cache = chat, settings, cache
        self._stopped = threading.Event()

    def ask(self, wanted: Mapping[int, int], inputs: Mapping[int, Sequence[Input]], at_once: int) -> Iterator[Asked]:
        """Ask about as many inputs of each op as rows are wanted, and about the next ones where one makes no row.

        Which inputs those are does not depend on who answers first: a next one is asked about only after all before it.

        Args:
            wanted: op -> rows.
            inputs: op -> all that may be asked about, in their order.
            at_once: calls under way at once.

        Returns:
            What became of each, as it is done.

        Raises:
            UserError: the teacher gives no answer at all. Calls under way are waited for, and what was answered is kept.
        """
        waiting = {op: iter(items) for op, items in inputs.items()}
        missing = Counter(wanted)
        num_made, pool = 0, ThreadPoolExecutor(at_once, thread_name_prefix="ask")
        try:
            while batch := [item for op, number in missing.items() for item in islice(waiting[op], number)]:
                for done in as_completed([pool.submit(self._about, item) for item in batch]):
                    asked = done.result()
                    yield asked
                    if asked.fault is None:
                        missing[asked.input.op] -= 1
                        num_made += 1
                        if num_made % TOLD_EVERY == 0:
                            log.info("synthesise: %d of %d rows made", num_made, sum(wanted.values()))
        finally:
            self._stopped.set()
            pool.shutdown(wait=True, cancel_futures=True)

    def _about(self, item: Input) -> Asked:
        answers: list[Kept] = []
        calls: list[Call] = []
        for request in requests(item):
            tries = list(self._tries(request, item))
            calls += tries
            fault = tries[-1].kept.fault if tries else "declined"
            if fault is not None:
                return Asked(item, tuple(answers), fault, tuple(calls))
            answers.append(tries[-1].kept)
        return Asked(item, tuple(answers), None, tuple(calls))

    def _tries(self, request: Request, item: Input) -> Iterator[Call]:
        """The calls for one request, the last of them the one that counts; none where it was declined."""
        for attempt in range(ATTEMPTS):
            call = self._call(request, item, attempt)
            if call is None:
                return
            yield call
            if call.kept.fault is None:
                return

    def _call(self, request: Request, item: Input, attempt: int) -> Call | None:
        temperature = round(self._settings.temperature + attempt * WARMER, 6)
        path = None if self._cache is None else self._cache / f"{self._key(request, temperature, attempt)}.json"
        if path is not None and path.is_file():
            earlier: Kept = jsonl.read_json(path, Kept)
            return Call(earlier, earlier=True)
        answer = self._reach(request, item, temperature)
        if answer is None:
            return None
        kept = Kept(
            model=self.name,
            prompt=request.prompt,
            prompt_version=request.version,
            input=item.id,
            temperature=temperature,
            text=masked(answer.text),
            cut=answer.cut,
            prompt_tokens=answer.prompt_tokens,
            completion_tokens=answer.completion_tokens,
        )
        if path is not None:
            jsonl.write_json(path, kept)
        return Call(kept, earlier=False)

    def _key(self, request: Request, temperature: float, attempt: int) -> str:
        turns = [[turn.role, turn.content] for turn in request.turns]
        return content_id([self.name, turns, temperature, self._settings.max_tokens, self._settings.seed, attempt])

    def _reach(self, request: Request, item: Input, temperature: float) -> Answer | None:
        """An answer, at the second try if need be; None where the server declines this request."""
        for is_last in (False, True):
            if self._stopped.is_set():
                raise CancelledError
            try:
                return self._chat.answer(request.turns, temperature=temperature, max_tokens=self._settings.max_tokens)
            except UserError as error:
                if not is_last:
                    log.warning("synthesise: asked once more, since %s", error)
                elif isinstance(error, Declined):
                    log.warning("synthesise: input %s makes no row: %s", item.id, error)
                else:
                    raise UserError(
                        f"the teacher gave no answer, twice: {error} What it answered so far is kept in {self._cache}: "
                        "run the stage again to ask for the rest."
                    ) from None
        return None
