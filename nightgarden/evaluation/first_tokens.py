"""The panel of first tokens: beginnings crossed between the sides and continued, and where the two part.

Runs the model through `generate.py`; what the crossing says is `crossover.py`'s.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from nightgarden.evaluation import crossover, generate
from nightgarden.evaluation.answers import SIDES, Reply, Side
from nightgarden.evaluation.bootstrap import cluster_interval
from nightgarden.evaluation.crossover import PLACEBO, Crossed, FirstTokens, Writer, quality
from nightgarden.evaluation.divergence import along, divergence
from nightgarden.evaluation.generate import Request, Sides, Work
from nightgarden.evaluation.results import scored_reply
from nightgarden.records import Prompt

log = logging.getLogger(__name__)

KS = (1, 3, 5, 10, 20)
"""Lengths of a beginning that are tried; with 0 tokens nothing is crossed."""
WRITERS: tuple[Writer, ...] = ("stock", "adapted", "placebo")


@dataclass(frozen=True, kw_only=True)
class _Cell:
    """One reply with two writers, before it is written."""

    reply: Reply
    """Whose prompt and seed it has; for a side as the first writer also whose beginning."""
    k: int
    beginning: Writer
    rest: Side
    request: Request | None
    """None where the beginning is the whole reply: nothing is left for the other side to write."""


def study(sides: Sides, work: Work, replies: Sequence[Reply], prompts: Mapping[str, Prompt], tokenizer: Any) -> FirstTokens:
    """Cross the beginnings of replies, and follow both sides along them.

    Args:
        sides: the loaded model.
        work: how its replies are made.
        replies: both sides' own, of the prompts that are studied.
        prompts: by id.
        tokenizer: the model's.
    """
    limit, alpha = work.settings.max_reply_words, work.settings.alpha
    unbroken: dict[Side, dict[tuple[str, int], float]] = {side: {} for side in SIDES}
    for reply in replies:
        unbroken[reply.side][reply.prompt, reply.seed] = quality(scored_reply(reply, prompts[reply.prompt], limit))
    placebo = tuple(tokenizer(PLACEBO, add_special_tokens=False)["input_ids"])
    cells = list(_cells(replies, placebo, work.settings.max_new_tokens))
    log.info("first tokens: %d replies of %d prompts with two writers", len(cells), len(prompts))
    crossed = []
    for side in SIDES:
        mine = [cell for cell in cells if cell.rest == side]
        written = iter(generate.replies(sides, side, [cell.request for cell in mine if cell.request], work))
        for cell in mine:
            text, cut = cell.reply.text, cell.reply.truncated
            if cell.request is not None:
                made = next(written)
                text, cut = tokenizer.decode(list(made.ids), clean_up_tokenization_spaces=False).strip(), made.truncated
            scored = scored_reply(_as_reply(cell, text, cut), prompts[cell.reply.prompt], limit)
            crossed.append(
                Crossed(
                    prompt=cell.reply.prompt,
                    seed=cell.reply.seed,
                    k=cell.k,
                    beginning=cell.beginning,
                    rest=cell.rest,
                    quality=quality(scored),
                )
            )
    curves = {
        side: divergence([along(sides, r.prompt_ids, r.reply_ids) for r in replies if r.side == side and r.reply_ids])
        for side in SIDES
    }
    found = crossover.panel(unbroken, crossed, partial(cluster_interval, alpha=alpha))
    log.info("first tokens: %s: %s", found.verdict, found.reason)
    return FirstTokens(crossover=found, divergence=curves, prompts=len(prompts))


def _cells(replies: Sequence[Reply], placebo: tuple[int, ...], max_tokens: int) -> Iterator[_Cell]:
    for reply in replies:
        other: Side = "stock" if reply.side == "adapted" else "adapted"
        for k in KS:
            if k >= min(max_tokens, len(placebo) + 1):
                continue
            is_whole = len(reply.reply_ids) < k
            own = None if is_whole else _request(reply, reply.reply_ids[:k])
            yield _Cell(reply=reply, k=k, beginning=reply.side, rest=other, request=own)
            yield _Cell(reply=reply, k=k, beginning="placebo", rest=reply.side, request=_request(reply, placebo[:k]))


def _request(reply: Reply, begun: tuple[int, ...]) -> Request:
    return Request(prompt_ids=reply.prompt_ids, seed=reply.seed, begun=begun)


def _as_reply(cell: _Cell, text: str, truncated: bool) -> Reply:
    reply = cell.reply
    return Reply(
        prompt=reply.prompt,
        category=reply.category,
        seed=reply.seed,
        side=cell.rest,
        prompt_ids=reply.prompt_ids,
        prompt_sha=reply.prompt_sha,
        reply_ids=(),
        text=text,
        truncated=truncated,
    )
