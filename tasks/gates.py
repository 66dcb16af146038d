"""What must hold before work may start: room on the disk, nobody else at work.

A gate answers None or the reason why not. The night's window and the quiet person are judged by
`nightgarden.night.freeze.window_reason`. Knows nothing of what the work is.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

MIN_FREE_BYTES = 1 << 30
"""A night writes about 20 MB, an adapter of the embedded model 10 MB; below 1 GiB SQLite and DVC's cache fail first."""
TELL_EVERY_SECONDS = 30


def disk_full(folder: Path, needed: int = MIN_FREE_BYTES) -> str | None:
    """Why there is not enough room below a folder that exists."""
    free = shutil.disk_usage(folder).free
    if free >= needed:
        return None
    return f"{folder} has {free / 2**30:.2f} GiB free; {needed / 2**30:.2f} GiB are needed. Free some space and start again"


@contextmanager
def alone(state: Path, who: str, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the one right to work with this state folder; wait, and say for whom, while another run has it.

    The kernel drops the lock with its process, so a killed run never blocks the next one.
    """
    state.mkdir(parents=True, exist_ok=True)
    with (state / "run.lock").open("a+") as file:
        waited = 0
        while not _taken(file.fileno()):
            if waited % TELL_EVERY_SECONDS == 0:
                file.seek(0)
                say(f"waiting: {file.read().strip() or 'another run'} works with {state}")
            time.sleep(1)
            waited += 1
        file.truncate(0)
        file.write(f"{who} (pid {os.getpid()})")
        file.flush()
        yield


def _taken(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
