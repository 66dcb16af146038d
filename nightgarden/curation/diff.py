"""`nightgarden diff REV1 REV2`: what became of every row of the dataset between two revisions.

A row is the same row while its content id is; `pairing.py` says which of the others are one row, edited. Why a
row is gone is read in the ledgers of the revision that lacks it. Reads files of any revision, also such as older
code wrote. Knows nothing of how the answer is shown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from nightgarden import revisions
from nightgarden.curation.dataset import HELD_OUT, TRAIN
from nightgarden.curation.ingest import FOLDER
from nightgarden.curation.pairing import is_sought, lineage, pairs
from nightgarden.jsonl import read, read_lines
from nightgarden.records import OPS, Example, MemoryLine, Turn
from nightgarden.revisions import Revision

SIDES = {"train": TRAIN, "held_out": HELD_OUT}
LEDGERS = (Path("data/curated/ledger.jsonl"), Path("data/curated/rebalance/ledger.jsonl"))
POSITIONS, QUARANTINE = FOLDER / "positions.jsonl", FOLDER / "quarantine.jsonl"

Kind = Literal["removed", "added", "edited", "moved"]
KINDS: tuple[Kind, ...] = ("removed", "added", "edited", "moved")


class _Row(msgspec.Struct):
    """An example, whatever else its line holds."""

    id: str
    op: int
    turns: tuple[Turn, ...] = ()
    memories: tuple[MemoryLine, ...] = ()
    directives: tuple[str, ...] = ()
    meta: dict[str, Any] = {}


class _Hit(msgspec.Struct):
    reason: str


class _LedgerLine(msgspec.Struct):
    id: str
    rule: str
    hits: tuple[_Hit, ...]
    into: str | None = None


class _Place(msgspec.Struct):
    """A line of the positions, or of the quarantine, which has a reason and no id."""

    file: str
    line: int
    id: str = ""
    reason: str = ""


class Standing(NamedTuple):
    """Where a row stands in one version of the dataset."""

    op: int
    side: str
    """`train` or `held_out`."""
    digest: bytes
    """Of its whole line, meta included."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one row."""

    kind: Kind
    old: Example | None
    new: Example | None
    sides: tuple[str, str]
    """Its side of the split before and after; empty where it is not there."""
    reason: str
    """Why it is gone or came, or by what it was known again."""

    @property
    def row(self) -> Example:
        """The row as it is now, or as it was when it went."""
        row = self.new or self.old
        assert row is not None  # noqa: S101 - a change has one of them
        return row


@dataclass(kw_only=True)
class Diff:
    """The answer."""

    old: str
    new: str
    """Names of the revisions, with the commit where there is one."""
    before: list[int]
    after: list[int]
    """Rows per op."""
    changes: list[Change] = field(default_factory=list)
    """By kind, op and id."""
    other_meta: list[str] = field(default_factory=list)
    """Ids of rows that differ in nothing but their meta."""
    sought: bool = True
    """False where too many rows changed to look which are alike."""

    def of(self, kind: Kind, op: int | None = None) -> list[Change]:
        """Changes of one kind, of one op or of all; what moved to another op belongs to the new one."""
        return [change for change in self.changes if change.kind == kind and op in {None, change.row.op}]


def diff(old_name: str, new_name: str, root: Path) -> Diff:
    """Compare the dataset of two revisions.

    Args:
        old_name: anything that git knows as a commit, or `workspace`.
        new_name: likewise.
        root: the checkout.

    Raises:
        UserError: no such revision, or its dataset cannot be had; says what to do.
    """
    with revisions.at(root, old_name) as old, revisions.at(root, new_name) as new:
        before, after = _standings(old), _standings(new)
        found = Diff(old=_full_name(old), new=_full_name(new), before=_per_op(before), after=_per_op(after))
        both = before.keys() & after.keys()
        found.other_meta = sorted(id_ for id_ in both if before[id_].digest != after[id_].digest)
        moved = {id_ for id_ in both if before[id_].side != after[id_].side}
        gone = _rows(old, before.keys() - both | moved)
        come = _rows(new, after.keys() - both | moved)
        sides = _Sides(before, after)
        for id_ in moved:
            reason = f"from {before[id_].side} to {after[id_].side}"
            found.changes.append(sides.change("moved", gone.pop(id_), come.pop(id_), reason))
        found.sought = is_sought(len(gone) + len(come))
        for one, two, how in pairs(gone.values(), come.values()):
            kind: Kind = "moved" if one.op != two.op else "edited"
            found.changes.append(sides.change(kind, gone.pop(one.id), come.pop(two.id), how))
        reasons = _reasons(gone, new, old)
        found.changes += [sides.change("removed", row, None, reasons[id_]) for id_, row in gone.items()]
        reasons = _reasons(come, old, new)
        found.changes += [sides.change("added", None, row, reasons[id_]) for id_, row in come.items()]
    found.changes.sort(key=lambda change: (KINDS.index(change.kind), change.row.op, change.row.id))
    return found


