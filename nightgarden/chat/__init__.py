"""One protocol for every model that answers a chat.

Knows turns and text; not whether a model is here, in a child process or behind a network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from nightgarden.records import Turn


class Chat(Protocol):
    """A model that answers."""

    @property
    def name(self) -> str:
        """Name of the model, for labels and reports."""

    def reply(
        self,
        turns: Sequence[Turn],
        *,
        temperature: float,
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,
    ) -> str:
        """The model's answer to a chat that ends with a user turn.

        Args:
            turns: an optional system turn, then user and assistant in turn.
            temperature: 0 takes the likeliest token each time; above, plain sampling with nothing cut off.
            max_tokens: an answer is cut here, and the cut is logged.
            schema: JSON schema that the answer must satisfy.

        Raises:
            UserError: the model cannot be reached, or cannot do what is asked.
        """
