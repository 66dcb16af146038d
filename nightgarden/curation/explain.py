"""`nightgarden explain ID`: the whole life of a row, from the lines of its sources to its side of the split.

Reads what the stages wrote, line by line, and keeps only the lines that name the row, what it was made of or what it
was made into. Decides nothing and writes nothing; where a pass has not run, the life ends there.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import msgspec

from nightgarden.curation.accounts import keys, pass_order
from nightgarden.curation.annotate import BEYOND_ONE_ROW, RAW, Hits, annotations_file
from nightgarden.curation.dataset import HELD_OUT, TRAIN
from nightgarden.curation.ingest import FOLDER, Position
from nightgarden.curation.matching import ROW
from nightgarden.curation.rules.duplicate import twin_of
from nightgarden.curation.split import lot
from nightgarden.errors import UserError
from nightgarden.jsonl import encode, read_lines
from nightgarden.params import Curation
from nightgarden.records import OPS, Annotation, Example, Hit, LedgerLine

T = TypeVar("T")

POSITIONS = FOLDER / "positions.jsonl"
NAMED = 5
"""Ids that an ambiguous prefix is answered with."""
WIDTH, MARGIN = 110, 18
"""Columns of the answer in a terminal, and where its second column begins."""


@dataclass(kw_only=True)
class Step:
    """What one stage did with a row."""

    stage: str
    verdict: str
    """`kept`, `dropped`, `repaired`, `train`, `held out`, or `has not run`."""
    hits: Hits = ()
    into: str | None = None
    engine: str = ""
    note: str = ""


@dataclass(kw_only=True)
class Twin:
    """A near-copy: the one that stayed in place of a row, or one that went in its favour."""

    id: str
    stayed: bool
    reason: str
    row: Example | None = None


@dataclass(kw_only=True)
class Life:
    """One row, from where it came from to where it ended."""

    id: str
    row: Example | None = None
    places: list[Position] = field(default_factory=list)
    """Where it stood; more than one where equal rows were merged."""
    parents: list[tuple[str, str]] = field(default_factory=list)
    """Rows that it was repaired from, each with the pass that did it."""
    hits: dict[str, Hits] = field(default_factory=dict)
    """Rule -> its hits on the row as it stood in the sources."""
    steps: list[Step] = field(default_factory=list)
    twins: list[Twin] = field(default_factory=list)

    end: str = ""
    """Where it ended, in one sentence."""


def explain(asked: str, curation: Curation, root: Path) -> list[Life]:
    """The life of a row and of those it was repaired from and into, the oldest first.

    Args:
        asked: its content id, or a beginning of it that no other has.
        curation: the settings that the stages ran with.
        root: the checkout.

    Raises:
        UserError: no row, or more than one, has such an id; or `ingest` has not run.
    """
    lives = {id_: Life(id=id_) for id_ in _family(resolve(asked, curation, root), curation, root)}
    _read_sources(lives, curation, root)
    _read_passes(lives, curation, root)
    for life in lives.values():
        _read_twins(life, curation, root)
        life.end = _end(life.steps[-1])
    return list(lives.values())


def resolve(asked: str, curation: Curation, root: Path) -> str:
    """The one id that begins so.

    Raises:
        UserError: none or several do.
    """
    if not re.fullmatch(r"[0-9a-f]{1,20}", asked):
        raise UserError(f"got the id {asked!r}; an id is 20 of the digits 0-9 and a-f, and a beginning is enough.")
    seek = re.compile(rb'"(?:id|into)":"(%b[0-9a-f]*)"' % asked.encode())
    paths = [root / POSITIONS, *(path for path in _ledgers(curation, root).values() if path.is_file())]
    ids = {match.decode() for path in paths for line in read_lines(path) for match in seek.findall(line)}
    if (root / RAW).is_file():  # a teacher's row stands in no source
        ids |= {id_ for _, id_ in keys(root / RAW) if id_.startswith(asked)}
    found: list[str] = sorted(ids)
    if len(found) == 1:
        return str(found[0])
    if found:
        raise UserError(f"{len(found)} ids begin with {asked}: {', '.join(found[:NAMED])} ...; give more of it.")
    raise UserError(
        f"no row of this working tree has an id that begins with {asked}. The ids are in {POSITIONS}; a row that no shape fitted "
        f"has none and stands in {FOLDER / 'quarantine.jsonl'}; rows of another revision are told by `nightgarden diff REV`."
    )


def _ledgers(curation: Curation, root: Path) -> dict[str, Path]:
    """Stage -> its ledger: the passes in their order, then rebalance."""
    return {stage: root / f"data/curated/{stage}/ledger.jsonl" for stage in (*pass_order(curation), "rebalance")}


def _family(id_: str, curation: Curation, root: Path) -> list[str]:
    """All that a row was repaired from, itself, and all that it was repaired into; the oldest first."""
    passes = [path for stage, path in _ledgers(curation, root).items() if stage != "rebalance"]
    family = [id_]
    for path in reversed(passes):
        family = [line.id for line in _naming(path, family, LedgerLine) if line.into in family] + family
    for path in passes:
        into = [line.into for line in _naming(path, family, LedgerLine) if line.id in family]
        family += [child for child in into if child is not None and child not in family]
    return family


def _naming(path: Path, needles: Collection[str], kind: type[T]) -> Iterator[T]:
    """Lines of a file that hold one of some texts; none of a file that is not there."""
    if not path.is_file():
        return
    sought, decoder = [needle.encode() for needle in needles], msgspec.json.Decoder(kind)
    for line in read_lines(path):
        if any(needle in line for needle in sought):
            yield decoder.decode(line)


def _read_sources(lives: Mapping[str, Life], curation: Curation, root: Path) -> None:
    for position in _naming(root / POSITIONS, lives, Position):
        lives[position.id].places.append(position)
    for row in _naming(root / RAW, lives, Example):
        if row.id in lives:
            lives[row.id].row = row
    for rule in pass_order(curation):
        for note in _naming(root / annotations_file(rule), lives, Annotation):
            if note.id in lives:
                lives[note.id].hits[rule] = note.hits


def _read_passes(lives: Mapping[str, Life], curation: Curation, root: Path) -> None:
    """Follow every row from the pass that made it, or from the first one, to where it ended."""
    ledgers = _ledgers(curation, root)
    stages = list(ledgers)
    lines = {stage: {line.id: line for line in _naming(path, lives, LedgerLine)} for stage, path in ledgers.items()}
    for stage, path in ledgers.items():
        for line in _naming(path, [f'"into":"{id_}"' for id_ in lives], LedgerLine):
            lives[str(line.into)].parents.append((line.id, stage))
    for life in lives.values():
        made_by = [stages.index(rule) for _, rule in life.parents]
        if life.row is None and made_by:
            kept = root / f"data/curated/{stages[made_by[0]]}/examples.jsonl"
            life.row = next((row for row in _naming(kept, [life.id], Example) if row.id == life.id), None)
        first = 1 + min(made_by) if made_by and not life.places else 0
        for stage in stages[first:]:
            life.steps.append(_step(stage, lines[stage].get(life.id), ledgers[stage].is_file()))
            if life.steps[-1].verdict != "kept":
                break
        else:
            life.steps.append(_side(life.id, curation, root))


def _step(stage: str, line: LedgerLine | None, has_run: bool) -> Step:
    if not has_run:
        return Step(stage=stage, verdict="has not run")
    if line is None:
        return Step(stage=stage, verdict="kept")
    verdict = "dropped" if line.into is None else "repaired"
    return Step(stage=stage, verdict=verdict, hits=line.hits, into=line.into, engine=line.engine)


def _side(id_: str, curation: Curation, root: Path) -> Step:
    """Which side of the split a row that everything kept is on."""
    note = f"its lot is {lot(id_):.4f}; below {curation.split.held_out:g}, and up to an op's minimum, rows are held out"
    for verdict, path in (("train", TRAIN), ("held out", HELD_OUT)):
        if any(row.id == id_ for row in _naming(root / path, [id_], Example)):
            return Step(stage="split", verdict=verdict, note=note)
    return Step(stage="split", verdict="has not run")


def _read_twins(life: Life, curation: Curation, root: Path) -> None:
    for rule in curation.passes.keys() & set(BEYOND_ONE_ROW):
        for line in _naming(root / f"data/curated/{rule}/ledger.jsonl", [life.id], LedgerLine):
            twin, stayed = twin_of(line.hits[0]), line.id == life.id
            if twin is not None and (stayed or twin == life.id):
                life.twins.append(Twin(id=twin if stayed else line.id, stayed=stayed, reason=line.hits[0].reason))
        by_id = {twin.id: twin for twin in life.twins}
        for row in _naming(root / curation.passes[rule].prevfile, by_id, Example):
            if row.id in by_id:
                by_id[row.id].row = row


def _end(last: Step) -> str:
    reason = last.hits[0].reason if last.hits else ""
    more = f" (and {len(last.hits) - 1} more)" if len(last.hits) > 1 else ""
    told = {
        "dropped": f"dropped by {last.stage}: {reason}{more}",
        "repaired": f"repaired by {last.stage} into {last.into}: {reason}{more}",
        "has not run": f"as far as {last.stage}, which has not run on these rows; run `dvc repro`",
    }
    return told.get(last.verdict, f"in the dataset, {last.verdict}")


def told(lives: list[Life]) -> str:
    """The lives as text for a terminal."""
    return "\n\n".join("\n".join(_told(life)) for life in lives)


def _told(life: Life) -> Iterator[str]:
    op = "" if life.row is None else f"   op {life.row.op}, {OPS[life.row.op]}"
    yield f"{life.id}{op}"
    yield _entry("", life.end)
    yield ""
    for place in life.places:
        yield _entry("came from", f"{place.file}:{place.line}")
    for parent, rule in life.parents:
        yield _entry("came from", f"{parent}, repaired by {rule}")
    if not (life.places or life.parents):
        yield _entry("came from", "a teacher, by synthesise; meta.synthesis tells which one, and what was asked")
    yield from () if life.row is None else _text(life.row)
    if life.hits:
        yield ""
    for rule, hits in life.hits.items():
        for number, hit in enumerate(hits):
            yield _entry("" if number else rule, _place(hit))
    yield ""
    kept = [step.stage for step in life.steps if step.verdict == "kept"]
    if kept:
        yield _entry("kept by", ", ".join(kept))
    last = life.steps[-1]
    decided = f", decided by {last.engine}" if last.engine else f": {last.note}" if last.note else ""
    yield _entry(last.stage, f"{last.verdict}{f' {last.into}' if last.into else ''}{decided}")
    for twin in life.twins:
        yield _entry("near-copy", f"{twin.id}, which {'stayed' if twin.stayed else 'went'}: {twin.reason}")
        yield from () if twin.row is None else _text(twin.row, "its ")


def _text(row: Example, whose: str = "") -> Iterator[str]:
    """All that the row holds."""
    entries = [("directive", text) for text in row.directives]
    entries += [("memory", f"{line.type}{f', {line.date}' if line.date else ''}: {line.text}") for line in row.memories]
    entries += [(turn.role, turn.content) for turn in row.turns]
    entries += [(f"meta.{key}", value if isinstance(value, str) else encode(value).decode()) for key, value in row.meta.items()]
    yield from (_entry(whose + name, text) for name, text in entries)


def _place(hit: Hit) -> str:
    where = "the row" if hit.turn == ROW else f"turn {hit.turn}" + (f", {hit.start}-{hit.end}" if hit.end else "")
    return f"{where}: {hit.reason}" + (f"   [{hit.snippet}]" if hit.snippet else "")


def _entry(name: str, text: str) -> str:
    lines = [part for line in text.splitlines() or [""] for part in textwrap.wrap(line, WIDTH - MARGIN) or [""]]
    return "\n".join(f"{'' if number else name:{MARGIN}}{line}" for number, line in enumerate(lines))
