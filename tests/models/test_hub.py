import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from nightgarden.errors import UserError
from nightgarden.models import specs
from nightgarden.models.fetch import fetch_named, fetch_repo
from nightgarden.params import ModelSpec

COMMIT = "c" * 40
FILES = {
    "config.json": b'{"model_type": "mistral"}',
    "model.safetensors": b"weights",
    "consolidated.safetensors": b"the same weights",
    "tokenizer.json": b"{}",
    "pytorch_model.bin": b"pickled",
    "README.md": b"# tiny",
}
SPEC = ModelSpec(folder="models/base/tiny", repo="own/tiny", revision="main", template="mistral_v3", dtype="bfloat16")


class Hub(BaseHTTPRequestHandler):
    """As much of the hub as a download of one repository asks for."""

    asked: list[str]

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, *, body: bool) -> None:
        name = self.path.rsplit("/", 1)[-1]
        headers = {}
        if "/tree/" in self.path:
            listed = [{"type": "file", "path": key, "size": len(value), "oid": etag(value)} for key, value in FILES.items()]
            data = json.dumps(listed).encode()
        elif self.path.startswith("/api/models/own/tiny"):
            data = json.dumps({"id": "own/tiny", "sha": COMMIT, "siblings": [{"rfilename": key} for key in FILES]}).encode()
        else:
            data = FILES[name]
            headers = {"ETag": f'"{etag(data)}"', "X-Repo-Commit": COMMIT}
            if body:
                type(self).asked.append(name)
        self.send_response(200)
        for key, value in (headers | {"Content-Length": str(len(data))}).items():
            self.send_header(key, value)
        self.end_headers()
        if body:
            self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing to say."""


def etag(data: bytes) -> str:
    return hashlib.sha1(data).hexdigest()  # noqa: S324 - git's own name for a blob, no secret


@pytest.fixture
def hub() -> Iterator[str]:
    Hub.asked = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_repository_becomes_a_sealed_folder_without_pickles_and_second_weights(tmp_path: Path, hub: str) -> None:
    folder = fetch_repo(SPEC, tmp_path, hub)
    assert folder == tmp_path / "models/base/tiny" == specs.folder(SPEC, tmp_path)
    assert sorted(specs.digests(folder)) == ["config.json", "model.safetensors", "tokenizer.json"]
    assert len(list(folder.iterdir())) == 4
    Hub.asked.clear()
    fetch_repo(SPEC, tmp_path, hub)
    assert Hub.asked == []


def test_a_run_killed_before_the_last_rename_is_finished_by_the_next(tmp_path: Path, hub: str) -> None:
    folder = fetch_repo(SPEC, tmp_path, hub)
    part = folder.parent / ".tiny.part"
    folder.rename(part)  # as a kill before the last rename leaves it
    (part / "digests.json").unlink()
    with pytest.raises(UserError, match="no whole model"):
        specs.digests(folder)
    fetch_repo(SPEC, tmp_path, hub)
    assert "model.safetensors" in specs.digests(folder)


def test_a_model_is_fetched_by_its_name_and_an_unknown_one_names_those_that_are_known(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="known are big, minilm, smollm2-135m"):
        fetch_named("bigg", {"big": SPEC}, tmp_path)
    with pytest.raises(UserError, match="models/base/tiny is a local folder"):
        fetch_named("big", {"big": ModelSpec(folder=SPEC.folder, template="mistral_v3", dtype="bfloat16")}, tmp_path)


def test_no_hub_gives_one_message(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot download own/tiny: .*goes on where it was"):
        fetch_repo(SPEC, tmp_path, "http://127.0.0.1:9")
    assert not specs.folder(SPEC, tmp_path).exists()


def test_a_local_folder_is_not_downloaded(tmp_path: Path) -> None:
    local = ModelSpec(folder="models/mine", template="smollm2", dtype="float32")
    with pytest.raises(UserError, match="is a local folder"):
        fetch_repo(local, tmp_path)
