"""When work may start: room on the disk, nobody else at work."""

import subprocess
import sys
from pathlib import Path

from tasks import gates


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
