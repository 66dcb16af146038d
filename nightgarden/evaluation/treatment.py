"""A template error as a treatment: the same prompts under the right template and under wrong ones, scored alike.

The numbers show what the disaster looks like on this very model, so that a reader knows it when it comes. The
wrong ids go round every guard on purpose; nothing else may do that. Runs the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from nightgarden.digests import sha256_text, source_digest
from nightgarden.evaluation import generate, prompts
from nightgarden.evaluation.answers import Reply
from nightgarden.evaluation.generate import Request, Work
from nightgarden.evaluation.prompts import Tokenised
from nightgarden.evaluation.results import scored_reply
from nightgarden.evaluation.scorers import SCORERS
from nightgarden.evaluation.wording import words
from nightgarden.jsonl import encode
from nightgarden.params import Params
from nightgarden.records import Record
from nightgarden.templates import registry, render
from nightgarden.templates.registry import ChatTemplate

PROMPTS = 8
"""As many as are asked; a template error shows in each of them."""


class Row(Record, frozen=True, kw_only=True):
    """What one template came to, over the replies to all prompts."""

    template: str
    replies: int
    void: int
    truncated: int
    words: float
    """Mean number of words of a reply."""
    failing: dict[str, tuple[int, int]]
    """Score -> replies that fail it, of those that it judged."""
    complies: int
    """Replies that are not void and break no constraint."""


@dataclass(frozen=True, kw_only=True)
class Treated:
    """One template with the ids that it gives to the prompts."""

    name: str
    ids: tuple[tuple[int, ...], ...]


def treatments(chosen: Sequence[Tokenised], template: ChatTemplate, tokenizer: Any) -> list[Treated]:
    """The right ids, then those of the two errors that have happened: another family's format, and no generation prompt."""
    other = registry.get("mistral_v3" if template.name != "mistral_v3" else "smollm2")

    def ids(make: Callable[[Tokenised], Sequence[int]]) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(make(item)) for item in chosen)

    def foreign(item: Tokenised) -> list[int]:
        text = render.plain(registry.render_text(other, tokenizer, _chat(item), generation_prompt=True))
        made: list[int] = tokenizer(text, add_special_tokens=False, split_special_tokens=False)["input_ids"]
        return made

    def unasked(item: Tokenised) -> list[int]:
        return registry.encode(template, tokenizer, _chat(item), generation_prompt=False).ids

    made = [Treated(name=f"{template.name} (right)", ids=ids(lambda item: item.ids))]
    made.append(Treated(name=f"{other.name} (another family's)", ids=ids(foreign)))
    if ids(unasked) != made[0].ids:  # no Mistral template has a generation prompt
        made.append(Treated(name=f"{template.name} without its generation prompt", ids=ids(unasked)))
    return made


def _chat(item: Tokenised) -> list[render.Message]:
    return registry.messages(item.prompt.turns, item.prompt.memories, item.prompt.directives)


def run(params: Params, root: Path, cache: Path) -> list[Row]:
    """Ask the stock model of params.yaml under every treatment.

    Args:
        params: `base`, `models` and `evaluation` are read; one seed a prompt.
        root: the checkout.
        cache: folder for finished batches.
    """
    from nightgarden.models import load, specs

    spec = params.base_spec
    folder = specs.folder(spec, root)
    template, tokenizer = registry.get(spec.template), load.load_tokenizer(folder)
    chosen = prompts.tokenise(prompts.load(root / prompts.FILE, PROMPTS), template, tokenizer)
    model = load.load_model(spec, root)
    work = Work(
        settings=params.evaluation,
        stop=tokenizer.convert_tokens_to_ids(template.stop),
        base=specs.weights_digest(folder),
        dtype=spec.dtype,
        adapter="none",
        machine=load.machine_of(model),
        code=source_digest(generate.CODE),
        cache=cache,
    )
    rows = []
    for treated in treatments(chosen, template, tokenizer):
        requests = [Request(prompt_ids=ids, seed=0) for ids in treated.ids]
        made = generate.generate(model, requests, work, treated.name)
        replies = [_reply(item, ids, reply, tokenizer) for item, ids, reply in zip(chosen, treated.ids, made, strict=True)]
        rows.append(_row(treated.name, chosen, replies, params.evaluation.max_reply_words))
    return rows


def _reply(item: Tokenised, ids: tuple[int, ...], made: generate.Generated, tokenizer: Any) -> Reply:
    return Reply(
        prompt=item.prompt.id,
        category=item.prompt.category,
        seed=0,
        side="stock",
        prompt_ids=ids,
        prompt_sha=sha256_text(encode(list(ids)).decode()),
        reply_ids=made.ids,
        text=tokenizer.decode(list(made.ids), skip_special_tokens=False, clean_up_tokenization_spaces=False).strip(),
        truncated=made.truncated,
    )


def _row(name: str, chosen: Sequence[Tokenised], replies: Sequence[Reply], max_words: int | None) -> Row:
    scored = [scored_reply(reply, item.prompt, max_words) for reply, item in zip(replies, chosen, strict=True)]
    judged = {score: [passed for item in scored if (passed := item.passed(score)) is not None] for score in SCORERS}
    return Row(
        template=name,
        replies=len(scored),
        void=sum(item.void is not None for item in scored),
        truncated=sum(reply.truncated for reply in replies),
        words=round(fmean(len(list(words(reply.text))) for reply in replies), 1),
        failing={score: (passed.count(False), len(passed)) for score, passed in judged.items()},
        complies=sum(item.complies for item in scored),
    )


def as_text(rows: Sequence[Row]) -> str:
    """A table, one template a column."""
    cells: dict[str, list[str]] = {
        "replies": [str(row.replies) for row in rows],
        "void": [str(row.void) for row in rows],
        "cut off": [str(row.truncated) for row in rows],
        "words a reply": [f"{row.words:.0f}" for row in rows],
        "comply": [f"{row.complies} of {row.replies}" for row in rows],
    }
    cells |= {f"fail: {SCORERS[name].title.lower()}": [_of(row.failing, name) for row in rows] for name in SCORERS}
    widths = [max(len(row.template), 12) for row in rows]
    head = " " * 30 + "  ".join(row.template.rjust(width) for row, width in zip(rows, widths, strict=True))
    body = [name.ljust(30) + "  ".join(each.rjust(w) for each, w in zip(row, widths, strict=True)) for name, row in cells.items()]
    return "\n".join([head, *body])


def _of(failing: Mapping[str, tuple[int, int]], name: str) -> str:
    fails, of = failing[name]
    return f"{fails} of {of}" if of else "-"
