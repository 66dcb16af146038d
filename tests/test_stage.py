"""The guards around a stage: inputs that hold still, own code, a living parent, a verdict in a file."""

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from nightgarden import stage
from nightgarden.clock import frozen
from nightgarden.errors import Refusal, UserError
from nightgarden.jsonl import read_json, write_json, write_text

ROOT = Path(__file__).resolve().parents[1]
NOW = frozen(datetime(2026, 9, 18, 3, 10, tzinfo=UTC))


@pytest.fixture
def place(tmp_path: Path) -> stage.Place:
    """A state folder of its own; the root must be this checkout, whose code runs."""
    return stage.Place(root=ROOT, state=tmp_path / "state", tracking_uri=f"sqlite:///{tmp_path}/none.db", clock=NOW)


def watched(tmp_path: Path) -> stage.InputWatch:
    watch = stage.InputWatch(tmp_path)
    sys.addaudithook(watch.hook)
    watch.active = True
    return watch


def test_an_input_that_changes_while_it_is_read_is_named(tmp_path: Path) -> None:
    source = tmp_path / "in.txt"
    source.write_text("v1")
    watch = watched(tmp_path)
    source.read_text()
    watch.active = False
    assert watch.changed() == []
    time.sleep(0.01)
    source.write_text("v2")
    assert watch.changed() == ["in.txt"]


def test_an_input_replaced_by_an_equally_long_file_is_named(tmp_path: Path) -> None:
    source = tmp_path / "in.txt"
    source.write_text("v1")
    watch = watched(tmp_path)
    source.read_text()
    watch.active = False
    write_text(source, "v2")
    assert watch.changed() == ["in.txt"]


def test_what_the_stage_writes_itself_is_no_changed_input(tmp_path: Path) -> None:
    watch = watched(tmp_path)
    write_text(tmp_path / "out.txt", "v1")
    (tmp_path / "out.txt").read_text()
    write_text(tmp_path / "out.txt", "v2")
    watch.active = False
    assert watch.changed() == []


def test_a_native_input_is_watched_when_it_is_named(tmp_path: Path) -> None:
    weights = tmp_path / "weights.bin"
    weights.write_bytes(b"1")
    watch = stage.InputWatch(tmp_path)
    watch.note(weights)
    time.sleep(0.01)
    weights.write_bytes(b"2")
    assert watch.changed() == ["weights.bin"]


def _edit_input_meanwhile() -> stage.Report:
    """Reads a file whose stamp then moves: the edit that a lock would otherwise record as if it had been read."""
    path = Path(__file__)
    path.read_text()
    before = path.stat()
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    return {"rows": 1}


def _job(work, **more) -> stage.Job:
    return stage.Job(name="toy@a", work=work, settings=b"{}", experiment="curation", **more)


def test_a_stage_whose_input_drifted_ends_with_2_and_tracks_nothing(place: stage.Place) -> None:
    assert stage.guarded(_job(_edit_input_meanwhile), place) == 2
    assert "tests/test_stage.py changed" in read_json(place.state / "verdicts/toy-a.json", dict)["reason"]
    assert not (place.state / "spool").exists()


def test_without_the_guard_the_same_drift_passes(place: stage.Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage.InputWatch, "changed", lambda self: [])
    assert stage.guarded(_job(_edit_input_meanwhile), place) == 0


def test_a_quiet_stage_ends_with_0_and_waits_in_the_spool(place: stage.Place) -> None:
    def work() -> stage.Report:
        (ROOT / "params.yaml").read_text()
        return {"rows": 1, "time_x_seconds": 0.5}

    assert stage.guarded(_job(work), place) == 0
    assert read_json(place.state / "verdicts/toy-a.json", dict) == {"exit": 0, "reason": "done", "stage": "toy@a"}
    assert len(list((place.state / "spool/waiting").glob("*.json"))) == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [(Refusal("only 3 rows"), 3), (UserError("no such file"), 2), (OSError(28, "No space left on device", "x"), 2)],
)
def test_the_verdict_file_says_how_a_stage_ended(place: stage.Place, error: Exception, code: int) -> None:
    def work() -> stage.Report:
        raise error

    assert stage.guarded(_job(work), place) == code
    verdict = read_json(place.state / "verdicts/toy-a.json", dict)
    assert verdict["exit"] == code and (str(error) in verdict["reason"] or "No space left" in verdict["reason"])


