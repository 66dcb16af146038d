"""A served model is asked with the very ids, and a server that reads others is caught."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from nightgarden.chat.embedded import ALONE, KEY, UNCUT, Embedded
from nightgarden.errors import Refusal
from nightgarden.evaluation.generate import Request
from nightgarden.evaluation.served import Server, replies
from nightgarden.models import load
from nightgarden.params import Params
from nightgarden.records import Turn
from nightgarden.templates import registry


@pytest.fixture(scope="module")
def tokenizer(base_model: Path) -> Any:
    return load.load_tokenizer(base_model)


@pytest.fixture(scope="module")
def requests(tokenizer: Any) -> list[Request]:
    turns = [
        [Turn(role="system", content="Be brief."), Turn(role="user", content=text)] for text in ("Say yes.", "Name a river.")
    ]
    template = registry.get("smollm2")
    return [
        Request(prompt_ids=tuple(registry.encode_prompt(template, tokenizer, item)), seed=seed) for seed, item in enumerate(turns)
    ]


def test_the_embedded_server_reads_the_ids_as_they_are_and_answers(
    base_model: Path, tokenizer: Any, requests: list[Request], params: Params
) -> None:
    settings = params.evaluation.model_copy(update={"max_new_tokens": 12, "temperature": 0.0})
    with Embedded(base_model, seed=1) as chat:
        server = Server(url=chat.url, model=chat.name, key=KEY, extra=UNCUT | ALONE)
        first, second = (replies(server, requests, "<|im_end|>", tokenizer, settings) for _ in range(2))
    assert first == second and all(0 < len(reply.ids) <= 12 for reply in first)
    assert "Yes" in tokenizer.decode(list(first[0].ids)) or first[0].truncated


class Adding(BaseHTTPRequestHandler):
    """A server that puts `added` tokens before every prompt, as one with a BOS of its own does."""

    added = 0
    asked: list[dict[str, Any]] = []

    def do_POST(self) -> None:  # noqa: N802
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(body)
        choice = {"text": "Yes.", "index": 0, "finish_reason": "stop", "logprobs": None}
        usage = {"prompt_tokens": len(body["prompt"]) + self.added, "completion_tokens": 2, "total_tokens": 0}
        answer = {"id": "1", "object": "text_completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def standing() -> Iterator[tuple[type[Adding], str]]:
    handler = type("Handler", (Adding,), {"asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield handler, f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def test_guard_in_a_server_that_adds_a_bos_stops_the_run(
    standing: tuple[type[Adding], str], tokenizer: Any, requests: list[Request], params: Params
) -> None:
    handler, url = standing
    handler.added = 1
    with pytest.raises(Refusal, match="prompt tokens where .* were sent"):
        replies(Server(url=url, model="m"), requests, "<|im_end|>", tokenizer, params.evaluation)


def test_clean_case_the_same_server_without_it_answers_and_was_sent_the_ids(
    standing: tuple[type[Adding], str], tokenizer: Any, requests: list[Request], params: Params
) -> None:
    handler, url = standing
    made = replies(Server(url=url, model="m", at_once=1), requests, "<|im_end|>", tokenizer, params.evaluation)
    assert [tokenizer.decode(list(reply.ids)) for reply in made] == ["Yes.", "Yes."]
    assert [tuple(body["prompt"]) for body in handler.asked] == [request.prompt_ids for request in requests]
    assert [body["seed"] for body in handler.asked] == [0, 1]


def test_guard_out_nothing_else_would_tell_that_a_bos_was_added(
    standing: tuple[type[Adding], str], tokenizer: Any, requests: list[Request], params: Params, monkeypatch: pytest.MonkeyPatch
) -> None:
    handler, url = standing
    handler.added = 1
    monkeypatch.setattr(Request, "given", property(lambda self: Counted(self.prompt_ids)))
    assert len(replies(Server(url=url, model="m"), requests, "<|im_end|>", tokenizer, params.evaluation)) == 2


class Counted(tuple[int, ...]):
    """Ids that count themselves as the server does."""

    def __len__(self) -> int:
        return super().__len__() + 1
