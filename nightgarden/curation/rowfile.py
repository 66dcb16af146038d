"""Rows that can be read again, and one by one, without all of them in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np
import numpy.typing as npt

from nightgarden.jsonl import encode, read_lines
from nightgarden.records import Example


class RowFile:
    """A file of examples as a sequence; memory holds 8 bytes a row. Rows given beside it stand in front.

    Use it in a `with` block.
    """

    def __init__(self, path: Path, ahead: Sequence[Example] = ()) -> None:
        self._ahead = [encode(row) for row in ahead]
        self._path = path
        sizes = np.fromiter((len(line) + 1 for line in read_lines(path)), dtype=np.int64)
        self._starts: npt.NDArray[np.int64] = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        self._decoder = msgspec.json.Decoder(Example)
        self._file: BinaryIO = path.open("rb")

    def __enter__(self) -> RowFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __len__(self) -> int:
        return len(self._ahead) + len(self._starts) - 1

    def __getitem__(self, place: int) -> Example:
        return self._decoder.decode(self._line(place))

    def _line(self, place: int) -> bytes:
        if place < len(self._ahead):
            return self._ahead[place]
        start, end = self._starts[place - len(self._ahead)], self._starts[place - len(self._ahead) + 1]
        self._file.seek(int(start))
        return self._file.read(int(end - start))

    def __iter__(self) -> Iterator[Example]:
        yield from map(self._decoder.decode, self._ahead)
        yield from map(self._decoder.decode, read_lines(self._path))
