"""Content ids and file digests: equal content has an equal name on any machine."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nightgarden.jsonl import encode
from nightgarden.records import MemoryLine, Turn

ID_BYTES = 10
PACKAGE = Path(__file__).resolve().parent


def content_id(value: Any) -> str:
    """blake2b of the value's canonical JSON, 20 hex digits (80 bits: no clash below 10^11 rows)."""
    return hashlib.blake2b(encode(value), digest_size=ID_BYTES).hexdigest()


def example_id(op: int, turns: Sequence[Turn], memories: Sequence[MemoryLine], directives: Sequence[str]) -> str:
    """Id of an example: op and everything that is rendered, in NFC; `meta` does not count."""
    return content_id(
        {
            "op": op,
            "turns": [[turn.role, unicodedata.normalize("NFC", turn.content)] for turn in turns],
            "memories": [[m.type, unicodedata.normalize("NFC", m.text), m.date, m.correction] for m in memories],
            "directives": [unicodedata.normalize("NFC", text) for text in directives],
        }
    )


def sha256_text(text: str) -> str:
    """sha256 of the UTF-8 text, hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def sha256_file(path: Path) -> str:
    """sha256 of a file's bytes, hex, read in 1 MiB blocks."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def sha256_folder(folder: Path, suffixes: tuple[str, ...] = ()) -> dict[str, str]:
    """sha256 of every file under a folder by relative path, sorted; only the given suffixes if any."""
    return {
        path.relative_to(folder).as_posix(): sha256_file(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and (not suffixes or path.suffix in suffixes)
    }


def source_digest(parts: Sequence[str], package: Path = PACKAGE) -> str:
    """Digest of source files of this package: what work in progress is keyed by beside its inputs.

    DVC reruns a stage whose code changed; a cache that leaves the code out would answer with the old code's work.

    Args:
        parts: files, or folders of which every .py and .jinja file counts, relative to the package.
        package: folder of the package; only names relative to it count, so two checkouts agree.
    """
    found: dict[str, str | dict[str, str]] = {}
    for part in parts:
        path = package / part
        found[part] = sha256_folder(path, (".py", ".jinja")) if path.is_dir() else sha256_file(path)
    return content_id(found)
