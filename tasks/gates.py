"""What must hold before work may start: the night's window, a quiet person, room on the disk, nobody else at work.

Every gate answers None or the reason why not. Knows nothing of what the work is.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from datetime import time as wall_time
from pathlib import Path

from nightgarden.clock import local
from nightgarden.params import Window

MIN_FREE_BYTES = 1 << 30
"""A night writes about 20 MB, an adapter of the embedded model 10 MB; below 1 GiB SQLite and DVC's cache fail first."""
TELL_EVERY_SECONDS = 30


def outside_window(now: datetime, window: Window) -> str | None:
    """Why a night may not start at this moment; the window may reach over midnight."""
    start, end = wall_time.fromisoformat(window.start), wall_time.fromisoformat(window.end)
    clock = local(now, window.zone).time()
    inside = start <= clock < end if start <= end else clock >= start or clock < end
    if inside:
        return None
    return f"it is {clock:%H:%M} in {window.zone}; nights start between {window.start} and {window.end}"


def not_quiet(now: datetime, last_heard: datetime | None, minutes: int) -> str | None:
    """Why the person counts as awake: something was said less than `minutes` ago, or in the clock's future."""
    if last_heard is None or now - last_heard >= timedelta(minutes=minutes):
        return None
    since = (now - last_heard).total_seconds() / 60
    return f"the person spoke {since:.0f} minutes ago; a night waits for {minutes} quiet minutes"


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
