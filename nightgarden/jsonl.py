"""Reading and writing JSON Lines; every write is whole or not at all.

Knows nothing of what the rows mean.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec

from nightgarden.errors import UserError

T = TypeVar("T")

_encoder = msgspec.json.Encoder(order="sorted")


def encode(row: Any) -> bytes:
    """Canonical JSON of a row: sorted keys, UTF-8, no spaces, no newline."""
    return _encoder.encode(row)


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A binary file that appears under `path` only if the block ends well.

    The bytes go to a hidden neighbour first and are synced before the rename, so a reader (or a
    kill) never meets half a file. The file's `name` is that neighbour, for whoever reads it back before.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    os.close(handle)
    try:
        with open(name, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except OSError as error:
        error.filename = error.filename or str(path)  # a write to a full disk names no file
        raise
    finally:
        Path(name).unlink(missing_ok=True)


def write(path: Path, rows: Iterable[Any]) -> int:
    """Write rows as sorted-key JSON Lines, atomically; returns the number of rows."""
    count = 0
    with whole_file(path) as file:
        for row in rows:
            file.write(encode(row) + b"\n")
            count += 1
    return count


def write_json(path: Path, value: Any) -> None:
    """Write one value as indented JSON with sorted keys and a final newline, atomically."""
    with whole_file(path) as file:
        file.write(msgspec.json.format(encode(value), indent=2) + b"\n")


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text atomically."""
    with whole_file(path) as file:
        file.write(text.encode())


def append(path: Path, row: Any) -> None:
    """Append one row and sync it; the line is written by a single call, so writers do not interleave."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(handle, encode(row) + b"\n")
        os.fsync(handle)
    finally:
        os.close(handle)


def read(path: Path, kind: type[T] | Any) -> Iterator[T]:
    """Rows of a file that this project wrote, decoded to `kind`.

    Raises:
        UserError: a line does not decode; names file, line and what is wrong.
    """
    decoder = msgspec.json.Decoder(kind)
    for number, line in enumerate(read_lines(path), 1):
        try:
            yield decoder.decode(line)
        except msgspec.DecodeError as error:
            raise UserError(f"{path}:{number}: {error}. The file must hold one {kind} a line.") from error


def read_lines(path: Path) -> Iterator[bytes]:
    """Raw lines without their newline.

    Raises:
        UserError: the file is missing or unreadable; says how to make it.
    """
    try:
        with path.open("rb") as file:
            for line in file:
                yield line.rstrip(b"\r\n")
    except OSError as error:
        raise UserError(
            f"cannot read {path}: {error.strerror}. If a stage makes it, run `dvc repro`; if it is yours, check the path."
        ) from error


def read_json(path: Path, kind: type[T] | Any) -> T:
    """One JSON value from a file, decoded to `kind`.

    Raises:
        UserError: missing, unreadable, or not of that shape.
    """
    try:
        value: T = msgspec.json.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}. If a stage makes it, run `dvc repro`.") from error
    except msgspec.DecodeError as error:
        raise UserError(f"{path}: {error}. The file must hold one {kind}.") from error
    return value
