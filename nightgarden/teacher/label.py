"""The stage `label`: every judgement on one frozen night, by hand or by a server, and how many are missing.

The person's own ratings outrank any teacher. What cannot be read is missing, never a number; a batch
that carries no judgement is refused whole. Does not know the student or what a label is used for.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nightgarden import jsonl
from nightgarden.chat import Chat
from nightgarden.errors import UserError
from nightgarden.params import Params, Teacher
from nightgarden.records import HEADS, SCHEMA, Head, Label
from nightgarden.teacher import scales
from nightgarden.teacher.ask import Batch, ask, open_judge
from nightgarden.teacher.items import NIGHTS, Day, Item, by_worth, items, rated_by_user, read_day
from nightgarden.teacher.reliability import degenerate

if TYPE_CHECKING:
    from nightgarden.stage import Place

log = logging.getLogger(__name__)

Report = dict[str, float | int | str]


def label(night: str, params: Params, root: Path, place: Place) -> Report:
    """Write data/nights/NIGHT/labels.jsonl and label_counts.json.

    Returns:
        Per task `TASK/asked`, `TASK/kept` and `TASK/missing`, and who judged under `by`.

    Raises:
        UserError: no frozen day, a hand-written label with an unknown item or a value off its scale,
            or no answer from the server.
    """
    day = read_day(night, root)
    wanted, rated = items(day), rated_by_user(day)
    if params.night.teacher.by == "hand-written":
        batches = hand_written(day, wanted, params.night.teacher)
    else:
        wanted["reaction"] = {name: item for name, item in wanted["reaction"].items() if name not in rated}
        with open_judge(params.night, root, place) as judge:
            batches = by_server(wanted, params.night.teacher, judge, place.state)
    labels: list[Label] = []
    counts: dict[Head, dict[str, int | str]] = {}
    for batch in batches:
        kept, counts[batch.task] = settle(batch, rated if batch.task == "reaction" else {})
        labels += kept
    jsonl.write(root / NIGHTS / night / "labels.jsonl", labels)
    jsonl.write_json(root / NIGHTS / night / "label_counts.json", counts)
    report: Report = {f"{task}/{key}": counts[task][key] for task in HEADS for key in ("asked", "kept", "missing")}
    return report | {"by": params.night.teacher.by}


def by_server(wanted: Mapping[Head, Mapping[str, Item]], teacher: Teacher, judge: Chat, cache: Path) -> list[Batch]:
    """Every task's questions put to a chat model, under the night's caps."""
    batches = []
    for task in HEADS:
        chosen, left = chosen_items(task, wanted[task], teacher)
        batch = ask(task, chosen, judge=judge, temperature=teacher.temperature, cache=cache)
        batches.append(replace(batch, left=left))
    return batches


def chosen_items(task: Head, found: Mapping[str, Item], teacher: Teacher) -> tuple[list[Item], int]:
    """The items that a night asks about, those of most worth first, and how many it leaves.

    An importance label is used itself, as the memory's new rating, so memories in use come first. The
    other labels only teach the student: they are drawn evenly, or it would never hear of what is not
    recalled (thoughts that were recalled are nearly all interesting).
    """
    wanted = list(found.values())
    if task == "relevance":
        recalls = {item.origin: item for item in wanted}
        origins = {item.origin for item in by_worth(list(recalls.values()), teacher.recalls)}
        chosen = [item for item in wanted if item.origin in origins]
    else:
        most = {"importance": teacher.importance, "appraisal": teacher.appraisal, "interest": teacher.interest}
        chosen = by_worth(wanted, most.get(task, len(wanted)), touched_first=task == "importance")
    return chosen, len(wanted) - len(chosen)


def hand_written(day: Day, wanted: Mapping[Head, Mapping[str, Item]], teacher: Teacher) -> list[Batch]:
    """The label lines of the frozen day, all of them checked, then under the same caps as a server.

    Raises:
        UserError: an item that the day does not hold or the task does not judge, one that is judged
            twice, or a value off its scale.
    """
    given: dict[Head, dict[str, Label]] = {task: {} for task in HEADS}
    for line in day.labels:
        if line.item not in wanted[line.task]:
            raise UserError(
                f"a hand-written {line.task} label names {line.item}, which the day does not hold for this task. "
                "Repair the label."
            )
        if line.item in given[line.task]:
            raise UserError(f"{line.item} has two hand-written {line.task} labels; keep one.")
        if wrong := scales.fault(line.task, line.value):
            raise UserError(f"the hand-written label on {line.item}: {wrong}. Repair the label.")
        given[line.task][line.item] = line
    batches = []
    for task in HEADS:
        chosen, left = chosen_items(task, {name: item for name, item in wanted[task].items() if name in given[task]}, teacher)
        names = {item.id for item in chosen}
        labels = [line for name, line in given[task].items() if name in names]
        batches.append(Batch(task=task, labels=labels, asked=len(labels), left=left))
    return batches


def settle(batch: Batch, rated: Mapping[str, str]) -> tuple[list[Label], dict[str, int | str]]:
    """The labels of one task that count, and the whole account of how they came about.

    Args:
        batch: the teacher's answers in the order of asking.
        rated: item -> value as the person gave it; outranks the teacher, and stands when he is refused.

    Returns:
        The labels, and `asked` = `answered` + `missing`; `refused` answers of a batch that is no
        judgement (with the `reason`); `user` labels; `left` items beyond the cap; `kept` in all.
    """
    reason = degenerate(batch.task, [line.value for line in batch.labels])
    if reason:
        log.warning("%s: labels refused: %s", batch.task, reason)
    judged = [] if reason else [line for line in batch.labels if line.item not in rated]
    own = [Label(schema=SCHEMA, task=batch.task, item=name, value=value, by="user") for name, value in rated.items()]
    account: dict[str, int | str] = {
        "asked": batch.asked,
        "answered": len(batch.labels),
        "missing": batch.asked - len(batch.labels),
        "refused": len(batch.labels) if reason else 0,
        "reason": reason or "",
        "user": len(own),
        "left": batch.left,
        "kept": len(judged) + len(own),
    }
    return judged + own, account
