"""The `ingest` stage: every source, row by row, into examples, with nothing lost on the way.

Each row becomes an example, is merged into an equal one, or is quarantined with file, line and
reason. Never a bulk reader: on foreign chat data those lose whole files, or change values silently.
Knows nothing of what a good answer is. Memory: every example once.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from nightgarden.curation.accounts import Report, count_by_op, is_outside, settle
from nightgarden.curation.rules import secrets
from nightgarden.curation.sources.parsing import Malformed
from nightgarden.curation.sources.reading import RawRow, read_rows
from nightgarden.curation.sources.shapes import to_example
from nightgarden.digests import sha256_text
from nightgarden.errors import UserError
from nightgarden.jsonl import encode, write, write_json
from nightgarden.params import Curation, SourceSpec
from nightgarden.records import Example, Quarantined, Record

log = logging.getLogger(__name__)

MAX_RAW = 1 << 20
"""Characters of a quarantined row that are kept; a longer one is named by its sha256."""


class Position(Record, frozen=True, kw_only=True):
    """Where a row stood: kept apart, so that the examples do not change when a file is shuffled."""

    id: str
    file: str
    line: int
    """1-based line, or element number in a JSON array."""


@dataclass
class Intake:
    """What the sources held."""

    examples: dict[str, Example] = field(default_factory=dict)
    quarantined: list[Quarantined] = field(default_factory=list)
    positions: list[Position] = field(default_factory=list)
    """One for every row that was taken, merged ones too."""
    places: list[str] = field(default_factory=list)
    """`file:line` of every row that was read: what has to be accounted for."""

    @property
    def merged(self) -> int:
        """Rows whose content was there already."""
        return len(self.positions) - len(self.examples)

    def take(self, row: RawRow, file: str, source: str, op: int | None) -> None:
        """Put one raw row in its place."""
        self.places.append(f"{file}:{row.line}")
        try:
            if row.fault is not None:
                raise Malformed(row.fault)
            example = to_example(row.value, source, op)
        except Malformed as error:
            self.quarantined.append(_quarantined(row, file, str(error)))
            return
        self.positions.append(Position(id=example.id, file=file, line=row.line))
        before = self.examples.get(example.id)
        self.examples[example.id] = example if before is None else min(before, example, key=_rank)

    def sorted_examples(self) -> list[Example]:
        """Examples by op and id."""
        return sorted(self.examples.values(), key=lambda example: (example.op, example.id))


def _rank(example: Example) -> tuple[bool, bytes]:
    """Of equal content the seed's row stays, then the one whose bytes sort first: no position decides."""
    return is_outside(example), encode(example)


def _quarantined(row: RawRow, file: str, reason: str) -> Quarantined:
    raw = row.raw.decode("utf-8", "backslashreplace")
    if len(raw) > MAX_RAW or secrets.found_in(raw):
        raw = f"sha256:{sha256_text(raw)}"
    return Quarantined(file=file, line=row.line, reason=secrets.masked(reason), raw=raw)


def collect(sources: Mapping[str, SourceSpec], root: Path) -> Intake:
    """Read every source.

    Raises:
        UserError: a file is missing, unreadable, of an unknown kind, or named twice.
        Refusal: rows in are not examples + quarantined + merged.
    """
    if twice := [path for path, times in Counter(spec.path for spec in sources.values()).items() if times > 1]:
        raise UserError(f"curation.sources names {twice[0]} more than once; every file must be one source in params.yaml.")
    intake = Intake()
    for name, spec in sources.items():
        for row in islice(read_rows(root / spec.path), spec.rows):
            intake.take(row, spec.path, name, spec.op)
    intake.positions.sort(key=lambda p: (p.id, p.file, p.line))
    intake.quarantined.sort(key=lambda q: (q.file, q.line))
    settle(
        "ingest",
        intake.places,
        taken=(f"{position.file}:{position.line}" for position in intake.positions),
        quarantined=(f"{line.file}:{line.line}" for line in intake.quarantined),
    )
    settle("ingest", {position.id for position in intake.positions}, examples=intake.examples)
    return intake


def count(intake: Intake) -> Report:
    """Counts of an intake: rows by fate, examples per op and per source, the reasons of the quarantine."""
    examples = list(intake.examples.values())
    report: Report = {
        "rows_in": len(intake.places),
        "examples": len(examples),
        "quarantined": len(intake.quarantined),
        "merged": intake.merged,
        "label_false": sum(line.reason.startswith("label false") for line in intake.quarantined),
        "empty_system": sum(bool(_foreign(example).get("empty_system")) for example in examples),
    }
    for op, (num, seed) in enumerate(
        zip(count_by_op(examples), count_by_op(e for e in examples if not is_outside(e)), strict=True)
    ):
        report[f"op{op}"], report[f"op{op}_seed"] = num, seed
    return report


def _foreign(example: Example) -> Mapping[str, object]:
    foreign = example.meta.get("foreign")
    return foreign if isinstance(foreign, dict) else {}


def ingest(curation: Curation, root: Path) -> Report:
    """Read every source of params.yaml into data/raw.

    Writes examples.jsonl by op and id (the same bytes in whatever order the sources hold their rows),
    positions.jsonl, the only file that knows places, and quarantine.jsonl.

    Raises:
        UserError, Refusal: as `collect`; nothing is written then.
    """
    intake = collect(curation.sources, root)
    report = count(intake)
    write(root / "data/raw/examples.jsonl", intake.sorted_examples())
    write(root / "data/raw/positions.jsonl", intake.positions)
    write(root / "data/raw/quarantine.jsonl", intake.quarantined)
    write_json(root / "reports/passes/ingest.json", report)
    for reason, times in Counter(line.reason for line in intake.quarantined).most_common(5):
        log.warning("ingest: %d rows quarantined: %s", times, reason)
    return report
