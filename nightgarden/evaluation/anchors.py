"""The anchors: fifteen hand-written answers of known level, on prompts of their own, that a rater must find again.

Knows the file; what the levels mean stands in `rubric.md`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Literal

from nightgarden import jsonl
from nightgarden.errors import UserError
from nightgarden.evaluation.exam import LEVELS, PER_LEVEL
from nightgarden.evaluation.prompts import CATEGORIES, Line, with_system
from nightgarden.records import MemoryLine, Prompt, Record, Turn

FILE = Path("data/seed/rater_anchors.jsonl")


class Anchor(Record, frozen=True, kw_only=True):
    """One line of the file."""

    id: str
    level: Literal[1, 2, 3, 4, 5]
    category: str
    turns: tuple[Turn, ...]
    memories: tuple[MemoryLine, ...] = ()
    directives: tuple[str, ...] = ()
    answer: str
    why: str
    """Why it has this level, for people; no rater sees it."""
    by: str

    @property
    def prompt(self) -> Prompt:
        """What was answered, in the shape of an evaluation prompt: with a system turn, so that nothing sets it apart."""
        return with_system(
            Line(
                id=self.id,
                category=self.category,
                messages=self.turns,
                memories=self.memories,
                directives=self.directives,
            )
        )

    @property
    def text(self) -> str:
        """The answer."""
        return self.answer


def load(path: Path) -> list[Anchor]:
    """The anchors of a file, checked.

    Raises:
        UserError: a line that is no anchor, or not PER_LEVEL of each level.
    """
    anchors: list[Anchor] = list(jsonl.read(path, Anchor))
    for number, anchor in enumerate(anchors, 1):
        if anchor.category not in CATEGORIES:
            raise UserError(f"{path}:{number}: {anchor.category!r} is no category; categories are {', '.join(CATEGORIES)}.")
        if not anchor.turns or anchor.turns[-1].role != "user":
            raise UserError(f"{path}:{number}: {anchor.id} does not end with the user's turn. Correct the line.")
    if twice := [name for name, times in Counter(anchor.id for anchor in anchors).items() if times > 1]:
        raise UserError(f"{path}: {', '.join(twice)} stands twice. Give each anchor an id of its own.")
    found = Counter(anchor.level for anchor in anchors)
    if found != dict.fromkeys(LEVELS, PER_LEVEL):
        raise UserError(f"{path}: anchors by level are {dict(sorted(found.items()))}; {PER_LEVEL} of each level are needed.")
    return anchors
