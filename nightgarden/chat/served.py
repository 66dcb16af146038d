"""A chat model behind an OpenAI-compatible server: vLLM, Ollama, llama.cpp or a hosted one.

The server renders the chat with its own template and decides what control tokens inside a turn mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from nightgarden.chat import Answer, Chat, Declined
from nightgarden.errors import UserError
from nightgarden.loopback import is_here
from nightgarden.records import Turn

if TYPE_CHECKING:
    from openai import OpenAI
    from openai.types import CompletionUsage

RETRIES = 2
"""Of a call that met no server, a full one or a broken one; a refused request is not asked again."""
KEY_CHARACTERS = 8
DECLINED = (400, 413, 422)
"""Status codes that speak of one request (too long, against a policy) and not of the server, the key or the model's name."""


def client(url: str, api_key: str, timeout_seconds: float) -> OpenAI:
    """A client of the OpenAI SDK with every choice made here."""
    import openai

    transport = openai.DefaultHttpxClient(trust_env=not is_here(url))
    return openai.OpenAI(base_url=url, api_key=api_key, timeout=timeout_seconds, max_retries=RETRIES, http_client=transport)


@contextmanager
def told(url: str, api_key: str) -> Iterator[None]:
    """Turns the SDK's errors into ours, without the key: servers and transports repeat it in theirs."""
    import openai

    try:
        yield
    except openai.APITimeoutError:
        raise UserError(f"{url} did not answer in time. Give it more seconds, or ask for fewer tokens.") from None
    except openai.APIConnectionError as error:
        reason = without(api_key, str(error.__cause__ or error))
        raise UserError(f"cannot reach {url}: {reason}. Start the server, or correct its address.") from None
    except openai.APIStatusError as error:
        said = f"{url} answered {error.status_code}: {without(api_key, error.message)[:300]}."
        if error.status_code in DECLINED:
            raise Declined(f"{said} Shorten or change this request.") from None
        raise UserError(f"{said} Correct the model's name, the key or the request.") from None


def without(api_key: str, text: str) -> str:
    """The text without the key, or its parts where it holds a blank; a part below KEY_CHARACTERS is no secret."""
    for part in api_key.split():
        text = text.replace(part, "(the key)") if len(part) >= KEY_CHARACTERS else text
    return text


def answer_of(text: str | None, finish: str | None, usage: CompletionUsage | None) -> Answer:
    """One choice of a completion.

    Raises:
        Declined: the server sent no text.
    """
    if text is None:
        raise Declined(f"the server sent no text (finish reason {finish}). Ask a model that answers chats.")
    return Answer(
        text=text,
        cut=finish == "length",
        prompt_tokens=usage.prompt_tokens if usage else None,
        completion_tokens=usage.completion_tokens if usage else None,
    )


class Served(Chat):
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

    def answer(
        self,
        turns: Sequence[Turn],
        *,
        temperature: float,
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,
    ) -> Answer:
        """The model's answer; see `Chat.answer`."""
        extra: dict[str, Any] = {}
        if schema is not None:
            named = {"name": "answer", "schema": dict(schema), "strict": True}
            extra["response_format"] = {"type": "json_schema", "json_schema": named}
        messages: Any = [{"role": turn.role, "content": turn.content} for turn in turns]
        with told(self.url, self._api_key):
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
        choice, text = answer.choices[0], answer.choices[0].message.content
        return answer_of(text and without(self._api_key, text), choice.finish_reason, answer.usage)
