"""The `ingest` stage: every source, row by row, into examples, with nothing lost on the way.

Each row becomes an example, is merged into an equal one, or is quarantined with its place and the
reason. Never a bulk reader: on foreign chat data those lose whole files, or change values silently.
A secret is masked here, before a row has an id, so no file that a stage writes ever holds one.
Knows nothing of what a good answer is. Memory: some shards of rows, whatever the size of the sources.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from nightgarden.curation.accounts import Report, is_outside
from nightgarden.curation.rules import secrets
from nightgarden.curation.shards import spread
from nightgarden.curation.sorting import Sorter
from nightgarden.curation.sources.hub import overlaps
from nightgarden.curation.sources.parsing import Malformed
from nightgarden.curation.sources.reading import RawRow
from nightgarden.curation.sources.shapes import is_ours, to_example
from nightgarden.curation.sources.spec import rows_of
from nightgarden.digests import sha256_text
from nightgarden.errors import Refusal, UserError
from nightgarden.jsonl import encode, read, whole_file, write_json
from nightgarden.params import Curation, SourceSpec
from nightgarden.records import OPS, Example, Quarantined, Record

log = logging.getLogger(__name__)

FOLDER = Path("data/raw")
REPORT = Path("reports/passes/ingest.json")
MAX_RAW = 1 << 20
"""Characters of a quarantined row that are kept; a longer one is named by its sha256."""


class Position(Record, frozen=True, kw_only=True):
    """Where a row stood: kept apart, so that the examples do not change when a file is shuffled."""

    id: str
    file: str
    line: int
    """1-based line, or element number in a JSON array."""


class Source(NamedTuple):
    """What every row of one file shares."""

    file: str
    name: str
    op: int | None
    keeps_own: bool = False
    """Whether rows of ours keep the op that they carry."""


class Taken(NamedTuple):
    """One raw row as the sorters take it: an encoded example, or an encoded line of the quarantine."""

    line: int
    key: bytes
    """Op, id and rank of the example; empty for the quarantine."""
    encoded: bytes


class _Told(msgspec.Struct):
    """What the counts need of an example."""

    op: int
    id: str
    meta: dict[str, object] = {}


def take(source: Source, rows: list[RawRow]) -> list[Taken]:
    """A shard of raw rows, each as an example or a line of the quarantine."""
    return [_take(source, row) for row in rows]


def example_of(source: Source, row: RawRow) -> Example:
    """The example that a raw row holds, its secrets masked.

    Raises:
        Malformed: it holds none.
    """
    if row.fault is not None:
        raise Malformed(row.fault)
    op = None if source.keeps_own and is_ours(row.value) else source.op
    return secrets.masked_example(to_example(row.value, source.name, op))


def _take(source: Source, row: RawRow) -> Taken:
    try:
        example = example_of(source, row)
    except Malformed as error:
        return Taken(row.line, b"", encode(_quarantined(row, source.file, str(error))))
    # Of equal content the seed's row stays, then the one whose bytes sort first: no position decides.
    key = f"{example.op} {example.id} {int(is_outside(example))}"
    return Taken(row.line, key.encode(), encode(example))


def _quarantined(row: RawRow, file: str, reason: str) -> Quarantined:
    raw = row.raw.decode("utf-8", "backslashreplace")
    if len(raw) > MAX_RAW or secrets.found_in(raw):
        raw = f"sha256:{sha256_text(raw)}"
    return Quarantined(file=file, line=row.line, offset=row.offset, reason=secrets.masked(reason), raw=raw)


class _Places:
    """A sum over places: adding all that were read and taking off all that were written must leave nothing.

    The multiset hash of Clarke et al. 2003 (MSet-Add-Hash): one number for any number of places.
    """

    def __init__(self) -> None:
        self.num_read = self.num_written = 0
        self._sum = 0

    def read(self, file: str, line: int) -> None:
        """Add the place of a row that was read."""
        self.num_read += 1
        self._sum += _digest(file, line)

    def written(self, file: str, line: int) -> None:
        """Take off the place of a row that stands in a written file."""
        self.num_written += 1
        self._sum -= _digest(file, line)

    def settle(self) -> None:
        """Refuse if a row was lost, made up or written twice."""
        if self._sum or self.num_read != self.num_written:
            raise Refusal(
                f"ingest: {self.num_read} rows in, {self.num_written} accounted for as taken + quarantined, and their places "
                "differ. Nothing was published. This is a fault of the stage, not of your data: please report it."
            )


def _digest(file: str, line: int) -> int:
    return int.from_bytes(hashlib.blake2b(f"{file}:{line}".encode(), digest_size=16).digest())


class Intake:
    """The sources' rows on their way to three sorted files."""

    def __init__(self, folder: Path) -> None:
        self.places = _Places()
        self.examples, self.positions, self.quarantine = (Sorter(folder) for _ in range(3))

    def read(self, source: Source, rows: Iterable[RawRow], workers: int = 1) -> None:
        """Take every row of one source."""
        for shard in spread(partial(take, source), rows, workers):
            for taken in shard:
                self.places.read(source.file, taken.line)
                if not taken.key:
                    self.quarantine.add(f"{source.file} {taken.line:012d}".encode(), taken.encoded)
                    continue
                id_ = taken.key.split()[1]
                self.examples.add(taken.key, taken.encoded)
                position = Position(id=id_.decode(), file=source.file, line=taken.line)
                self.positions.add(b"%b %b %012d" % (id_, source.file.encode(), taken.line), encode(position))

    def write(self, folder: Path) -> tuple[Report, Counter[str]]:
        """The three files, published together once every row that was read stands in one of them.

        Returns:
            The counts of the intake, and rows quarantined by their reason.

        Raises:
            Refusal: rows in are not taken + quarantined, or the examples are not those that the positions name.
        """
        counts = Counts()
        with ExitStack() as stack:
            files = [
                stack.enter_context(whole_file(folder / f"{name}.jsonl")) for name in ("examples", "positions", "quarantine")
            ]
            for line in counts.examples(_merged(self.examples)):
                files[0].write(line + b"\n")
            files[1].writelines(line + b"\n" for _, line in self.positions)
            files[2].writelines(line + b"\n" for _, line in self.quarantine)
            for file in files:
                file.flush()
            self._settle(files, counts)
        return counts.report(self.places.num_read), counts.reasons

    def _settle(self, files: list[BinaryIO], counts: Counts) -> None:
        """Read back what was written."""
        paths = [Path(file.name) for file in files]
        taken: set[int] = set()
        positions: Iterator[Position] = read(paths[1], Position)
        for position in positions:
            self.places.written(position.file, position.line)
            taken.add(int(position.id, 16))
        quarantine: Iterator[Quarantined] = read(paths[2], Quarantined)
        for line in quarantine:
            self.places.written(line.file, line.line)
            counts.quarantined(line)
        counts.merged = self.places.num_written - counts.num_quarantined - len(taken)
        self.places.settle()
        written: Iterator[_Told] = read(paths[0], _Told)
        for example in written:
            taken ^= {int(example.id, 16)}
        if taken:
            raise Refusal(
                f"ingest: {len(taken)} ids stand in only one of examples and positions, such as {min(taken):020x}. "
                "Nothing was published. This is a fault of the stage, not of your data: please report it."
            )


