"""The evaluation prompts: read, checked, chosen, and made token ids once for both sides.

Knows the file and the chat template; no weights, no reply.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nightgarden import jsonl
from nightgarden.digests import sha256_text
from nightgarden.errors import Refusal, UserError
from nightgarden.evaluation import constraints
from nightgarden.records import Constraint, MemoryLine, Prompt, Record, Turn
from nightgarden.templates import registry
from nightgarden.templates.registry import IGNORED, ChatTemplate

FILE = Path("data/seed/evaluation_prompts.jsonl")
CATEGORIES: tuple[str, ...] = ("identity_stripping", "context_supremacy", "memory_channels", "correction_compliance")
SYSTEM = "You are talking with one person."
"""System prompt where a prompt has none: a model's own template may fill the gap with a default of its own
(SmolLM2's names the model, Mistral Small's prints today's date), and then the two sides answer that."""


def in_order(categories: Iterable[str]) -> tuple[str, ...]:
    """Each category once: those of the 35 prompts first, in their order, then a suite's own by name."""
    there = set(categories)
    return tuple(name for name in CATEGORIES if name in there) + tuple(sorted(there - set(CATEGORIES)))


class Line(Record, frozen=True, kw_only=True):
    """A prompt as the file holds it."""

    id: str
    category: str
    messages: tuple[Turn, ...]
    memories: tuple[MemoryLine, ...] = ()
    directives: tuple[str, ...] = ()
    constraints: tuple[Constraint, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Tokenised:
    """A prompt with the ids that both sides are given."""

    prompt: Prompt
    ids: tuple[int, ...]
    sha: str
    """sha256 of the ids' canonical JSON."""


def load(path: Path, count: int | None = None) -> list[Prompt]:
    """The prompts of a file, checked; `count` of them balanced over the categories, all for None.

    Raises:
        UserError: a line that is no prompt, or fewer prompts than asked for.
    """
    lines: list[Line] = list(jsonl.read(path, Line))
    if strange := next(((n, line) for n, line in enumerate(lines, 1) if line.category not in CATEGORIES), None):
        raise UserError(
            f"{path}:{strange[0]}: {strange[1].id}: unknown category {strange[1].category!r}; categories are "
            f"{', '.join(CATEGORIES)}. Correct the line."
        )
    return choose(checked([with_system(line) for line in lines], path), count)


def checked(prompts: Sequence[Prompt], path: Path) -> Sequence[Prompt]:
    """The prompts of a file, if each of them is one.

    Raises:
        UserError: names the first that is not, by its number.
    """
    known: set[str] = set()
    for number, prompt in enumerate(prompts, 1):
        if fault := _fault(prompt, known):
            raise UserError(f"{path}:{number}: {prompt.id}: {fault}. Correct the line.")
        known.add(prompt.id)
    return prompts


def with_system(line: Line) -> Prompt:
    """The prompt with an explicit system turn, its own or SYSTEM."""
    given = bool(line.messages) and line.messages[0].role == "system"
    head = () if given else (Turn(role="system", content=SYSTEM),)
    return Prompt(
        id=line.id,
        category=line.category,
        turns=head + line.messages,
        memories=line.memories,
        directives=line.directives,
        constraints=line.constraints,
    )


def _fault(prompt: Prompt, known: set[str]) -> str | None:
    if prompt.id in known:
        return "this id stands twice"
    if prompt.turns[-1].role != "user":
        return f"the last turn is {prompt.turns[-1].role}'s; a prompt ends with the user's"
    return next((fault for item in prompt.constraints if (fault := constraints.fault(item))), None)


def choose(prompts: Sequence[Prompt], count: int | None) -> list[Prompt]:
    """`count` prompts, taken in turn from the categories by the order of ids; None takes all.

    Raises:
        UserError: there are fewer.
    """
    names = in_order(prompt.category for prompt in prompts)
    by_category = {name: sorted((p for p in prompts if p.category == name), key=lambda p: p.id) for name in names}
    if count is None:
        return [prompt for name in names for prompt in by_category[name]]
    if count > len(prompts):
        raise UserError(f"{count} prompts are asked for; the file has {len(prompts)}. Ask for at most that, or for all.")
    longest = max(map(len, by_category.values()))
    dealt = [by_category[name][row] for row in range(longest) for name in names if row < len(by_category[name])]
    taken = {prompt.id for prompt in dealt[:count]}
    return [prompt for name in names for prompt in by_category[name] if prompt.id in taken]


def tokenise(prompts: Sequence[Prompt], template: ChatTemplate, tokenizer: Any) -> list[Tokenised]:
    """Ids of every prompt, each checked; these very ids go to both sides.

    Raises:
        Refusal: ids that no model of this template was trained on.
    """
    made = []
    for prompt in prompts:
        ids = registry.encode_prompt(template, tokenizer, prompt.turns, prompt.memories, prompt.directives)
        if fault := ids_fault(ids, prompt, template, tokenizer):
            raise Refusal(f"prompt {prompt.id}: {fault}. Nothing was generated; repair template {template.name}.")
        made.append(Tokenised(prompt=prompt, ids=tuple(ids), sha=sha256_text(jsonl.encode(ids).decode())))
    return made


def ids_fault(ids: Sequence[int], prompt: Prompt, template: ChatTemplate, tokenizer: Any) -> str | None:
    """What is wrong with a prompt's ids, or None.

    BOS stands as often as the template writes it, control tokens are ids and not text, the system text is
    there, and the ids end exactly where training would begin to label the answer.
    """
    if template.bos is not None and list(ids).count(tokenizer.convert_tokens_to_ids(template.bos)) != 1:
        return f"BOS {template.bos} stands {list(ids).count(tokenizer.convert_tokens_to_ids(template.bos))} times, once is needed"
    if template.control and not set(ids) & {tokenizer.convert_tokens_to_ids(token) for token in template.control}:
        return f"none of the control tokens {', '.join(template.control)} is among its ids"
    system = registry.system_text(prompt.turns[0].content, prompt.directives, prompt.memories)
    if "".join(system.split()) not in "".join(tokenizer.decode(list(ids)).split()):
        return "its system text is not among its ids"
    chat = registry.messages(prompt.turns, prompt.memories, prompt.directives) + [{"role": "assistant", "content": "Yes"}]
    whole = registry.encode(template, tokenizer, chat, generation_prompt=False)
    if whole.ids[: len(ids)] != list(ids):
        return "its ids are not the beginning of the chat with an answer: the generation prompt is missing or wrong"
    if template.family and (whole.labels[len(ids) - 1] != IGNORED or whole.labels[len(ids)] == IGNORED):
        return "its ids do not end where training begins to label the answer: the generation prompt is missing or wrong"
    return None
