"""The embedded model in a llama.cpp server of our own, which starts and stops with a `with` block.

Turns become token ids here, with our template, so the server adds no system prompt of its own and a
control token inside a turn stays text. Any OpenAI-compatible client may use `url` as well.
"""

from __future__ import annotations

import logging
import select
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from nightgarden.chat import Answer, Chat, Declined, served
from nightgarden.errors import UserError
from nightgarden.models.load import load_tokenizer
from nightgarden.records import Turn
from nightgarden.templates import passport, registry

if TYPE_CHECKING:
    from openai import OpenAI

log = logging.getLogger(__name__)

POLL_SECONDS = 0.05
STOP_SECONDS = 10
KEY = "none"
"""The child asks for no key; the client insists on one."""
UNCUT = {"top_k": 0, "min_p": 0.0, "typical_p": 1.0, "repeat_penalty": 1.0}
"""llama.cpp's own defaults would cut (top_k 40, min_p 0.05); `Chat.answer` promises plain sampling."""
ALONE = {"cache_prompt": False}
"""What stays in llama.cpp's cache from the request before changes the last bits of the next one: of four questions asked in
another order three got other answers. Without it an answer depends on its own request alone."""


class Embedded(Chat):
    """A GGUF model folder as a chat model; use it in a `with` block."""

    def __init__(self, folder: Path, *, seed: int, context_tokens: int = 4096, timeout_seconds: float = 120) -> None:
        found = sorted(folder.glob("*.gguf"))
        if len(found) != 1:
            raise UserError(f"{folder} holds {len(found)} .gguf files; one is needed. Run `nightgarden fetch`.")
        proof = passport.inspect(folder)
        passport.require(proof)
        if proof.template is None or proof.family is None:
            raise UserError(f"{folder} holds a model of no known family; serve it yourself and use `chat.served`.")
        self.name = found[0].stem
        self.url = ""
        """Base address for OpenAI-compatible clients while the server runs."""
        self.context_tokens = context_tokens
        self.timeout_seconds = timeout_seconds
        self._gguf, self._folder, self._template, self._seed = found[0], folder, proof.template, seed
        self._tokenizing = threading.Lock()  # a tokenizer in Rust refuses a second thread: "Already borrowed"
        self._child: subprocess.Popen[str] | None = None
        self._log: IO[bytes] | None = None

    def __enter__(self) -> Embedded:
        """Start the server and wait until it is well."""
        template = files("nightgarden.templates") / f"{self._template.name}.jinja"
        command = [sys.executable, "-m", "nightgarden.chat.server", str(self._gguf), str(template), str(self.context_tokens)]
        self._log = tempfile.TemporaryFile()
        self._child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True, cwd=Path(__file__).parents[2]
        )
        with ExitStack() as unless_well:
            unless_well.callback(self.stop)
            address = self._address(self._child)
            self._await_health(address)
            unless_well.pop_all()
        self.url = f"{address}/v1"
        log.info("%s serves at %s", self.name, self.url)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop the server."""
        self.stop()

    def stop(self) -> None:
        """End the child: its input closes, and if that does not help it is killed."""
        child, self._child, self.url = self._child, None, ""
        if child is not None and child.stdin is not None:
            child.stdin.close()
            try:
                child.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        if self._log is not None:
            self._log.close()

    def answer(
        self,
        turns: Sequence[Turn],
        *,
        temperature: float,
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,
    ) -> Answer:
        """The model's answer; see `Chat.answer`. Equal calls give equal answers, in whatever order."""
        if not self.url:
            raise UserError("the embedded server is not running. Use it inside `with Embedded(...) as chat:`.")
        with self._tokenizing:
            ids = registry.encode_prompt(self._template, self._tokenizer, turns)
        if len(ids) + max_tokens > self.context_tokens:
            raise Declined(
                f"the prompt has {len(ids)} tokens and the answer may have {max_tokens}; together they may have "
                f"{self.context_tokens}. Shorten the chat or ask for fewer tokens."
            )
        limits: dict[str, Any] = UNCUT | ALONE | ({} if schema is None else {"json_schema": dict(schema)})
        with served.told(self.url, KEY):
            answer = self._client.completions.create(
                model=self.name,
                prompt=ids,
                temperature=temperature,
                top_p=1.0,
                max_tokens=max_tokens,
                seed=self._seed,
                extra_body=limits,
            )
        return served.answer_of(answer.choices[0].text, answer.choices[0].finish_reason, answer.usage)

    @cached_property
    def _tokenizer(self) -> Any:
        return load_tokenizer(self._folder)

    @cached_property
    def _client(self) -> OpenAI:
        return served.client(self.url, KEY, self.timeout_seconds)

    def _address(self, child: subprocess.Popen[str]) -> str:
        """The line that the child writes when its model is loaded."""
        line = ""
        if child.stdout is not None and select.select([child.stdout], [], [], self.timeout_seconds)[0]:
            line = child.stdout.readline().strip()
        if not line.startswith("http://127.0.0.1:"):
            raise UserError(
                f"the embedded server for {self._gguf} did not start: {self._last_words()} "
                "Check the free memory, and `nightgarden fetch` that the model is whole."
            )
        return line

    def _await_health(self, address: str) -> None:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        for _ in range(round(self.timeout_seconds / POLL_SECONDS)):
            try:
                with opener.open(f"{address}/health", timeout=self.timeout_seconds) as answer:
                    if answer.status == 200:
                        return
            except urllib.error.HTTPError as error:
                log.debug("%s/health: %s", address, error)
            except OSError as error:
                raise UserError(f"the embedded server at {address} went away: {error}. {self._last_words()}") from error
            time.sleep(POLL_SECONDS)
        raise UserError(f"the embedded server at {address} was not well after {self.timeout_seconds} s. {self._last_words()}")

    def _last_words(self) -> str:
        """The last line that the child wrote to its log."""
        if self._log is None:
            return ""
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing."
