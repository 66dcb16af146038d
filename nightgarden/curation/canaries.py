"""Known rows that every pass carries: bad ones that it must hit, clean ones, one per op, that it must not.

They go through the same code as the real rows, inside the stage, and are taken out again. Their ids
are no content ids, so they can neither clash with a real row nor pass for one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from nightgarden.errors import Refusal
from nightgarden.records import Example, MemoryLine, Turn

PREFIX = "canary:"
PROMPT = "We moved the clock to the other wall and now it loses a minute a day. Why?"
ANSWER = "The new wall is colder, so the pendulum shortens and the rate changes. Turn the nut under the bob by half a turn."
CONTRAST = "Great question! I'd be happy to help:\n- Check the wall\n- Check the clock\nWhat would you like to know?"
_CHATS = (
    (PROMPT, ANSWER),
    (
        "Be honest, is my soup any good?",
        "It is thin and it is kind. More salt, less water, and let the leeks go brown before the stock goes in.",
    ),
    ("Can I bring my dog on board? He is small.", "No animals on the upper deck. The lower one has a corner by the stairs."),
    ("What do I wear to the hut on Friday?", "Wool, and the grey boots, since the north side still has ice in the morning."),
)
"""Question and answer of the clean row of each op; questions stand in user turns only."""


@dataclass(frozen=True, kw_only=True)
class Canaries:
    """What one rule is tried on."""

    bad: tuple[Example, ...]
    clean: tuple[Example, ...]
    keepers: frozenset[str] = frozenset()
    """Ids of bad rows that the pass keeps all the same: of two near-copies one stays."""

    @property
    def rows(self) -> tuple[Example, ...]:
        """All of them, as they go through the stage."""
        return self.bad + self.clean


def bad_row(rule: str, number: int, answer: str, *, prompt: str = PROMPT) -> Example:
    """A bootstrap row with a faulty answer, or a faulty prompt."""
    return row(f"{rule}:{number}", op=0, turns=(Turn(role="user", content=prompt), Turn(role="assistant", content=answer)))


def row(name: str, *, op: int, turns: tuple[Turn, ...], **rest: Any) -> Example:
    """A canary of any form."""
    return Example(id=PREFIX + name, op=op, turns=turns, **rest)


def clean_rows(answer: str | None = None) -> tuple[Example, ...]:
    """One clean row per op, with their own answers or all with the given one.

    Op 1's contrast is full of what style rules hunt: it must stay exempt.
    """
    turns = [(Turn(role="user", content=ask), Turn(role="assistant", content=answer or reply)) for ask, reply in _CHATS]
    memory = MemoryLine(type="episodic", text="The hut road was icy in spring.", date="2026-02-11")
    return (
        row("clean:0", op=0, turns=turns[0]),
        row("clean:1", op=1, turns=turns[1], meta={"contrast": CONTRAST}),
        row("clean:2", op=2, turns=(Turn(role="system", content="You are a ferry. Two sentences."), *turns[2])),
        row("clean:3", op=3, turns=turns[3], memories=(memory,), directives=("One sentence is enough.",)),
    )


def of_answers(rule: str, texts: Collection[str]) -> Canaries:
    """Canaries of a rule that reads answers: each text as an answer, and the clean rows."""
    bad = tuple(bad_row(rule, number, text) for number, text in enumerate(texts))
    return Canaries(bad=bad, clean=clean_rows())


def judge(rule: str, canaries: Canaries, taken: Collection[str], verb: str) -> None:
    """Compare what a stage took with what it had to take.

    Raises:
        Refusal: a bad row was missed or a clean one taken; names rule and canary.
    """
    missed = [example for example in canaries.bad if example.id not in taken]
    false = [example for example in canaries.clean if example.id in taken]
    for fault, examples in (("missed the bad", missed), (f"{verb} the clean", false)):
        if examples:
            raise Refusal(
                f"rule {rule} {fault} canary {examples[0].id} ({len(examples)} in all), so its verdict on real rows counts "
                f"for nothing and nothing was published. Its answer: {_answer(examples[0])!r:.120}. "
                f"Repair curation.rules.{rule} in params.yaml, or the rule, or switch it off with `enabled: false`."
            )


def _answer(example: Example) -> str:
    return next((turn.content for turn in example.turns if turn.role == "assistant"), "")


def without(found: Mapping[str, Any]) -> dict[str, Any]:
    """What was found on real rows: the canaries taken out again."""
    return {key: value for key, value in found.items() if not key.startswith(PREFIX)}
