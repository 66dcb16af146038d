"""Work spread over processes: shards of rows, each done by itself, results in the order of the shards.

The same bytes come out whatever the number of workers; a shard knows nothing of the others, so another
engine may take them as they are. With one worker everything happens in this process.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

SHARD_ROWS = 2000
"""Rows of a shard: some megabytes, so that a worker is not kept waiting and memory stays small."""
AHEAD = 2
"""Shards in hand per worker."""


def in_shards(rows: Iterable[T], size: int = SHARD_ROWS) -> Iterator[list[T]]:
    """The rows in lists of `size`, in their order."""
    rows = iter(rows)
    while shard := list(islice(rows, size)):
        yield shard


def spread(work: Callable[[list[T]], R], rows: Iterable[T], workers: int = 1) -> Iterator[R]:
    """`work` on every shard of the rows, by that many processes; results in the order of the rows.

    Args:
        work: a function of a module, or a `partial` of one: it travels to the workers.
        rows: read in this process, a few shards ahead of the results.
        workers: 1 starts no process.
    """
    if workers <= 1:
        yield from map(work, in_shards(rows))
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with, initargs=(os.getpid(),)) as pool:
        pending: deque[Future[R]] = deque()
        for shard in in_shards(rows):
            pending.append(pool.submit(work, shard))
            if len(pending) >= AHEAD * workers:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def _end_with(parent: int) -> None:
    """End this worker when its parent is gone: it would wait for shards for ever."""

    def poll() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=poll, name="parent-watch", daemon=True).start()
