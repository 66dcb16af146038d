"""The embedded server, the client that talks to it, and the model in this process, for real."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import traceback
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from peft import LoraConfig, get_peft_model

from nightgarden import digests, jsonl
from nightgarden.chat import Chat, Declined
from nightgarden.chat.embedded import Embedded
from nightgarden.chat.local import Local
from nightgarden.chat.served import Served
from nightgarden.errors import Refusal, UserError
from nightgarden.models import specs
from nightgarden.models.load import load_tokenizer
from nightgarden.params import ModelSpec
from nightgarden.records import Turn
from nightgarden.templates import registry
from nightgarden.templates.fingerprint import fingerprint

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / specs.EMBEDDED_LM
SPEC = ModelSpec(folder=str(specs.EMBEDDED_LM), template="smollm2", dtype="float32")
ASK = [Turn(role="system", content="Answer in one short line."), Turn(role="user", content="What is a lighthouse for?")]
RATE = [Turn(role="user", content="Rate from 1 to 10 how much this matters to her: she lost her job.")]
SCHEMA = {
    "type": "object",
    "properties": {"importance": {"type": "integer", "minimum": 1, "maximum": 10}},
    "required": ["importance"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def embedded() -> Iterator[Embedded]:
    with Embedded(FOLDER, seed=7) as chat:
        yield chat


@pytest.fixture(scope="module")
def served(embedded: Embedded) -> Served:
    return Served(embedded.url, embedded.name, api_key="none", timeout_seconds=120, seed=7)


@pytest.fixture(scope="module")
def local() -> Local:
    return Local.load(SPEC, ROOT, seed=7)


def answers(url: str) -> bool:
    with socket.socket() as probe:
        host, port = url.removeprefix("http://").removesuffix("/v1").split(":")
        return probe.connect_ex((host, int(port))) == 0


def test_all_three_are_chats_and_say_the_same_kind_of_thing(embedded: Embedded, served: Served, local: Local) -> None:
    chats: list[Chat] = [embedded, served, local]
    said = [chat.reply(ASK, temperature=0, max_tokens=8) for chat in chats]
    assert said[0] == said[1]  # ids made here, and turns rendered by the server with our template
    assert all("lighthouse" in text.lower() for text in said)


@pytest.mark.parametrize("kind", ["embedded", "served"])
def test_an_answer_satisfies_its_schema(kind: str, request: pytest.FixtureRequest) -> None:
    chat: Chat = request.getfixturevalue(kind)
    value = json.loads(chat.reply(RATE, temperature=0.2, max_tokens=30, schema=SCHEMA))
    assert set(value) == {"importance"}
    assert value["importance"] in range(1, 11)


def test_equal_calls_get_equal_answers(local: Local) -> None:
    first, second = (local.reply(ASK, temperature=0.9, max_tokens=4) for _ in range(2))
    assert first == second


def test_the_server_renders_turns_as_we_do_and_adds_no_system_prompt(embedded: Embedded, served: Served) -> None:
    answer = served._client.chat.completions.create(
        model=served.name, messages=[{"role": "user", "content": "Hi there"}], max_tokens=1, temperature=0
    )
    ours = registry.encode_prompt(registry.get("smollm2"), embedded._tokenizer, [Turn(role="user", content="Hi there")])
    assert answer.usage is not None
    assert answer.usage.prompt_tokens == len(ours)


def test_a_cut_answer_is_logged(embedded: Embedded, local: Local, caplog: pytest.LogCaptureFixture) -> None:
    embedded.reply(ASK, temperature=0, max_tokens=2)
    local.reply(ASK, temperature=0, max_tokens=2)
    assert caplog.text.count("an answer was cut at 2 tokens") == 2


@pytest.mark.parametrize("kind", ["embedded", "served", "local"])
def test_an_answer_tells_its_tokens_and_whether_it_was_cut(kind: str, request: pytest.FixtureRequest) -> None:
    chat: Chat = request.getfixturevalue(kind)
    cut = chat.answer(ASK, temperature=0, max_tokens=2)
    whole = chat.answer([Turn(role="user", content="Say only: Yes.")], temperature=0, max_tokens=60)
    assert (cut.cut, cut.completion_tokens, whole.cut) == (True, 2, False)
    assert cut.prompt_tokens == len(registry.encode_prompt(registry.get("smollm2"), load_tokenizer(FOLDER), ASK))


def test_an_answer_does_not_depend_on_what_was_asked_before(embedded: Embedded) -> None:
    questions = [
        [ASK[0], Turn(role="user", content=text)] for text in ("What is a quay for?", "And a buoy?", "Why is tar black?")
    ]
    said = [[embedded.reply(turns, temperature=0.8, max_tokens=40) for turns in order] for order in (questions, questions[::-1])]
    assert said[0] == said[1][::-1]


def test_a_prompt_too_long_for_the_context_is_told_before_it_is_sent(embedded: Embedded) -> None:
    with pytest.raises(UserError, match="Shorten the chat or ask for fewer tokens"):
        embedded.reply(ASK, temperature=0, max_tokens=embedded.context_tokens)


def test_a_model_in_this_process_cannot_promise_a_schema(local: Local) -> None:
    with pytest.raises(UserError, match="cannot hold a model to a JSON schema"):
        local.reply(RATE, temperature=0, max_tokens=8, schema=SCHEMA)


def test_after_the_block_the_server_is_gone() -> None:
    with Embedded(FOLDER, seed=7) as chat:
        url = chat.url
        assert url.startswith("http://127.0.0.1:")
        assert answers(url)
    assert not answers(url)
    with pytest.raises(UserError, match="is not running"):
        chat.reply(ASK, temperature=0, max_tokens=2)


HOLD = """
import sys, time
from pathlib import Path
from nightgarden.chat.embedded import Embedded
with Embedded(Path(sys.argv[1]), seed=7) as chat:
    print(chat.url, flush=True)
    time.sleep(600)
