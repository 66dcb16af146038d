"""A stand-in for the hub: the few answers that streaming one repository takes, over HTTP on the loopback address."""

from __future__ import annotations

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs


class Hub(ThreadingHTTPServer):
    """Serves the files of a folder as a dataset at one commit; anything at another is not there."""

    def __init__(self, folder: Path, commit: str) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.folder, self.commit = folder, commit

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Hub

    def do_GET(self) -> None:
        asked = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        hub, path = self.server, self.path.split("?")[0]
        entries = [{"type": "file", "path": p.name, "size": p.stat().st_size, "oid": "0" * 40} for p in hub.folder.iterdir()]
        if hub.commit not in path:
            self._say(404)
        elif file := re.search(r"/resolve/\w+/(.+)$", path):
            self._file(hub.folder / file[1])
        elif "/revision/" in path:
            self._json({"id": "o/n", "sha": hub.commit, "siblings": [{"rfilename": entry["path"]} for entry in entries]})
        elif "/paths-info/" in path:
            wanted = parse_qs(asked.decode()).get("paths", [])
            self._json([entry for entry in entries if entry["path"] in wanted])
        elif path.endswith(f"/tree/{hub.commit}"):
            self._json(entries)
        else:
            self._json([])

    do_HEAD = do_POST = do_GET  # noqa: N815 - names that the server looks for

    def log_message(self, *args: Any) -> None:
        """No line a request."""

    def _file(self, path: Path) -> None:
        if not path.is_file():
            return self._say(404, headers={"X-Error-Code": "EntryNotFound"})
        content = path.read_bytes()
        headers = {"ETag": '"0"', "X-Repo-Commit": self.server.commit, "Accept-Ranges": "bytes"}
        if part := re.match(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or ""):
            first, last = int(part[1]), int(part[2] or len(content) - 1)
            headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
            return self._say(206, content[first : last + 1], headers)
        return self._say(200, content, headers)

    def _json(self, value: Any) -> None:
        self._say(200, json.dumps(value).encode())

    def _say(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
