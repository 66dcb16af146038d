"""An OpenAI-compatible server on 127.0.0.1 that counts what it is asked, answers as a test wants it, and can be slow or dead."""

import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from nightgarden.curation import inputs
from nightgarden.curation.synthesise import INGESTED
from nightgarden.jsonl import write
from nightgarden.params import Params
from tests.curation.rows import PARAMS, ROOT, example, settings

Body = dict[str, Any]
Says = Callable[[Body], Any]


def plain(body: Body) -> str:
    """An answer that depends on the request alone."""
    return f"Since you ask at {body['temperature']}: {body['messages'][-1]['content'][:40]} It depends on the weather."


class StandIn(ThreadingHTTPServer):
    """The server; `says` gives the text of an answer, a dict that goes into the choice, or a status code."""

    daemon_threads = True

    def __init__(self, says: Says = plain, seconds: Callable[[Body], float] = lambda body: 0.0) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.says, self.seconds = says, seconds
        self.asked: list[Body] = []
        """Bodies of the requests that were answered, in the order of their arrival."""
        self.authorisations: set[str] = set()
        self.at_once = self.most_at_once = 0
        self.counts_tokens, self.dead_after = True, 10**9
        self.lock = Lock()

    @property
    def url(self) -> str:
        """Base address for clients."""
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: StandIn

    def do_POST(self) -> None:
        """Answer a chat."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        with server.lock:
            if len(server.asked) >= server.dead_after:
                self.close_connection = True
                return
            server.asked.append(body)
            server.authorisations.add(self.headers["Authorization"])
            server.at_once += 1
            server.most_at_once = max(server.most_at_once, server.at_once)
        time.sleep(server.seconds(body))
        with server.lock:
            server.at_once -= 1
        said = server.says(body)
        if isinstance(said, int):
            self._send(said, {"error": {"message": f"no, {self.headers['Authorization']}"}})
            return
        choice = dict(said) if isinstance(said, dict) else {"content": said}
        finish = choice.pop("finish", "stop")
        message = {"role": "assistant", **choice}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110} if server.counts_tokens else None
        answer = {"id": "x", "object": "chat.completion", "created": 0, "model": body["model"], "usage": usage}
        self._send(200, answer | {"choices": [{"index": 0, "finish_reason": finish, "message": message}]})

    def _send(self, status: int, value: Any) -> None:
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: pytest's output is for failures."""


@contextmanager
def standing_in(says: Says = plain, seconds: Callable[[Body], float] = lambda body: 0.0) -> Iterator[StandIn]:
    """A running server."""
    with StandIn(says, seconds) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def wanting(*rows: int, **changes: Any) -> Params:
    """The settings with these rows of ops 1 to 3, of the stand-in's model."""
    changed = settings(synthesis={"rows": rows, "model": "stand-in"} | changes)
    return PARAMS.model_copy(update={"curation": changed})


def fresh(root: Path) -> Path:
    """Six ingested rows and the inputs of the seed."""
    rows = [example(f"Answer {n}.", op=n % 4) for n in range(6)]
    write(root / INGESTED, sorted(rows, key=lambda row: (row.op, row.id)))
    shutil.copytree(ROOT / inputs.SEEDS, root / inputs.SEEDS)
    return root
