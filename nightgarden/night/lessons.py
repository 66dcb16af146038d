"""From a day and its labels to lessons, and all lessons so far as one list.

Knows the scales of labels and targets; does not know who trains on a lesson or which are held out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from nightgarden.records import FEELINGS, REACTIONS, Head, Label, Lesson
from nightgarden.teacher.items import Item


def from_labels(labels: Iterable[Label], found: Mapping[Head, Mapping[str, Item]], night: str) -> list[Lesson]:
    """One lesson per label, in the order of the labels.

    Args:
        labels: of this night, checked.
        found: `teacher.items.items` of the frozen day.
        night: stands on the lessons.

    Returns:
        Lessons whose `group` is still the origin (memory, recall or event); the split joins
        near-duplicates and sets the final group.
    """
    return [_lesson(line, found[line.task][line.item], night) for line in labels]


def _lesson(line: Label, item: Item, night: str) -> Lesson:
    return Lesson(
        id=f"{line.task}/{line.item}",
        head=line.task,
        text=item.text,
        pair=item.pair,
        target=target(line),
        by=line.by,
        night=night,
        group=item.origin,
    )


def target(line: Label) -> tuple[float, ...]:
    """A label's value as the head's target: 1..10, class index, 0|1, or shares in [0, 1]."""
    match line.value:
        case dict() as feelings:
            return tuple(feelings[name] / 100 for name in FEELINGS)
        case str() as word:
            return (float([str(reaction) for reaction in REACTIONS].index(word)),)
        case int() as number:
            return (number / 100,) if line.task == "interest" else (float(number),)
    raise ValueError(f"{line.item}: {line.value!r} is no {line.task} value")


def so_far(nights: Iterable[Sequence[Lesson]]) -> list[Lesson]:
    """The lessons of all nights in order; an item that was judged again counts once, as it was judged last."""
    return list({lesson.id: lesson for lessons in nights for lesson in lessons}.values())
