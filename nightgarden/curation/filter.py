"""One filter pass: rows with a hit in the rule's annotation file go, or go on repaired, with a ledger line each.

Decides nothing itself: annotations say what was found, the pass's settings what becomes of it; only
near-copies are sought here again, among the rows still there. Publishes only when rows in = kept + ledger
by id, the canaries fell and stayed as they must, and no op lost more than its budget.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, groupby
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from nightgarden.curation import budgets
from nightgarden.curation import canaries as known
from nightgarden.curation.accounts import Report, Tally, keys, settle
from nightgarden.curation.annotate import BEYOND_ONE_ROW, Hits, annotations_file, canaries_of, find, hits_of, load, prompts_for
from nightgarden.curation.canaries import Canaries
from nightgarden.curation.sorting import Sorter
from nightgarden.digests import content_id
from nightgarden.errors import UserError
from nightgarden.jsonl import encode, read, read_lines, whole_file, write_json
from nightgarden.params import Curation, PassSpec
from nightgarden.records import Annotation, Example, LedgerLine, Prompt
from nightgarden.rule_params import RuleSettings

log = logging.getLogger(__name__)


class _Judged(NamedTuple):
    """A row on its way through the pass."""

    line: bytes
    row: Example
    hits: Hits


def engine_of(rule: str, settings: RuleSettings) -> str:
    """What decided: the rule's engine and the hash of its settings."""
    return f"{load(rule).ENGINE}+{content_id(settings.model_dump(mode='json'))[:8]}"


def repair_of(rule: str) -> Callable[[Example, RuleSettings], Example] | None:
    """What repairs a row that the rule hits; None where a rule knows no repair."""
    repair: Callable[[Example, RuleSettings], Example] | None = getattr(load(rule), "repair", None)
    return repair


class Pass:
    """One rule's pass over a file of rows."""

    def __init__(self, rule: str, settings: RuleSettings, spec: PassSpec, prompts: Sequence[Prompt] = ()) -> None:
        self.rule, self.settings, self.spec, self.prompts = rule, settings, spec, prompts
        self.canaries: Canaries = canaries_of(rule, settings, prompts)
        self.tally = Tally()
        self._engine = engine_of(rule, settings)
        self._repair = repair_of(rule) if spec.on_hit == "repair" else None
        if spec.on_hit == "repair" and self._repair is None:
            raise UserError(f"curation.passes.{rule}.on_hit is repair, but the rule {rule} knows no repair; use drop.")

    def run(self, rows: Path, annotations: Path, kept: BinaryIO, ledger: BinaryIO) -> None:
        """Share the rows of a file out into two open files, and check what was written.

        Raises:
            Refusal: a canary fell or stayed wrongly, or the rows do not add up.
        """
        gone: set[str] = set()
        stay = Sorter(Path(kept.name).parent) if self._repair else None
        new_ids: set[str] = set()
        for line, row, hits in self._judged(rows, annotations):
            if row.id.startswith(known.PREFIX):
                gone |= {row.id} if hits else set()
                continue
            repaired = self.repaired(row) if hits else None
            self.tally.add(row, "kept" if not hits else "dropped" if repaired is None else "repaired")
            if hits:
                into = None if repaired is None else repaired.id
                entry = LedgerLine(id=row.id, op=row.op, rule=self.rule, hits=hits, into=into, engine=self._engine)
                ledger.write(encode(entry) + b"\n")
            if repaired is not None and stay is not None:
                new_ids.add(repaired.id)
                stay.add(f"{row.op} {repaired.id} 1".encode(), encode(repaired))
            elif not hits and stay is not None:
                stay.add(f"{row.op} {row.id} 0".encode(), line)
            elif not hits:
                kept.write(line + b"\n")
        known.judge(self.rule, self.canaries, gone | self.canaries.keepers, "dropped")
        if stay is not None:
            new_ids -= self._merge(stay, kept)
        kept.flush()
        ledger.flush()
        old = (key for key in keys(Path(kept.name)) if key[1] not in new_ids)
        settle(f"pass {self.rule}", keys(rows), kept=old, ledger=keys(Path(ledger.name)))

    def _merge(self, stay: Sorter, kept: BinaryIO) -> set[str]:
        """Write rows in their order; a repaired row that equals another is merged into it. Ids that were there already."""
        there: set[str] = set()
        for row in merged(stay):
            kept.write(row.line + b"\n")
            self.tally.merge(row.repairs if row.was_there else row.repairs - 1)
            there |= {row.id} if row.was_there else set()
        return there

    def repaired(self, row: Example) -> Example | None:
        """The row without what the rule hit, under its new id and with its parent; None where that is not to be had."""
        if self._repair is None:
            return None
        changed = self._repair(row, self.settings)
        if changed.id == row.id or self._found_in(changed):
            return None
        edits = [*row.meta.get("edits", ()), {"rule": self.rule, "parent": row.id}]
        return msgspec.structs.replace(changed, meta=row.meta | {"edits": edits})

    def _found_in(self, row: Example) -> Hits:
        return find(self.rule, [row], self.settings, self.prompts).get(row.id, ())

    def _judged(self, path: Path, annotations: Path) -> Iterator[_Judged]:
        """The canaries, then the rows, each with its hits; rules beyond one row judge all of them together."""
        lines, canaries = [b""], self.canaries.rows
        rows = _decoded(path, lines)
        if self.rule in BEYOND_ONE_ROW:
            found = load(self.rule).losers_of(path, self.settings, canaries) if self.settings.enabled else {}
            yield from (_Judged(lines[0], row, found.get(row.id, ())) for row in chain(canaries, rows))
            return
        found = find(self.rule, canaries, self.settings, self.prompts)
        yield from (_Judged(b"", row, found.get(row.id, ())) for row in canaries)
        known_hits: Iterator[Annotation] = read(annotations, Annotation)
        for row, hits in hits_of(rows, known_hits):  # an edited row is no longer what was annotated
            yield _Judged(lines[0], row, self._found_in(row) if "edits" in row.meta else hits)