def _merged(lines: Iterable[tuple[bytes, bytes]]) -> Iterator[bytes]:
    """The first line of every op and id."""
    for _, same in groupby(lines, key=lambda pair: pair[0].rsplit(b" ", 1)[0]):
        yield next(map(itemgetter(1), same))


class Counts:
    """Counts of an intake: rows by fate, examples per op and for the seed alone, the reasons of the quarantine."""

    def __init__(self) -> None:
        self.merged = 0
        self.reasons: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self._decoder = msgspec.json.Decoder(_Told)

    def examples(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Count encoded examples as they pass."""
        for line in lines:
            told = self._decoder.decode(line)
            foreign = told.meta.get("foreign")
            self._counts["examples"] += 1
            self._counts["empty_system"] += isinstance(foreign, dict) and foreign.get("empty_system") is True
            self._counts["masked"] += "masked" in told.meta
            self._counts[f"op{told.op}"] += 1
            self._counts[f"op{told.op}_seed"] += told.meta.get("outside") is not True
            yield line

    def quarantined(self, line: Quarantined) -> None:
        """Count a line of the quarantine."""
        self.reasons[line.reason] += 1

    @property
    def num_quarantined(self) -> int:
        """Lines of the quarantine."""
        return self.reasons.total()

    def report(self, rows_in: int) -> Report:
        """All counts."""
        report: Report = {"rows_in": rows_in, "quarantined": self.num_quarantined, "merged": self.merged}
        report["label_false"] = sum(times for reason, times in self.reasons.items() if reason.startswith("label false"))
        names = ["examples", "empty_system", "masked"] + [f"op{op}{part}" for op in range(len(OPS)) for part in ("", "_seed")]
        return report | {name: self._counts[name] for name in names}


def refuse_twice(sources: Mapping[str, SourceSpec]) -> None:
    """Refuse a file or dataset that is named by two sources.

    Raises:
        UserError: names it.
    """
    if twice := [name for name, times in Counter(spec.place for spec in sources.values()).items() if times > 1]:
        raise UserError(f"curation.sources names {twice[0]} more than once; each must be one source in params.yaml.")


def ingest(curation: Curation, root: Path, workers: int = 1) -> Report:
    """Read every source of params.yaml into data/raw.

    Writes examples.jsonl by op and id (the same bytes in whatever order the sources hold their rows, and by
    however many workers), positions.jsonl, the only file that knows places, and quarantine.jsonl.

    Raises:
        UserError: a file is missing, unreadable, of an unknown kind, or named twice.
        Refusal: rows in are not examples + merged + quarantined; nothing is written then.
    """
    refuse_twice(curation.sources)
    for warning in overlaps(spec.dataset for spec in curation.sources.values() if spec.dataset):
        log.warning("ingest: %s", warning)
    intake = Intake(root / FOLDER)
    for name, spec in curation.sources.items():
        intake.read(Source(spec.place, name, spec.op), rows_of(spec, root), workers)
    report, reasons = intake.write(root / FOLDER)
    write_json(root / REPORT, report)
    for reason, times in reasons.most_common(5):
        log.warning("ingest: %d rows quarantined: %s", times, reason)
    return report
