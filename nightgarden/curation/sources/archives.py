"""Files as bytes, unpacked as they are read: plain, gzip and Zstandard. An archive that breaks off is an error."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

CHUNK = 1 << 17
"""Packed bytes that are unpacked at once."""


class BrokenArchive(Exception):
    """An archive in Zstandard's format that cannot be read to its end."""


BROKEN = (BrokenArchive, EOFError, zlib.error, gzip.BadGzipFile)
"""What reading a damaged archive raises."""


def opened(path: Path) -> BinaryIO:
    """The bytes of a file, unpacked if its name ends in .gz or .zst.

    Raises:
        OSError: missing or unreadable. Reading raises one of BROKEN where an archive is damaged.
    """
    if path.suffix == ".gz":
        return cast(BinaryIO, gzip.open(path, "rb"))
    if path.suffix == ".zst":
        return cast(BinaryIO, io.BufferedReader(_Unpacked(path)))
    return path.open("rb")


class _Unpacked(io.RawIOBase):
    """The unpacked bytes of a Zstandard file."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._chunks = _chunks(self._file)
        self._held = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._held:
            if (chunk := next(self._chunks, None)) is None:
                return 0
            self._held = memoryview(chunk)
        size = min(len(buffer), len(self._held))
        buffer[:size] = self._held[:size]
        self._held = self._held[size:]
        return size

    def close(self) -> None:
        self._file.close()
        super().close()


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    """Unpacked pieces of every frame of a file."""
    import zstandard

    frame = zstandard.ZstdDecompressor().decompressobj()
    try:
        while packed := file.read(CHUNK):
            while packed:
                if frame.eof:
                    frame = zstandard.ZstdDecompressor().decompressobj()
                yield frame.decompress(packed)
                packed = frame.unused_data if frame.eof else b""
    except zstandard.ZstdError as error:
        raise BrokenArchive(str(error)) from error
    if not frame.eof:
        raise BrokenArchive("its end is missing")
