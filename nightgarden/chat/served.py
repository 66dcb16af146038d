"""A chat model behind an OpenAI-compatible server: vLLM, Ollama, llama.cpp or a hosted one.

The server renders the chat with its own template and decides what control tokens inside a turn mean.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from nightgarden.errors import UserError
from nightgarden.loopback import is_here
from nightgarden.records import Turn

if TYPE_CHECKING:
    from openai import OpenAI

log = logging.getLogger(__name__)

RETRIES = 2
"""Of a call that met no server, a full one or a broken one; a refused request is not asked again."""


def client(url: str, api_key: str, timeout_seconds: float) -> OpenAI:
    """A client of the OpenAI SDK with every choice made here."""
    import openai

    transport = openai.DefaultHttpxClient(trust_env=not is_here(url))
    return openai.OpenAI(base_url=url, api_key=api_key, timeout=timeout_seconds, max_retries=RETRIES, http_client=transport)


@contextmanager
def told(url: str) -> Iterator[None]:
    """Turns the SDK's errors into ours."""
    import openai

    try:
        yield
    except openai.APITimeoutError as error:
        raise UserError(f"{url} did not answer in time. Give it more seconds, or ask for fewer tokens.") from error
    except openai.APIConnectionError as error:
        raise UserError(f"cannot reach {url}: {error.__cause__ or error}. Start the server, or correct its address.") from error
    except openai.APIStatusError as error:
        raise UserError(
            f"{url} answered {error.status_code}: {error.message[:300]}. Correct the model's name, the key or the request."
        ) from error


def checked(text: str | None, finish: str | None, max_tokens: int) -> str:
    """The text of an answer; a cut one is logged.

    Raises:
        UserError: the server sent no text.
    """
    if text is None:
        raise UserError(f"the server sent no text (finish reason {finish}). Ask a model that answers chats.")
    if finish == "length":
        log.warning("an answer was cut at %d tokens", max_tokens)
    return text


class Served:
    """A model of a server that somebody else runs."""

    def __init__(self, url: str, model: str, *, api_key: str, timeout_seconds: float, seed: int) -> None:
        self.url = url
        self.name = model
        self._api_key = api_key
        self._timeout_seconds = timeout_seconds
        self._seed = seed

    @cached_property
    def _client(self) -> OpenAI:
        return client(self.url, self._api_key, self._timeout_seconds)

    def reply(
        self,
        turns: Sequence[Turn],
        *,
        temperature: float,
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,
    ) -> str:
        """The model's answer; see `Chat.reply`."""
        extra: dict[str, Any] = {}
        if schema is not None:
            named = {"name": "answer", "schema": dict(schema), "strict": True}
            extra["response_format"] = {"type": "json_schema", "json_schema": named}
        messages: Any = [{"role": turn.role, "content": turn.content} for turn in turns]
        with told(self.url):
            answer = self._client.chat.completions.create(
                model=self.name,
                messages=messages,
                temperature=temperature,
                top_p=1.0,
                max_tokens=max_tokens,
                seed=self._seed,
                **extra,
            )
        if not answer.choices:
            raise UserError(f"{self.url} sent an answer without choices. Check that it is an OpenAI-compatible server.")
        return checked(answer.choices[0].message.content, answer.choices[0].finish_reason, max_tokens)
