"""One protocol for every model that answers a chat.

Knows turns and text; not whether a model is here, in a child process or behind a network.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from nightgarden.errors import UserError
from nightgarden.records import Turn

log = logging.getLogger(__name__)


class Declined(UserError):
    """This one request got no answer, and would get none again; another request may."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a model said, and what it cost in tokens."""

    text: str
    cut: bool
    """Whether it was ended by `max_tokens` and not by the model."""
    prompt_tokens: int | None
    completion_tokens: int | None
    """None where a server does not count."""


class Chat(Protocol):
    """A model that answers."""

    name: str
    """Name of the model, for labels and reports."""

    def answer(
        self,
        turns: Sequence[Turn],
        *,
        temperature: float,
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,
    ) -> Answer:
        """The model's answer to a chat that ends with a user turn.

        Args:
            turns: an optional system turn, then user and assistant in turn.
            temperature: 0 takes the likeliest token each time; above, plain sampling with nothing cut off.
            max_tokens: an answer is cut here.
            schema: JSON schema that the answer must satisfy.

        Raises:
            Declined: the server refuses this request, or answers it without text.
            UserError: the model cannot be reached, or cannot do what is asked.
        """

    def reply(
        self,
        turns: Sequence[Turn],
        *,
        temperature: float,
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,
    ) -> str:
        """The text of `answer`; a cut one is logged."""
        answer = self.answer(turns, temperature=temperature, max_tokens=max_tokens, schema=schema)
        if answer.cut:
            log.warning("an answer was cut at %d tokens", max_tokens)
        return answer.text
