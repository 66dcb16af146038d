"""The `synthesise` stage: new rows of ops 1 to 3, written by a teacher, among those that ingest took.

Each new row says who wrote it, with which prompt and about what. An answer that is empty or cut makes no row; one
that is merely bad does, and the rules judge it like any other. Knows nothing of what a good answer is.
"""

from __future__ import annotations

import heapq
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from nightgarden.chat import Answer, Chat
from nightgarden.chat.opening import open_chat
from nightgarden.curation.accounts import Key, Report, keys, order, settle
from nightgarden.curation.asking import FOLDER, Asked, Kept, Teacher
from nightgarden.curation.inputs import OPS_MADE, inputs_for
from nightgarden.curation.rules.secrets import masked_example
from nightgarden.curation.sorting import Sorter
from nightgarden.digests import example_id
from nightgarden.errors import UserError
from nightgarden.jsonl import encode, read_lines, whole_file, write_json
from nightgarden.params import Params, Synthesis
from nightgarden.records import Example, Turn

if TYPE_CHECKING:
    from nightgarden.stage import Place

T = TypeVar("T")

log = logging.getLogger(__name__)

INGESTED = Path("data/raw/examples.jsonl")
ROWS = Path("data/synthesised/examples.jsonl")
REPORT = Path("reports/passes/synthesise.json")
SOURCE = "synthesis"
"""`meta.source` of every new row."""
FAULTS = ("empty", "cut", "declined")
DRY_TEXT = "DRY-RUN PLACEHOLDER. No teacher was asked, nobody wrote this, and it answers nothing."


class DryRun(Chat):
    """Answers every question with the same words, and calls nobody."""

    name = "dry-run"

    def answer(self, turns: Sequence[Turn], *, temperature: float, max_tokens: int, schema: Any = None) -> Answer:
        """The words that say what they are."""
        return Answer(text=DRY_TEXT, cut=False, prompt_tokens=0, completion_tokens=0)


def synthesise(params: Params, root: Path, place: Place, *, dry_run: bool = False) -> Report:
    """Write data/synthesised/examples.jsonl: the ingested rows and the new ones, by op and id.

    Where `curation.synthesis.rows` asks for none, nobody is called and the rows are those that ingest took.

    Args:
        params: the settings.
        root: the checkout.
        place: where the teacher's server is, how many calls go at once, where answers are kept.
        dry_run: call nobody; every new row is a placeholder, and marked as one in its meta.

    Returns:
        What `reports/passes/synthesise.json` holds, and how many calls were made now or by an earlier run: that
        differs between equal runs, so it stands in no file.

    Raises:
        UserError: too few inputs; no answer from the teacher (what it said before is kept); no row at all of an op.
        Refusal: the rows do not add up; nothing is written then.
    """
    settings = params.curation.synthesis
    inputs = inputs_for(settings.rows, root)
    bill = Bill(settings)
    made = Sorter(root / ROWS.parent)
    new: list[Key] = []
    if inputs:
        with _open(settings, root, place, dry_run) as chat:
            teacher = Teacher(chat, settings, None if dry_run else place.state / FOLDER)
            wanted = {op: settings.rows[op - 1] for op in inputs}
            for asked in teacher.ask(wanted, inputs, 1 if settings.model is None else place.calls):
                bill.add(asked, teacher.name)
                if asked.fault is None:
                    row = row_of(asked, dry_run)
                    made.add(_sort_key(row), encode(row))
                    new.append(order(row))
        bill.settle(wanted)
    report = bill.report() | _publish(root, made, sorted(new))
    write_json(root / REPORT, report)
    log.info("synthesise: %s", ", ".join(f"{name} {value}" for name, value in report.items() if value))
    if dry_run:
        log.warning("DRY RUN: the %d new rows of %s are placeholders. `dvc repro` makes the file anew.", len(new), ROWS)
    return report | bill.when()


def _open(settings: Synthesis, root: Path, place: Place, dry_run: bool) -> AbstractContextManager[Chat]:
    if dry_run:
        log.warning("DRY RUN: no teacher is asked; every new row is a placeholder with meta.dry_run.")
        return nullcontext(DryRun())
    return open_chat(settings.model, root, place, seed=settings.seed, setting="curation.synthesis.model")


def row_of(asked: Asked, dry_run: bool = False) -> Example:
    """The row that the answers make: the last one is its answer, and op 1's first one its contrast."""
    *before, last = asked.answers
    item = asked.input
    meta = item.meta | {"source": SOURCE, "synthesis": _origin(last)}
    if before:
        meta |= {"contrast": before[0].text.strip(), "synthesis": _origin(last) | {"contrast": _origin(before[0])}}
    if dry_run:
        meta["dry_run"] = True
    turns = (*item.messages, Turn(role="assistant", content=last.text.strip()))
    return masked_example(
        Example(
            id=example_id(item.op, turns, item.memories, item.directives),
            op=item.op,
            turns=turns,
            memories=item.memories,
            directives=item.directives,
            meta=meta,
        )
    )


