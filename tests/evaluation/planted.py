"""Replies and scores planted by hand."""

from typing import Any

from nightgarden.evaluation.answers import Answer, Score, Scored, Side
from nightgarden.evaluation.barbell import pole
from nightgarden.evaluation.scorers import SCORERS
from nightgarden.records import Constraint, MemoryLine, Prompt, Turn


def answer(text: str, *, truncated: bool = False, max_words: int = 90, **fields: Any) -> Answer:
    """A reply to a small prompt."""
    turns = (Turn(role="system", content=fields.pop("system", "Be brief.")), Turn(role="user", content="Well?"))
    fields = {"category": "memory_channels", "constraints": (), "memories": ()} | fields
    return Answer(prompt=Prompt(id="p-01", turns=turns, **fields), text=text, truncated=truncated, max_words=max_words)


def contains(*any_: str) -> Constraint:
    return Constraint(kind="must_contain", any=any_)


def memory(text: str) -> MemoryLine:
    return MemoryLine(type="semantic", text=text)


def scored(prompt: str, side: Side, *, fails: tuple[str, ...] = (), skips: tuple[str, ...] = (), **fields: Any) -> Scored:
    """A scored reply that passes every check but those named; `skips` are not applicable."""
    scores = tuple(
        Score(name=name, value=None, passed=None if name in skips else name not in fails, reason="planted") for name in SCORERS
    )
    fields = {"category": "identity_stripping", "seed": 0, "void": None} | fields
    return Scored(prompt=prompt, side=side, pole=pole(fields["void"], scores), scores=scores, **fields)
