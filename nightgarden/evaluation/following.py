"""IFEval's numbers of one side: prompts and single instructions followed, strict and loose, and each kind by itself.

A reply counts by its text as published: cut off or not, void or not. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from nightgarden.evaluation import ifeval
from nightgarden.evaluation.answers import Reply, Side
from nightgarden.evaluation.constraints import instruction_args
from nightgarden.records import Prompt, Record

Count = tuple[int, int]
"""How many of how many."""


class Following(Record, frozen=True, kw_only=True):
    """How far one side follows instructions."""

    prompt_strict: Count
    """Replies that follow every instruction of their prompt."""
    prompt_loose: Count
    instruction_strict: Count
    instruction_loose: Count
    kinds: dict[str, tuple[int, int, int]]
    """Strict, loose and all, by kind of instruction."""


def following(prompts: Sequence[Prompt], replies: Sequence[Reply], side: Side) -> Following | None:
    """The numbers of a side, or None where no prompt has an instruction of IFEval's."""
    told = {prompt.id: [c for c in prompt.constraints if c.kind in ifeval.CHECKS] for prompt in prompts}
    judged = []
    for reply in replies:
        if reply.side == side and (mine := told[reply.prompt]):
            pairs = [(item.kind, instruction_args(item)) for item in mine]
            strict = [ifeval.broken(kind, args, (reply.text,)) is None for kind, args in pairs]
            loose = [ifeval.broken(kind, args, ifeval.loosened(reply.text)) is None for kind, args in pairs]
            judged.append(([kind for kind, _ in pairs], strict, loose))
    if not judged:
        return None
    single = [one for kinds, strict, loose in judged for one in zip(kinds, strict, loose, strict=True)]
    return Following(
        prompt_strict=(sum(all(strict) for _, strict, _ in judged), len(judged)),
        prompt_loose=(sum(all(loose) for _, _, loose in judged), len(judged)),
        instruction_strict=(sum(strict for _, strict, _ in single), len(single)),
        instruction_loose=(sum(loose for _, _, loose in single), len(single)),
        kinds={name: _kind([one for one in single if one[0] == name]) for name in sorted({one[0] for one in single})},
    )


def _kind(single: Sequence[tuple[str, bool, bool]]) -> tuple[int, int, int]:
    return sum(strict for _, strict, _ in single), sum(loose for _, _, loose in single), len(single)
