"""schema: the turns form a chat that ends in an answer, and the row has what its op needs.

Reading faults are ingest's; this rule sees rows that were read well and are no good example.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from nightgarden.curation.canaries import ANSWER, PROMPT, Canaries, clean_rows, row
from nightgarden.curation.matching import ROW, fold
from nightgarden.records import Example, Hit, MemoryLine, Turn
from nightgarden.rule_params import RuleSettings

ENGINE = "python/turn-order-2"

_ASK, _REPLY = Turn(role="user", content=PROMPT), Turn(role="assistant", content=ANSWER)
_SYSTEM = Turn(role="system", content="Be brief.")
CANARY_BAD: tuple[Example, ...] = (
    row("schema:last_user", op=0, turns=(_ASK, _REPLY, _ASK)),
    row("schema:empty_answer", op=0, turns=(_ASK, Turn(role="assistant", content=" \n"))),
    row("schema:invisible_answer", op=0, turns=(_ASK, Turn(role="assistant", content="\u200b\ufeff"))),
    row("schema:doubled", op=0, turns=(_ASK, _ASK, _REPLY)),
    row("schema:answer_first", op=0, turns=(_REPLY, _ASK, _REPLY)),
    row("schema:late_system", op=0, turns=(_ASK, _SYSTEM, _REPLY)),
    row("schema:no_answer", op=0, turns=(_SYSTEM,)),
    row("schema:no_contrast", op=1, turns=(_ASK, _REPLY)),
    row("schema:no_system", op=2, turns=(_ASK, _REPLY)),
    row("schema:no_memories", op=3, turns=(_ASK, _REPLY)),
    row("schema:empty_memory", op=3, turns=(_ASK, _REPLY), memories=(MemoryLine(type="semantic", text=""),)),
    row("schema:no_day", op=3, turns=(_ASK, _REPLY), memories=(MemoryLine(type="episodic", text="Rain.", date="May"),)),
)


def canaries(settings: RuleSettings) -> Canaries:
    """A row for every fault."""
    return Canaries(bad=CANARY_BAD, clean=clean_rows())


def hits(example: Example, settings: RuleSettings) -> tuple[Hit, ...]:
    """Faults of the turns in order, then of the row as a whole."""
    reasons = [*_turn_faults(example.turns), *_row_faults(example)]
    return tuple(Hit(turn=turn, start=0, end=0, reason=reason) for turn, reason in reasons)


def _turn_faults(turns: tuple[Turn, ...]) -> Iterator[tuple[int, str]]:
    expected = "user"
    for index, turn in enumerate(turns):
        if _is_blank(turn.content):
            yield index, f"empty {turn.role} turn"
        if turn.role == "system":
            if index:
                yield index, "a system turn that is not the first turn"
            continue
        if turn.role != expected:
            yield index, f"{turn.role} turn where the {expected} should speak"
        expected = "assistant" if turn.role == "user" else "user"


def _row_faults(example: Example) -> Iterator[tuple[int, str]]:
    if not example.turns or example.turns[-1].role != "assistant":
        yield ROW, "the last turn is no answer"
    if example.op == 1 and _is_blank(str(example.meta.get("contrast") or "")):
        yield ROW, "op 1 without meta.contrast: the pair is not whole"
    if example.op == 2 and not any(turn.role == "system" for turn in example.turns):
        yield ROW, "op 2 without a system turn: there is no context to obey"
    if example.op == 3 and not example.memories:
        yield ROW, "op 3 without memories"
    for number, memory in enumerate(example.memories, 1):
        if _is_blank(memory.text):
            yield ROW, f"memory {number} is empty"
        if memory.date is not None and not _is_day(memory.date):
            yield ROW, f"memory {number}: its date is no day like 2026-03-02"


def _is_blank(text: str) -> bool:
    """Whether nothing can be seen of the text: blanks and zero-width characters fold away."""
    return not text[:1].isalnum() and not fold(text).text.strip()


def _is_day(text: str) -> bool:
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
