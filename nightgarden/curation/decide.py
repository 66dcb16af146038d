"""What the passes would do to rows, all of them at once in this process: for a trial and for `whatif`.

The stages do the same one by one. Near-copies are sought among the rows that the passes before left, and a
repaired row goes on as what it has become, as in the stages. Writes only into a temporary folder.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import msgspec

from nightgarden.curation.accounts import keys, pass_order
from nightgarden.curation.annotate import BEYOND_ONE_ROW, Hits, judge_of, load, prompts_for
from nightgarden.curation.filter import Pass, merged
from nightgarden.curation.matching import Scan, Triggers, fold
from nightgarden.curation.sorting import Sorter
from nightgarden.jsonl import encode, read_lines
from nightgarden.params import Curation
from nightgarden.records import OPS, Example


class Judged(NamedTuple):
    """An encoded row and the rules that hit it; for rules beyond one row, hits among all rows."""

    line: bytes
    op: int
    id: str
    rules: Set[str]


@dataclass
class Outcome:
    """What the passes would take and leave."""

    order: Sequence[str]
    rows: int = 0
    taken: Counter[str] = field(default_factory=Counter)
    """Rows that each pass drops, in their order."""
    repaired: Counter[str] = field(default_factory=Counter)
    """Rows that each pass hands on repaired."""
    merged: Counter[str] = field(default_factory=Counter)
    """Rows of each pass whose repair equals a row that is there."""
    alone: Counter[str] = field(default_factory=Counter)
    """Rows that each rule would take if it were the only one."""
    kept: list[int] = field(default_factory=lambda: [0] * len(OPS))
    """Rows left, per op."""


class Decider:
    """Every rule that looks at one row, asked only where something stands that it could hit.

    Rows must have come through `ingest`, which puts a mark in place of every secret: they are not sought again.
    """

    def __init__(self, curation: Curation, root: Path) -> None:
        self.judges: dict[str, Callable[[Example], Hits]] = {}
        triggers: dict[str, Triggers] = {}
        for rule in pass_order(curation):
            settings = curation.rules.of(rule)
            if rule in BEYOND_ONE_ROW or not settings.enabled:
                continue
            prompts = prompts_for(rule, settings, root)
            self.judges[rule] = judge_of(rule, settings, prompts)
            if tell := getattr(load(rule), "triggers", None):
                triggers[rule] = tell(settings, prompts)
        self._always = frozenset(self.judges.keys() - triggers.keys())
        self._answers = _scan({rule: each.answers for rule, each in triggers.items()})
        self._answers_as_written = _scan({rule: each.answers_as_written for rule, each in triggers.items()})
        self._others = _scan({rule: each.others for rule, each in triggers.items()})

    def hits(self, row: Example) -> dict[str, Hits]:
        """The rules that hit a row, in the order of the passes, with all their hits."""
        suspects = self._always | self._suspects(row)
        return {rule: hits for rule, judge in self.judges.items() if rule in suspects and (hits := judge(row))}

    def _suspects(self, row: Example) -> Set[str]:
        """Rules of which something stands in the row that they could hit."""
        found: Set[str] = frozenset()
        for turn in row.turns:
            folded = fold(turn.content)
            is_answer = turn.role == "assistant"
            if there := (self._answers if is_answer else self._others).find(folded.text):
                found = found | there
            if is_answer and folded.lost_a_sign():
                found = found | self._answers_as_written.find(turn.content)
        for text in (*(memory.text for memory in row.memories), *row.directives):
            found = found | self._others.find(fold(text).text)
        meta = encode(row.meta)
        there = self._others.find(meta if meta.isascii() else fold(meta.decode()).text)  # JSON has no blank that folds
        return found | there if there else found


def _scan(patterns: Mapping[str, str | None]) -> Scan:
    return Scan({rule: pattern for rule, pattern in patterns.items() if pattern is not None})


def decide(rows: Iterable[Judged], order: Sequence[str], curation: Curation, root: Path) -> Outcome:
    """Send rows through the passes of `order`.

    Args:
        rows: by op and id.
        order: names of the passes; a rule that is left out takes nothing.
        curation: settings of the passes and of the rules that rows are judged by on the way.
        root: the checkout, for the evaluation's prompts.
    """
    outcome = Outcome(order)
    with ExitStack() as stack:
        passes = _Passes(outcome, curation, root, stack)
        rows = passes.start(rows)
        for rule in order:
            rows = passes.through(rule, rows)
        for row in rows:
            outcome.kept[row.op] += 1
    return outcome


def losing(rule: str, path: Path, curation: Curation) -> Mapping[str, Hits]:
    """The rows of a file that a rule beyond one row would take."""
    settings = curation.rules.of(rule)
    found: Mapping[str, Hits] = load(rule).losers_of(path, settings) if settings.enabled else {}
    return found


class _Passes:
    """Streams of rows, one pass behind the other."""

    def __init__(self, outcome: Outcome, curation: Curation, root: Path, stack: ExitStack) -> None:
        self._outcome, self._curation, self._root, self._stack = outcome, curation, root, stack

    @cached_property
    def _decider(self) -> Decider:
        return Decider(self._curation, self._root)

    def start(self, rows: Iterable[Judged]) -> Iterator[Judged]:
        for row in rows:
            self._outcome.rows += 1
            self._outcome.alone.update(row.rules)
            yield row

    def through(self, rule: str, rows: Iterable[Judged]) -> Iterator[Judged]:
        if rule in BEYOND_ONE_ROW:
            return self._beyond(rule, rows)
        return (self._repairing if self._curation.passes[rule].on_hit == "repair" else self._dropping)(rule, rows)

    def _dropping(self, rule: str, rows: Iterable[Judged]) -> Iterator[Judged]:
        for row in rows:
            if rule in row.rules:
                self._outcome.taken[rule] += 1
            else:
                yield row

    def _repairing(self, rule: str, rows: Iterable[Judged]) -> Iterator[Judged]:
        """As `Pass.run`: a repaired row stands where its new id belongs, and is merged into an equal one."""
        settings, decoder = self._curation.rules.of(rule), msgspec.json.Decoder(Example)
        mender = Pass(rule, settings, self._curation.passes[rule], prompts_for(rule, settings, self._root))
        sorter = Sorter(self._folder())
        hit_by: dict[str, Set[str]] = {}
        for row in rows:
            if rule not in row.rules:
                sorter.add(f"{row.op} {row.id} 0".encode(), row.line)
                hit_by |= {row.id: row.rules} if row.rules else {}
            elif (repaired := mender.repaired(decoder.decode(row.line))) is None:
                self._outcome.taken[rule] += 1
            else:
                sorter.add(f"{repaired.op} {repaired.id} 1".encode(), encode(repaired))
                hit_by.setdefault(repaired.id, self._decider.hits(repaired).keys())
        for row_there in merged(sorter):
            is_new = not row_there.was_there
            self._outcome.repaired[rule] += is_new
            self._outcome.merged[rule] += row_there.repairs - is_new
            yield Judged(row_there.line, row_there.op, row_there.id, hit_by.get(row_there.id, frozenset()))

    def _beyond(self, rule: str, rows: Iterable[Judged]) -> Iterator[Judged]:
        """Judge the rows that are left together."""
        path = self._folder() / "rows"
        hit_by: dict[str, Set[str]] = {}
        with path.open("wb") as file:
            for row in rows:
                file.write(row.line + b"\n")
                hit_by |= {row.id: row.rules} if row.rules else {}
        lost = losing(rule, path, self._curation)
        for line, (op, id_) in zip(read_lines(path), keys(path), strict=True):
            if id_ in lost:
                self._outcome.taken[rule] += 1
            else:
                yield Judged(line, op, id_, hit_by.get(id_, frozenset()))

    def _folder(self) -> Path:
        return Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
