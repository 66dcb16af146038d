"""Sorting more lines than memory holds: sorted runs on disk, merged.

Knows bytes only. A key stands before a line and is compared as bytes, so equal lines meet and the
outcome does not depend on the order in which they came.
"""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

RUN_BYTES = 64 << 20
"""Bytes of keys and lines that are kept in memory before they go to disk as one sorted run."""


class Sorter:
    """Takes keys and lines in any order, gives them back by key, then by line.

    Runs are files without a name: a killed process leaves none behind.
    """

    def __init__(self, folder: Path, run_bytes: int = RUN_BYTES) -> None:
        self._folder, self._run_bytes = folder, run_bytes
        self._held: list[tuple[bytes, bytes]] = []
        self._size = 0
        self._runs: list[IO[bytes]] = []

    def add(self, key: bytes, line: bytes) -> None:
        """Take one line, without its newline; neither key nor line may hold a newline, nor the key a NUL."""
        self._held.append((key, line))
        self._size += len(key) + len(line)
        if self._size >= self._run_bytes:
            self._spill()

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        """Everything that was added, sorted; once."""
        self._held.sort()
        if not self._runs:
            return iter(self._held)
        return heapq.merge(*map(_lines, self._runs), self._held)

    def _spill(self) -> None:
        self._held.sort()
        self._folder.mkdir(parents=True, exist_ok=True)
        run = tempfile.TemporaryFile(dir=self._folder)
        run.writelines(b"%b\0%b\n" % pair for pair in self._held)
        run.seek(0)
        self._runs.append(run)
        self._held, self._size = [], 0


def _lines(run: IO[bytes]) -> Iterator[tuple[bytes, bytes]]:
    for line in run:
        key, _, rest = line[:-1].partition(b"\0")
        yield key, rest