def _decoded(path: Path, lines: list[bytes]) -> Iterator[Example]:
    """The rows of a file; `lines[0]` is the line of the last one."""
    decoder = msgspec.json.Decoder(Example)
    for lines[0] in read_lines(path):
        yield decoder.decode(lines[0])


class Merged(NamedTuple):
    """A row behind a repairing pass, under its id."""

    op: int
    id: str
    line: bytes
    repairs: int
    """Repaired rows that turned out to be this one."""
    was_there: bool
    """Whether a row that nobody repaired has this id too, or alone; if there are repairs and it has not, it is new."""


def merged(stay: Sorter) -> Iterator[Merged]:
    """Rows by op and id, equal ones as one. The sorter's keys are `OP ID MARK`; mark 1 is a repaired row."""
    for key, group in groupby(stay, key=lambda pair: pair[0].rsplit(b" ", 1)[0]):
        marks, lines = zip(*((pair[0][-1:], pair[1]) for pair in group), strict=True)
        op, id_ = key.decode().split()
        yield Merged(int(op), id_, lines[0], marks.count(b"1"), marks[0] == b"0")


def filter_pass(rule: str, curation: Curation, root: Path) -> Report:
    """Run one pass: its kept rows, its ledger and its counts.

    Raises:
        UserError: params.yaml has no such pass.
        Refusal: as `Pass.run`, or an op lost more than its budget; nothing is written then but the page that shows it.
    """
    if rule not in curation.passes:
        raise UserError(f"params.yaml has no pass {rule!r}; curation.passes has {', '.join(curation.passes)}")
    spec, settings = curation.passes[rule], curation.rules.of(rule)
    this = Pass(rule, settings, spec, prompts_for(rule, settings, root))
    folder = root / "data/curated" / rule
    with ExitStack() as stack:
        kept, ledger = (stack.enter_context(whole_file(folder / f"{name}.jsonl")) for name in ("examples", "ledger"))
        this.run(root / spec.prevfile, root / annotations_file(rule), kept, ledger)
        budgets.require(rule, spec, this.tally, Path(ledger.name), root, can_repair=repair_of(rule) is not None)
    report = this.tally.report()
    write_json(root / "reports/passes" / f"{rule}.json", report)
    log.info("pass %s: %d rows, %d kept, %d dropped", rule, report["rows_in"], report["kept"], report["dropped"])
    return report
