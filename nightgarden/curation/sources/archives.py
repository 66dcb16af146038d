"""Files as bytes, unpacked as they are read: plain, gzip and Zstandard.

What an archive that ends too early holds is right as far as it goes; of a damaged one no byte can be trusted.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, NamedTuple, Protocol

PACKED = 1 << 10
"""Packed bytes that are unpacked at once: 1 MB at the most in gzip, 32 MB in Zstandard (four bytes may be 128 KiB)."""


MAGIC = 4
"""Bytes by which the beginning of a frame is known."""


class Readable(Protocol):
    """Bytes that are read once, forwards."""

    def read(self, size: int, /) -> bytes:
        """`size` bytes, fewer before the end, none at the end."""


class CutOff(Exception):  # noqa: N818 - a verdict on an archive
    """An archive ends too early, or something else follows its end; what came before is right."""


class Damaged(Exception):  # noqa: N818 - a verdict on an archive
    """No archive, or one whose bytes are wrong; where they begin to be wrong cannot be told."""


class Unpacked:
    """The content of an archive."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._held = bytearray()
        self._cut: CutOff | None = None

    def read(self, size: int, /) -> bytes:
        """`size` bytes; fewer before the end or the place where the archive is cut off.

        Raises:
            CutOff: every byte before that place was given. Damaged: at once.
        """
        while len(self._held) < size and self._cut is None:
            try:
                piece = next(self._pieces, None)
            except CutOff as error:
                self._cut = error
                break
            if piece is None:
                break
            self._held += piece
        if self._cut is not None and not self._held:
            raise self._cut
        taken = bytes(self._held[:size])
        del self._held[:size]
        return taken


def unpacked(file: BinaryIO, kind: str) -> Readable:
    """The bytes of a file, unpacked if `kind`, the end of its name, asks for it."""
    if kind.endswith(".gz"):
        return Unpacked(_pieces(file, _GZIP))
    if kind.endswith(".zst"):
        return Unpacked(_pieces(file, _ZSTANDARD))
    return file


class _Format(NamedTuple):
    name: str
    magic: re.Pattern[bytes]
    """How a frame begins."""
    decompressor: Callable[[], Any]
    """A fresh one, for one frame."""
    error: Callable[[], type[Exception]]


def _zstandard() -> Any:
    import zstandard

    return zstandard


_GZIP = _Format("gzip", re.compile(rb"\x1f\x8b"), lambda: zlib.decompressobj(wbits=31), lambda: zlib.error)
_ZSTANDARD = _Format(
    "Zstandard",
    re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"),
    lambda: _zstandard().ZstdDecompressor().decompressobj(),
    lambda: _zstandard().ZstdError,
)


def _pieces(file: BinaryIO, form: _Format) -> Iterator[bytes]:
    """Unpacked pieces of every frame of a file; NUL bytes behind a frame are padding."""
    frame: Any = None
    num_frames = 0
    while packed := file.read(PACKED):
        while packed:
            if frame is None:
                if len(packed := packed.lstrip(b"\0")) < MAGIC:
                    packed = (packed + file.read(PACKED)).lstrip(b"\0")
                if not packed:
                    break
                frame = _opened(packed, form, num_frames)
            try:
                yield frame.decompress(packed)
            except form.error() as error:
                raise Damaged(f"damaged: {error}") from error
            packed = b""
            if frame.eof:
                packed, frame, num_frames = frame.unused_data, None, num_frames + 1
    if frame is not None:
        raise CutOff("the archive breaks off here: its end is missing")


def _opened(packed: bytes, form: _Format, num_frames: int) -> Any:
    if form.magic.match(packed):
        return form.decompressor()
    if num_frames and len(packed) < MAGIC:
        raise CutOff("the archive breaks off here: its end is missing")
    if num_frames:
        raise CutOff(f"the archive ends here, and what follows is no {form.name}")
    raise Damaged(f"no {form.name} archive: it begins with {packed[:MAGIC]!r}")