"""


def test_a_killed_parent_takes_the_server_with_it() -> None:
    parent = subprocess.Popen([sys.executable, "-c", HOLD, str(FOLDER)], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert parent.stdout is not None
    url = parent.stdout.readline().strip()
    assert answers(url)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    for _ in range(200):
        if not answers(url):
            break
        time.sleep(0.1)
    assert not answers(url)


def test_weights_that_cannot_be_read_give_one_message(tmp_path: Path) -> None:
    for file in ("config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        (tmp_path / file).write_bytes((FOLDER / file).read_bytes())
    (tmp_path / "broken.gguf").write_bytes(b"GGUF and no more")
    with pytest.raises(UserError, match=r"did not start: .*nightgarden fetch"):
        Embedded(tmp_path, seed=7).__enter__()


def test_a_folder_without_gguf_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"0 .gguf files; one is needed"):
        Embedded(tmp_path, seed=7)


def test_no_server_gives_one_message() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
    with pytest.raises(UserError, match="cannot reach http://127.0.0.1:.*Start the server"):
        Served(url, "any", api_key="none", timeout_seconds=5, seed=7).reply(ASK, temperature=0, max_tokens=2)


def test_a_silent_server_is_given_up_on() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        with pytest.raises(UserError, match="did not answer in time"):
            Served(url, "any", api_key="none", timeout_seconds=0.2, seed=7).reply(ASK, temperature=0, max_tokens=2)


def test_a_wrong_address_on_the_server_tells_its_answer_and_never_the_key(embedded: Embedded) -> None:
    chat = Served(embedded.url + "/nowhere", "any", api_key="sk-secret", timeout_seconds=30, seed=7)
    with pytest.raises(UserError, match="answered 404") as caught:
        chat.reply(ASK, temperature=0, max_tokens=2)
    assert "sk-secret" not in str(caught.value)


KEY = "sk-secret-0123"


class Echo(BaseHTTPRequestHandler):
    """A server that repeats the key in its error, as real ones do."""

    def do_POST(self) -> None:
        body = json.dumps({"error": {"message": f"Incorrect API key: {self.headers['Authorization']}"}}).encode()
        self.send_response(int(self.path.split("/")[1]))
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: pytest's output is for failures."""


@pytest.mark.parametrize(("status", "kind"), [(400, Declined), (401, UserError)])
def test_a_server_that_repeats_the_key_is_quoted_without_it(status: int, kind: type[UserError]) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/{status}"
    with pytest.raises(UserError, match=r"Incorrect API key: Bearer \(the key\)") as caught:
        Served(url, "any", api_key=KEY, timeout_seconds=30, seed=7).reply(ASK, temperature=0, max_tokens=2)
    assert type(caught.value) is kind
    assert KEY not in "".join(traceback.format_exception(caught.value))
    server.shutdown()


def test_a_key_that_no_header_can_carry_is_not_told(embedded: Embedded) -> None:
    chat = Served(embedded.url, "any", api_key=KEY + "\n", timeout_seconds=30, seed=7)
    with pytest.raises(UserError, match="cannot reach") as caught:
        chat.reply(ASK, temperature=0, max_tokens=2)
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_a_proxy_in_the_environment_is_not_asked_for_this_machine(embedded: Embedded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with pytest.raises(OSError):  # what a client that heeds the environment meets
        # An opener of its own: `urlopen` would keep the proxy for every later test of this process.
        urllib.request.build_opener().open(embedded.url + "/models", timeout=5)
    chat = Served(embedded.url, embedded.name, api_key="none", timeout_seconds=60, seed=7)
    assert chat.reply(ASK, temperature=0, max_tokens=2)


def test_an_adapter_is_used_only_with_a_card_that_agrees(tmp_path: Path, local: Local) -> None:
    fresh = get_peft_model(local._model, LoraConfig(r=2, target_modules=["q_proj"]))
    fresh.save_pretrained(tmp_path)
    fresh.unload()
    with pytest.raises(UserError, match="card.json is missing"):
        Local.load(SPEC, ROOT, tmp_path, seed=7)
    template = fingerprint(registry.get("smollm2"), local._tokenizer)
    base = {"name": "smollm2-135m", "weights": specs.weights_digest(FOLDER)}
    card = {"template": template, "base": base, "adapter": digests.sha256_file(tmp_path / "adapter_model.safetensors")}
    jsonl.write_json(tmp_path / "card.json", card)
    assert Local.load(SPEC, ROOT, tmp_path, seed=7).name == f"smollm2-135m+{str(card['adapter'])[:12]}"
    for broken, reason in (
        ({"template": template | {"template_sha256": "0"}}, "card: trained with another template"),
        ({"base": base | {"weights": {"model.safetensors": "0"}}}, "was trained on smollm2-135m"),
        ({"adapter": "0"}, "its card names 0"),
    ):
        jsonl.write_json(tmp_path / "card.json", card | broken)
        with pytest.raises(Refusal, match=reason):
            Local.load(SPEC, ROOT, tmp_path, seed=7)
