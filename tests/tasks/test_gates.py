"""When work may start: the window on the wall clock, a quiet person, room on the disk, nobody else at work."""

import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from nightgarden.clock import parse
from nightgarden.params import Window
from tasks import gates

NIGHT = Window(start="03:00", end="06:00", zone="Europe/Berlin", quiet_minutes=30)
LATE = Window(start="23:00", end="02:00", zone="Europe/Berlin", quiet_minutes=30)


def at(text: str) -> datetime:
    return parse(f"2026-{text}")


@pytest.mark.parametrize(
    ("now", "window", "open_"),
    [
        ("09-19T03:00:00+02:00", NIGHT, True),
        ("09-19T05:59:59+02:00", NIGHT, True),
        ("09-19T06:00:00+02:00", NIGHT, False),
        ("09-19T02:59:59+02:00", NIGHT, False),
        ("09-19T01:30:00+00:00", NIGHT, True),
        ("12-19T01:30:00+00:00", NIGHT, False),
        ("09-19T23:30:00+02:00", LATE, True),
        ("09-19T01:59:00+02:00", LATE, True),
        ("09-19T12:00:00+02:00", LATE, False),
    ],
    ids=["first minute", "last second", "end", "too early", "UTC in summer", "UTC in winter", "late", "past midnight", "noon"],
)
def test_the_window_is_local_and_may_reach_over_midnight(now: str, window: Window, open_: bool) -> None:
    assert (gates.outside_window(at(now), window) is None) is open_


def test_the_reason_tells_the_clock_and_the_window() -> None:
    reason = gates.outside_window(at("09-19T09:15:00+02:00"), NIGHT)
    assert reason == "it is 09:15 in Europe/Berlin; nights start between 03:00 and 06:00"


def test_a_person_who_spoke_just_now_is_not_quiet() -> None:
    now = at("09-19T03:10:00+02:00")
    assert "spoke 29 minutes ago" in str(gates.not_quiet(now, at("09-19T02:41:00+02:00"), 30))
    assert gates.not_quiet(now, at("09-19T02:40:00+02:00"), 30) is None
    assert gates.not_quiet(now, None, 30) is None


def test_a_full_disk_is_a_reason(tmp_path: Path) -> None:
    assert gates.disk_full(tmp_path, needed=1) is None
    assert "GiB free" in str(gates.disk_full(tmp_path, needed=1 << 60))


def test_a_second_run_waits_for_the_first_and_says_for_whom_even_if_that_was_killed(tmp_path: Path) -> None:
    hold = f"with alone(Path({str(tmp_path)!r}), 'build-1', print): print(1, flush=True); input()"
    code = f"from pathlib import Path\nfrom tasks.gates import alone\n{hold}"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parents[2], **pipes) as first:
        assert first.stdout and first.stdout.readline()
        heard: list[str] = []

        def say(line: str) -> None:
            heard.append(line)
            first.kill()

        with gates.alone(tmp_path, "second", say):
            assert heard == [f"waiting: build-1 (pid {first.pid}) works with {tmp_path}"]
