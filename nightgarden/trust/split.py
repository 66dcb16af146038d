"""Which lessons are held out: a stored table that only grows, so that no lesson ever changes sides.

A lesson's side follows from its group, not from itself: texts that are nearly the same, and items of
one origin, stay together, or the held-out part would ask what the training part told. Knows lessons
and vectors; does not know where vectors come from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from nightgarden.digests import content_id
from nightgarden.params import TrustSettings
from nightgarden.records import Lesson, Record

Vectors = npt.NDArray[np.float32]
BLOCK = 1024
"""Rows of one cosine block: 1,024 x 100,000 float32 is 400 MB."""


class Assignment(Record, frozen=True, kw_only=True):
    """Where one input stands, for ever."""

    input: str
    """`input_id` of the lesson."""
    origin: str
    """The memory, recall or event that the input came from."""
    group: str
    held_out: bool
    night: str
    """The night that assigned it."""


def input_id(lesson: Lesson) -> str:
    """Id of what the student reads: equal for all heads that read the same text."""
    return content_id([lesson.text, lesson.pair])


def is_held_out(group: str, share: float) -> bool:
    """Whether a group falls into the held-out share, by its hash alone."""
    return int.from_bytes(hashlib.sha256(group.encode()).digest()[:8], "big") < share * 2**64


def assign(
    lessons: Sequence[Lesson], vectors: Mapping[str, Vectors], table: Sequence[Assignment], settings: TrustSettings, night: str
) -> list[Assignment]:
    """The table with a row for every lesson; earlier rows stand first and unchanged.

    `seed` takes each input by its own hash. `group` joins a new text with those at or above
    `group_cosine` and with its own origin: relevance by its recall, since what the head will meet is
    a new question to old and new memories; both drafts of one answer by the event.

    Args:
        lessons: all lessons so far, `group` holding the origin.
        vectors: unit vector (D,) of every lesson's `text`, always of the frozen base embedder.
        table: the assignments of the night before.
        settings: share, mode and cosine.
        night: stands on the new rows.
    """
    known = {row.input for row in table}
    new = {key: lesson for lesson in lessons if (key := input_id(lesson)) not in known}
    if settings.split == "seed":
        groups = {key: key for key in new}
    else:
        old = {row.input: row.group for row in table}
        settled = {lesson.text: old[key] for lesson in lessons if (key := input_id(lesson)) in old}
        origins = {row.origin: row.group for row in table}
        groups = _groups(new, settled, origins, vectors, settings.group_cosine)
    return list(table) + [
        Assignment(
            input=key,
            origin=lesson.group,
            group=groups[key],
            held_out=is_held_out(groups[key], settings.held_out),
            night=night,
        )
        for key, lesson in new.items()
    ]


def _groups(
    new: Mapping[str, Lesson],
    settled: Mapping[str, str],
    origins: Mapping[str, str],
    vectors: Mapping[str, Vectors],
    cosine: float,
) -> dict[str, str]:
    """Group of every new input: a settled one that it belongs to, or its first member's origin.

    Args:
        new: inputs without a row.
        settled: text -> group of the texts that have one.
        origins: origin -> group of the origins that have one.
        vectors: unit vector of every text, new and settled.
        cosine: from which two texts are near-duplicates.
    """
    texts = list(dict.fromkeys(lesson.text for lesson in new.values()))
    place = {text: index for index, text in enumerate(texts)}
    leader = list(range(len(texts)))

    def root(index: int) -> int:
        while leader[index] != index:
            index = leader[index]
        return index

    def join(one: int, other: int) -> None:
        low, high = sorted((root(one), root(other)))
        leader[high] = low

    first: dict[str, int] = {}
    for lesson in new.values():
        join(place[lesson.text], first.setdefault(lesson.group, place[lesson.text]))
    for one, other in _near(texts, texts, vectors, cosine):
        join(one, other)
    home: dict[int, str] = {}
    for lesson in new.values():
        if lesson.group in origins:
            home.setdefault(root(place[lesson.text]), origins[lesson.group])
    earlier = list(settled)
    for one, other in _near(texts, earlier, vectors, cosine):
        home.setdefault(root(one), settled[earlier[other]])
    for lesson in new.values():
        home.setdefault(root(place[lesson.text]), lesson.group)
    return {key: home[root(place[lesson.text])] for key, lesson in new.items()}


def _near(texts: Sequence[str], others: Sequence[str], vectors: Mapping[str, Vectors], cosine: float) -> list[tuple[int, int]]:
    """Index pairs at or above the cosine, nearest first, so that a text joins its closest neighbour."""
    if not texts or not others:
        return []
    right = np.stack([vectors[text] for text in others])  # (M, D)
    found: list[tuple[float, int, int]] = []
    for start in range(0, len(texts), BLOCK):
        left = np.stack([vectors[text] for text in texts[start : start + BLOCK]])  # (B, D)
        similar = left @ right.T
        for row, column in zip(*np.nonzero(similar >= cosine), strict=True):
            found.append((-float(similar[row, column]), start + int(row), int(column)))
    return [(one, other) for _, one, other in sorted(found)]
