"""Freezing the days since the last night into one file that never changes again.

Lifts the records to the current schema, brings along what they refer to, and refuses to write other
content over a frozen night. Also says whether a night may start now. Does not know what a label or a
lesson is made of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, time, timedelta
from pathlib import Path

from nightgarden import clock, jsonl
from nightgarden.digests import sha256_file
from nightgarden.errors import UserError
from nightgarden.memory import migrations
from nightgarden.night import stages
from nightgarden.params import Window
from nightgarden.records import DayRecord, Feedback, Label, Recall, Reply
from nightgarden.teacher.items import NIGHTS


def window_reason(now: datetime, window: Window, last_event: datetime | None) -> str | None:
    """Why a night may not start now, or None if it may.

    The window is read on the wall clock of its zone, so it moves with summer time; the quiet time is
    a difference of moments, so it does not. A window may cross midnight.

    Args:
        now: an aware moment.
        window: start (included), end (excluded), zone and quiet minutes.
        last_event: when the person was last heard; None if never.
    """
    here = clock.local(now, window.zone)
    start, end = time.fromisoformat(window.start), time.fromisoformat(window.end)
    at = here.time()
    inside = start <= at < end if start <= end else at >= start or at < end
    if not inside:
        return f"it is {here:%H:%M} in {window.zone}; nights run from {window.start} to {window.end}"
    if last_event is not None and now - last_event < timedelta(minutes=window.quiet_minutes):
        quiet = (now - last_event) // timedelta(minutes=1)
        return f"the last event was {quiet} minutes ago; a night needs {window.quiet_minutes} quiet minutes"
    return None


def freeze(night: str, days: Sequence[Path], labels: Sequence[Path], core: Path | None, root: Path) -> dict[str, int]:
    """Write data/nights/NIGHT/day.jsonl, list the night and write its stages.

    The three writes come in this order and each can be repeated: a killed run is mended by running again.

    Args:
        night: name of the night, YYYY-MM-DD.
        days: one file a day, named YYYY-MM-DD.jsonl, any schema: all days since the last night.
        labels: files of hand-written labels, kept in their order; may be empty.
        core: file of memories that were there before the first day; copied where a record names them.
        root: the checkout.

    Returns:
        How many `records` of the days, `copied` earlier records and `labels` the night holds.

    Raises:
        UserError: days that do not follow the last night, an id twice or unknown, or a night that is
            already frozen with other content.
    """
    entry = stages.Night(night=night, days=tuple(sorted(path.stem for path in days)))
    nights = stages.read_nights(root)
    if fault := stages.order_fault(entry, nights):
        raise UserError(f"cannot freeze: {fault}. See {stages.LIST}.")
    own = _by_id(_records(sorted(days)))
    before = [root / NIGHTS / old.night / "day.jsonl" for old in nights if old.night < night]
    known = {record.id: record for record in _records(([core] if core else []) + before)}
    if twice := sorted(set(own) & set(known)):
        raise UserError(f"{', '.join(twice[:5])} came in an earlier night already; give each day to one night.")
    copied = _referenced(own, known)
    judged = [record for path in sorted(labels) for record in migrations.read(path) if isinstance(record, Label)]
    lines = sorted([*own.values(), *copied.values()], key=lambda record: (record.at, record.id))
    _write_once(root / NIGHTS / night / "day.jsonl", [*lines, *judged])
    stages.add_night(entry, root)
    return {"records": len(own), "copied": len(copied), "labels": len(judged)}


def _records(paths: Iterable[Path]) -> list[DayRecord]:
    """Day records of several files, labels left aside."""
    return [record for path in paths for record in migrations.read(path) if not isinstance(record, Label)]


def _by_id(records: Iterable[DayRecord]) -> dict[str, DayRecord]:
    found: dict[str, DayRecord] = {}
    for record in records:
        if record.id in found:
            raise UserError(f"the id {record.id} stands on two records; give one of them another id.")
        found[record.id] = record
    return found


def _named(record: DayRecord) -> tuple[str, ...]:
    """Ids that a record refers to."""
    if isinstance(record, Reply):
        return (record.event, *record.memories)
    if isinstance(record, Recall):
        return record.memories
    return (record.reply,) if isinstance(record, Feedback) else ()


def _referenced(own: Mapping[str, DayRecord], known: Mapping[str, DayRecord]) -> dict[str, DayRecord]:
    """Earlier records that the own ones name, and those that these name in turn."""
    copied: dict[str, DayRecord] = {}
    todo = list(own.values())
    while todo:
        record = todo.pop()
        for name in _named(record):
            if name in own or name in copied:
                continue
            if name not in known:
                raise UserError(f"{record.id} names {name}, which is in no day, earlier night or core file. Add the record.")
            copied[name] = known[name]
            todo.append(known[name])
    return copied


def _write_once(path: Path, lines: Sequence[DayRecord | Label]) -> None:
    """Write a file that is never changed again; equal content is fine."""
    content = b"".join(jsonl.encode(line) + b"\n" for line in lines)
    if path.is_file() and path.read_bytes() != content:
        raise UserError(
            f"{path} is frozen (sha256 {sha256_file(path)[:12]}) and the days now hold other content. "
            "A frozen night never changes: give what is new to the next night, or restore the days."
        )
    if not path.is_file():
        with jsonl.whole_file(path) as file:
            file.write(content)