def test_a_full_disk_ends_in_one_message_even_where_the_verdict_finds_no_room(
    place: stage.Place, small_disk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    full = replace(place, state=small_disk)

    def work() -> stage.Report:
        write_json(small_disk / "out.json", ["x" * 1000] * 10_000)
        return {}

    (small_disk / "other").write_bytes(b"0" * shutil.disk_usage(small_disk).free)
    assert stage.guarded(_job(work), full) == 2
    assert f"No space left on device ({small_disk / 'out.json'}). Free space or repair the path" in caplog.text
    assert [path.name for path in small_disk.rglob("*") if path.is_file()] == ["other"]


def test_a_finished_stage_is_done_even_where_its_numbers_find_no_room(
    place: stage.Place, small_disk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    full = replace(place, state=small_disk)

    def work() -> stage.Report:
        (small_disk / "other").write_bytes(b"0" * shutil.disk_usage(small_disk).free)
        return {"rows": 5}

    with caplog.at_level("WARNING"):
        assert stage.guarded(_job(work), full) == 0
    assert "the numbers of" in caplog.text and "No space left on device" in caplog.text


def test_a_librarys_error_with_words_of_its_own_is_no_full_disk(place: stage.Place) -> None:
    def work() -> stage.Report:
        raise OSError("Can't load the configuration")

    with pytest.raises(OSError, match="Can't load"):
        stage.guarded(_job(work), place)


def test_a_bug_passes_through_with_its_traceback(place: stage.Place) -> None:
    def work() -> stage.Report:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        stage.guarded(_job(work), place)


def test_code_of_another_tree_is_refused(place: stage.Place, tmp_path: Path) -> None:
    elsewhere = stage.Place(root=tmp_path, state=place.state, tracking_uri=place.tracking_uri, clock=NOW)
    with pytest.raises(UserError, match="python -m nightgarden"):
        stage.run(_job(lambda: {}), elsewhere)


def test_equal_work_has_an_equal_fingerprint_and_other_inputs_another(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("v1")
    watch = stage.InputWatch(tmp_path)
    watch.note(tmp_path / "in.txt")
    first = stage.fingerprint("a", b"{}", watch)
    assert first == stage.fingerprint("a", b"{}", watch)
    assert first != stage.fingerprint("a", b'{"x":1}', watch)
    (tmp_path / "in.txt").write_text("v2")
    assert first != stage.fingerprint("a", b"{}", watch)


@pytest.mark.parametrize("name", ["dvc", "other"])
def test_a_stage_ends_when_the_dvc_above_it_is_killed_and_only_then(tmp_path: Path, name: str) -> None:
    parent = tmp_path / name
    parent.write_text(
        f"#!{sys.executable}\n"
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', '''\n"
        "import time\n"
        "from nightgarden import stage\n"
        "stage._watch_parents()\n"
        'print("ready", flush=True)\n'
        "time.sleep(60)\n"
        "'''])\n"
        "print(child.pid, flush=True)\n"
        "child.wait()\n"
    )
    dvc = subprocess.Popen([sys.executable, str(parent)], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert dvc.stdout
    lines = {dvc.stdout.readline().strip(), dvc.stdout.readline().strip()}
    child = psutil.Process(int((lines - {"ready"}).pop()))
    dvc.send_signal(signal.SIGKILL)
    dvc.wait()
    if name == "dvc":
        child.wait(timeout=15)
    else:
        with pytest.raises(psutil.TimeoutExpired):
            child.wait(timeout=3)
        child.kill()
