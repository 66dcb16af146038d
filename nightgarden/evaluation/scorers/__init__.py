"""The scorers by name: what each counts, which family it belongs to, and how its rate reads.

To add one: a file with a function from an `Answer` to a `Score`, and a line in SCORERS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from nightgarden.evaluation.answers import Answer, Score
from nightgarden.evaluation.scorers.bullets import bullets
from nightgarden.evaluation.scorers.context_use import context_use
from nightgarden.evaluation.scorers.exclamations import exclamations
from nightgarden.evaluation.scorers.format_compliance import format_compliance
from nightgarden.evaluation.scorers.instruct_isms import instruct_isms
from nightgarden.evaluation.scorers.length import length
from nightgarden.evaluation.scorers.memory_narration import memory_narration
from nightgarden.evaluation.scorers.parroting import parroting
from nightgarden.evaluation.scorers.question_ending import question_ending
from nightgarden.evaluation.vacuity import leak_span, void_reason

Family = Literal["suppression", "generation", "also"]


@dataclass(frozen=True, kw_only=True)
class Scorer:
    """A scorer's place among the others."""

    judge: Callable[[Answer], Score]
    title: str
    """As it stands on the page."""
    family: Family
    good: Literal["low", "high"]
    """`low`: its rate is the share of replies that fail it; `high`: the share that pass."""
    judges_void: bool = False
    """True where a void reply fails instead of being left out."""
    judges_truncated: bool = False
    """True where a reply that was cut off is judged; elsewhere its score is void."""


SCORERS: dict[str, Scorer] = {
    "instruct_isms": Scorer(judge=instruct_isms, title="Instruct-isms", family="suppression", good="low"),
    "bullets": Scorer(judge=bullets, title="Bullet points", family="suppression", good="low"),
    "exclamations": Scorer(judge=exclamations, title="Exclamations", family="suppression", good="low"),
    "question_ending": Scorer(judge=question_ending, title="Question ending", family="suppression", good="low"),
    "length": Scorer(judge=length, title="Too long", family="generation", good="low", judges_truncated=True),
    "format_compliance": Scorer(
        judge=format_compliance,
        title="Format compliance",
        family="generation",
        good="high",
        judges_void=True,
        judges_truncated=True,
    ),
    "context_use": Scorer(
        judge=context_use,
        title="Context and memory use",
        family="generation",
        good="high",
        judges_void=True,
        judges_truncated=True,
    ),
    "memory_narration": Scorer(judge=memory_narration, title="Memory narration", family="also", good="low"),
    "parroting": Scorer(judge=parroting, title="Parroting", family="also", good="low"),
}
SIX: tuple[str, ...] = ("instruct_isms", "bullets", "exclamations", "length", "question_ending", "format_compliance")
"""The six scores that every summary shows."""


def score(answer: Answer) -> tuple[str | None, tuple[Score, ...]]:
    """Why a reply is void, or None, and one score a scorer in the order of SCORERS."""
    void = void_reason(answer.text)
    scores = []
    for name, scorer in SCORERS.items():
        if void and not scorer.judges_void:
            scores.append(Score(name=name, value=None, passed=None, reason=f"void: {void}", spans=leak_span(answer.text)))
        elif answer.truncated and not scorer.judges_truncated:
            scores.append(Score(name=name, value=None, passed=None, reason="void: the reply was cut off"))
        else:
            scores.append(scorer.judge(answer))
    return void, tuple(scores)