class _Sides(NamedTuple):
    """Both versions, for the sides of a row that changed."""

    before: Mapping[str, Standing]
    after: Mapping[str, Standing]

    def change(self, kind: Kind, old: Example | None, new: Example | None, reason: str) -> Change:
        sides = (self.before[old.id].side if old else "", self.after[new.id].side if new else "")
        return Change(kind=kind, old=old, new=new, sides=sides, reason=reason)


def _full_name(revision: Revision) -> str:
    """Its name, and the start of the commit's id if that is another one."""
    commit = (revision.commit or "")[:10]
    return revision.name if not commit or commit.startswith(revision.name[:10]) else f"{revision.name} ({commit})"


def _per_op(standings: Mapping[str, Standing]) -> list[int]:
    counts = [0] * len(OPS)
    for standing in standings.values():
        counts[standing.op] += 1
    return counts


def _standings(revision: Revision) -> dict[str, Standing]:
    found = {}
    for side, path in SIDES.items():
        file = revision.file(path)
        rows: Iterator[_Row] = read(file, _Row)
        for row, line in zip(rows, read_lines(file), strict=True):
            found[row.id] = Standing(row.op, side, hashlib.blake2b(line, digest_size=16).digest())
    return found


def _rows(revision: Revision, ids: Collection[str]) -> dict[str, Example]:
    """The rows of a version that bear some ids."""
    found = {}
    for path in SIDES.values():
        rows: Iterator[_Row] = read(revision.file(path), _Row)
        for row in rows:
            if row.id in ids:
                found[row.id] = Example(**{name: getattr(row, name) for name in row.__struct_fields__})
    return found


def _reasons(rows: Mapping[str, Example], revision: Revision, other: Revision) -> dict[str, str]:
    """Why rows that the other revision has are not in the dataset of this one: id -> a sentence."""
    lines = {id_: lineage(row) for id_, row in rows.items()}
    wanted = {id_ for ids in lines.values() for id_ in ids}
    taken = _taken(revision, wanted)
    here, there = _places(revision, wanted), _places(other, wanted)
    quarantined = {(line.file, line.line): line.reason for line in _read(revision, QUARANTINE, _Place)} if rows else {}
    found = {}
    for id_, ids in lines.items():
        known = next((each for each in ids if each in taken), None)
        where = [place for each in ids for place in there.get(each, ())]
        broken = next((place for place in where if place in quarantined), None)
        if known is not None:
            found[id_] = taken[known] if known == id_ else f"its parent {known}: {taken[known]}"
        elif here.keys() & set(ids):
            found[id_] = f"{revision.name} has it among its raw rows, but in no ledger: its outputs do not belong together"
        elif broken is not None:
            found[id_] = f"{revision.name} has its line in quarantine: {quarantined[broken]} ({broken[0]}:{broken[1]})"
        else:
            stood = f"; {other.name} has it from {where[0][0]}:{where[0][1]}" if where else ""
            found[id_] = f"no source of {revision.name} holds it{stood}"
    return found


def _taken(revision: Revision, wanted: Collection[str]) -> dict[str, str]:
    """Id -> which pass of a revision took it, and why."""
    found = {}
    for path in LEDGERS:
        for line in _read(revision, path, _LedgerLine):
            if line.id in wanted:
                more = f" (and {len(line.hits) - 1} more)" if len(line.hits) > 1 else ""
                became = f"repaired into {line.into}" if line.into else "dropped"
                found[line.id] = f"{became} by {line.rule} in {revision.name}: {line.hits[0].reason}{more}"
    return found


def _places(revision: Revision, wanted: Collection[str]) -> dict[str, list[tuple[str, int]]]:
    """Id -> file and line of the sources of a revision."""
    found: dict[str, list[tuple[str, int]]] = {}
    for place in _read(revision, POSITIONS, _Place):
        if place.id in wanted:
            found.setdefault(place.id, []).append((place.file, place.line))
    return found


def _read(revision: Revision, path: Path, kind: Any) -> Iterator[Any]:
    """Lines of a file; none where the revision has no such file."""
    file = revision.find(path)
    return iter(()) if file is None else read(file, kind)