def _origin(kept: Kept) -> dict[str, Any]:
    """Where an answer came from, as it stands in the row's meta."""
    names = ("model", "prompt", "prompt_version", "input", "temperature")
    return {name: getattr(kept, name) for name in names}


class Bill:
    """What was asked, what came of it, and what it cost."""

    def __init__(self, settings: Synthesis) -> None:
        self._settings = settings
        self._model = "none"
        self._counts: Counter[str] = Counter()

    def add(self, asked: Asked, model: str) -> None:
        """Count one input."""
        self._model = model
        fate = "made" if asked.fault is None else f"failed_{asked.fault}"
        names = ["asked", f"op{asked.input.op}_asked", fate] + ([f"op{asked.input.op}_made"] if asked.fault is None else [])
        self._counts.update(names)
        for call in asked.calls:
            self._counts["calls"] += 1
            self._counts["calls_earlier"] += call.earlier
            self._counts["calls_uncounted"] += None in (call.kept.prompt_tokens, call.kept.completion_tokens)
            self._counts["prompt_tokens"] += call.kept.prompt_tokens or 0
            self._counts["completion_tokens"] += call.kept.completion_tokens or 0

    def settle(self, wanted: Mapping[int, int]) -> None:
        """Say where fewer rows were made than wanted.

        Raises:
            UserError: not one of an op; names the reasons.
        """
        reasons = ", ".join(f"{fault} {self._counts[f'failed_{fault}']}" for fault in FAULTS)
        for op, number in wanted.items():
            made, asked = self._counts[f"op{op}_made"], self._counts[f"op{op}_asked"]
            if not made:
                raise UserError(
                    f"{self._model} made no row of op {op} out of {asked} inputs (all ops: {reasons}). "
                    "Raise curation.synthesis.max_tokens, or name another model."
                )
            if made < number:
                log.warning("synthesise: %d of %d rows of op %d; all %d inputs were asked about", made, number, op, asked)

    def report(self) -> Report:
        """All counts that equal runs share."""
        names = ["asked", "made", *(f"failed_{fault}" for fault in FAULTS)]
        names += [f"op{op}_{what}" for op in OPS_MADE for what in ("asked", "made")]
        names += ["calls", "calls_uncounted", "prompt_tokens", "completion_tokens"]
        report: Report = {name: self._counts[name] for name in names}
        return report | {"cost": self._cost(), "model": self._model}

    def _cost(self) -> float | str:
        """What all calls cost, those of earlier runs and failed ones too; or why that is unknown."""
        prices = (self._settings.price_per_million_prompt, self._settings.price_per_million_completion)
        if not self._counts["calls"]:
            return 0.0
        if prices[0] is None or prices[1] is None:
            return "unknown: curation.synthesis names no price"
        if uncounted := self._counts["calls_uncounted"]:
            return f"unknown: the server counted no tokens of {uncounted} calls"
        return round((self._counts["prompt_tokens"] * prices[0] + self._counts["completion_tokens"] * prices[1]) / 1e6, 6)

    def when(self) -> Report:
        """Calls of this run and of earlier ones: for tracking and the log, since it differs between equal runs."""
        earlier = self._counts["calls_earlier"]
        return {"calls_now": self._counts["calls"] - earlier, "calls_earlier": earlier}


class _Keyed(msgspec.Struct):
    """What the order needs of a row."""

    op: int
    id: str


def _sort_key(row: Example | _Keyed) -> bytes:
    return f"{row.op} {row.id}".encode()


def _publish(root: Path, made: Sorter, new: Sequence[Key]) -> Report:
    """Write the ingested rows and the new ones; of equal content the ingested one stays.

    Raises:
        Refusal: what was written is not what came in; the file is not published.
    """
    counts: Counter[str] = Counter()
    with whole_file(root / ROWS) as file:
        pairs = heapq.merge(_keyed(_counted(counts, "rows_in", read_lines(root / INGESTED))), made, key=itemgetter(0))
        for _, same in groupby(pairs, key=itemgetter(0)):
            file.write(next(same)[1] + b"\n")
        file.flush()
        came = (key for key, _ in groupby(heapq.merge(keys(root / INGESTED), new)))
        settle("synthesise", came, written=_counted(counts, "rows", keys(Path(file.name))))
    return {"rows_in": counts["rows_in"], "rows": counts["rows"], "merged": counts["rows_in"] + len(new) - counts["rows"]}


def _keyed(lines: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
    decoder = msgspec.json.Decoder(_Keyed)
    for line in lines:
        yield _sort_key(decoder.decode(line)), line


def _counted(counts: Counter[str], name: str, rows: Iterable[T]) -> Iterator[T]:
    for row in rows:
        counts[name] += 1
        yield row
