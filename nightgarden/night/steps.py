"""The stage `distil`: every lesson so far becomes a student, and the gate says whether it serves.

The order of a night after the teacher: lessons, split, fit, measure both models on the same held-out
rows, gate, record. Each step lives elsewhere; this module only joins them and writes what they return.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from nightgarden import jsonl
from nightgarden.models import specs
from nightgarden.night import lessons as lessons_module
from nightgarden.night import report, stages
from nightgarden.params import Params, TrustSettings
from nightgarden.records import HEADS, Head, Label, Lesson, Record
from nightgarden.student import predict, train
from nightgarden.student.backbone import Backbone, Vectors
from nightgarden.student.predict import Answers, Student
from nightgarden.teacher.items import NIGHTS, items, read_day
from nightgarden.trust import gate, ledger, record, skill, split
from nightgarden.trust.record import NightRecord
from nightgarden.trust.skill import Skill
from nightgarden.trust.split import Assignment, input_id

if TYPE_CHECKING:
    from nightgarden.stage import Place

log = logging.getLogger(__name__)

Report = dict[str, float | int | str]
Account = dict[Head, dict[str, int | str]]
"""label_counts.json: per task how its labels came about."""
DIGITS = 6
"""Decimals of a stored prediction."""


class Prediction(Record, frozen=True, kw_only=True):
    """One held-out lesson as both models answer it; the gate can be replayed from these."""

    lesson: str
    head: Head
    target: tuple[float, ...]
    candidate: tuple[float, ...] | None
    serving: tuple[float, ...] | None


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One model on tonight's held-out lessons."""

    said: dict[Head, Answers | None]
    skills: dict[Head, Skill]


def distil(night: str, params: Params, root: Path, place: Place) -> Report:
    """Train on every lesson so far, measure, decide, record.

    Writes models/student/NIGHT/, the night's lessons, split, predictions, record and page below
    data/nights/NIGHT/, and reports/nights/NIGHT.json. Without a promotion the serving model of the
    night before stays, and so does its trust.

    Returns:
        `night_number`, `end`, `reason`, `lessons`, and per head `n/HEAD`, `skill/HEAD` and
        `trust/HEAD`, the last two where they are defined.

    Raises:
        UserError: the night is not listed, or a file of this or an earlier night is missing.
    """
    earlier = [item.night for item in stages.until(night, root)[:-1]]
    history = ledger.read([root / NIGHTS / name / "record.json" for name in earlier])
    last = history[-1] if history else None
    labels: list[Label] = list(jsonl.read(root / NIGHTS / night / "labels.jsonl", Label))
    backbone = Backbone(root / specs.EMBEDDER, place.state)
    lessons = _lessons(night, earlier, labels, root)
    vectors = backbone.vectors(text for lesson in lessons for text in (lesson.text, lesson.pair) if text is not None)
    lessons, table = _assigned(night, earlier, lessons, vectors, root, params.night.trust)
    held_out = {row.input for row in table if row.held_out}
    rows = {head: [row for row in lessons if row.head == head and input_id(row) in held_out] for head in HEADS}

    fitted = train.fit([row for row in lessons if input_id(row) not in held_out], vectors, params.night.student)
    train.save(fitted, backbone.digest, params.night.student, root / stages.STUDENTS / night)
    candidate = _measure(fitted.student, rows, vectors)
    serving = None
    if last and last.serving:
        serving = _measure(predict.load(root / stages.STUDENTS / last.serving, backbone.digest), rows, vectors)
    old = serving.skills if serving else None
    verdict = gate.decide(candidate.skills, old, fitted.finite, params.night.trust)
    account: Account = jsonl.read_json(root / NIGHTS / night / "label_counts.json", Account)
    now = record.close(night, verdict, candidate.skills, old, last, account)
    log.info("night %s: %s, %s", night, now.end, now.reason)

    folder = root / NIGHTS / night
    jsonl.write(folder / "lessons.jsonl", [row for row in lessons if row.night == night])
    jsonl.write(folder / "split.jsonl", table)
    jsonl.write(folder / "predictions.jsonl", _predictions(rows, candidate, serving))
    jsonl.write_json(folder / "record.json", now)
    jsonl.write_text(
        folder / "report.html", report.page([*history, now], Counter(line.by for line in labels), params.night.trust)
    )
    jsonl.write_json(root / stages.REPORTS / f"{night}.json", _metrics(now, len(history) + 1))
    return _report(now, len(history) + 1, len(lessons))


def _lessons(night: str, earlier: Sequence[str], labels: Sequence[Label], root: Path) -> list[Lesson]:
    """Every night's lessons up to this one; tonight's still carry their origin as group."""
    past: list[Sequence[Lesson]] = [list(jsonl.read(root / NIGHTS / name / "lessons.jsonl", Lesson)) for name in earlier]
    return lessons_module.so_far([*past, lessons_module.from_labels(labels, items(read_day(night, root)), night)])


def _assigned(
    night: str,
    earlier: Sequence[str],
    lessons: Sequence[Lesson],
    vectors: Mapping[str, Vectors],
    root: Path,
    settings: TrustSettings,
) -> tuple[list[Lesson], list[Assignment]]:
    """The lessons with their final group, and the table of the split, which carries every earlier row on."""
    table: list[Assignment] = []
    if earlier:
        table = list(jsonl.read(root / NIGHTS / earlier[-1] / "split.jsonl", Assignment))
    table = split.assign(lessons, vectors, table, settings, night)
    groups = {row.input: row.group for row in table}
    return [msgspec.structs.replace(row, group=groups[input_id(row)]) for row in lessons], table


def _measure(student: Student, rows: Mapping[Head, Sequence[Lesson]], vectors: Mapping[str, Vectors]) -> Measured:
    said = {head: student.answers(head, *predict.stacked(rows[head], vectors)) if rows[head] else None for head in HEADS}
    targets = {head: np.array([row.target for row in rows[head]]) for head in HEADS}
    return Measured(said=said, skills={head: skill.measure(head, targets[head], said[head]) for head in HEADS})


def _predictions(rows: Mapping[Head, Sequence[Lesson]], candidate: Measured, serving: Measured | None) -> list[Prediction]:
    def row(values: Answers | None, index: int) -> tuple[float, ...] | None:
        return None if values is None else tuple(round(float(value), DIGITS) for value in values[index])

    return [
        Prediction(
            lesson=lesson.id,
            head=head,
            target=lesson.target,
            candidate=row(candidate.said[head], index),
            serving=row(serving.said[head], index) if serving else None,
        )
        for head in HEADS
        for index, lesson in enumerate(rows[head])
    ]


def _metrics(now: NightRecord, number: int) -> dict[str, Any]:
    """reports/nights/NIGHT.json: every head has a number or null, and a null says why."""
    return {
        "night": now.night,
        "night_number": number,
        "end": now.end,
        "reason": now.reason,
        "serving": now.serving,
        **{key: {head: getattr(now.heads[head], key) for head in HEADS} for key in ("skill", "trust", "n")},
        "why": {head: now.heads[head].why for head in HEADS if now.heads[head].why},
    }


def _report(now: NightRecord, number: int, lessons: int) -> Report:
    numbers: Report = {"night_number": number, "end": now.end, "reason": now.reason, "lessons": lessons}
    for head, one in now.heads.items():
        numbers[f"n/{head}"] = one.n
        if one.skill is not None:
            numbers[f"skill/{head}"] = one.skill
        if one.trust is not None:
            numbers[f"trust/{head}"] = one.trust
    return numbers
