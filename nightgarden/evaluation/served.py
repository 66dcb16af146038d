"""Replies of a model behind an OpenAI-compatible server, asked with token ids: nothing renders the chat again.

`/v1/completions` takes ids (vLLM, llama.cpp). A server that puts a BOS before them, or makes text of them and cuts it
anew, counts other prompt tokens than it was sent: that stops the run. Which weights it serves cannot be known, so
nothing is kept for another run. Does not score.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nightgarden.chat import served
from nightgarden.errors import Refusal
from nightgarden.evaluation.generate import Generated, Request
from nightgarden.params import Evaluation

if TYPE_CHECKING:
    from openai import OpenAI

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 300.0
"""For one reply, which may wait behind others."""


@dataclass(frozen=True, kw_only=True)
class Server:
    """A served model and how it is asked."""

    url: str
    model: str
    key: str = field(default="none", repr=False)
    at_once: int = 4
    """Requests under way at once."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Fields that only this kind of server knows, such as llama.cpp's `cache_prompt`."""


def replies(server: Server, requests: Sequence[Request], stop: str, tokenizer: Any, settings: Evaluation) -> list[Generated]:
    """Replies in the order of `requests`; the ids of a reply are those of its text, since a server sends text.

    Args:
        server: who is asked.
        requests: prompts as ids, with their seeds; `begun` tokens are sent as a part of the prompt.
        stop: text of the template's stop token.
        tokenizer: of the served model's family.
        settings: temperature, top_p and max_new_tokens.

    Raises:
        UserError: the server cannot be reached or refuses a request.
        Refusal: it read other tokens than it was sent.
    """
    client = served.client(server.url, server.key, TIMEOUT_SECONDS)
    with ThreadPoolExecutor(server.at_once, thread_name_prefix="served") as pool:
        made = list(pool.map(lambda request: _reply(client, server, request, stop, settings), requests))
    log.info("%s: %d replies", server.model, len(made))
    return [
        Generated(
            ids=request.begun + tuple(tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]),
            truncated=cut,
        )
        for request, (text, cut) in zip(requests, made, strict=True)
    ]


def _reply(client: OpenAI, server: Server, request: Request, stop: str, settings: Evaluation) -> tuple[str, bool]:
    """Text of a reply, and whether it was cut off."""
    with served.told(server.url, server.key):
        answer = client.completions.create(
            model=server.model,
            prompt=list(request.given),
            temperature=settings.temperature,
            top_p=settings.top_p,
            max_tokens=settings.max_new_tokens - len(request.begun),
            seed=request.seed,
            stop=[stop],
            extra_body=server.extra,
        )
    read = served.answer_of(answer.choices[0].text, answer.choices[0].finish_reason, answer.usage)
    if read.prompt_tokens != len(request.given):
        raise Refusal(
            f"{server.url} read {read.prompt_tokens} prompt tokens where {len(request.given)} were sent: it renders or tokenises "
            "the prompt again, or adds a BOS. Nothing was scored; use a server that takes token ids as they are."
        )
    return read.text, read.cut
