"""The seam: DVC's order and caching behind one task per stale stage, with its guards, on a miniature repository."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from nightgarden.errors import Refusal, UserError
from nightgarden.stage import Place
from tasks import reproduce
from tests.miniature import dvc

pytestmark = pytest.mark.usefixtures("plain_tasks")


@pytest.fixture
def plain_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tasks as plain functions: these tests are about DVC; tests/flows runs them under Prefect."""
    monkeypatch.setattr(reproduce, "stage_task", reproduce.stage_task.fn)
    monkeypatch.setattr(reproduce, "fresh_task", reproduce.fresh_task.fn)


def repro(place: Place, *targets: str) -> list[str]:
    with reproduce.pipeline(place) as opened:
        return opened.reproduce(*targets)


def edit(path: Path, old: str, new: str) -> None:
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def make_train_stale(place: Place) -> None:
    """Change what only the stage `train` reads."""
    edit(place.root / "params.yaml", "rank: 16", "rank: 8")


def test_both_doors_write_the_same_lock_byte_for_byte(unmade: Place, miniature_template: Path) -> None:
    with reproduce.pipeline(unmade) as opened:
        assert opened.reproduce("gate") == ["funnel", "gate@short"]
        assert opened.reproduce("card") == ["card"]
        assert opened.reproduce("train") == ["train"]
        assert opened.reproduce() == ["evaluate"]
    assert (unmade.root / "dvc.lock").read_bytes() == (miniature_template / "made/dvc.lock").read_bytes()
    assert "up to date" in dvc(unmade.root, "status")


def test_only_stale_stages_run_and_a_setting_put_back_is_restored_without_running(made: Place, tmp_path: Path) -> None:
    assert repro(made) == []
    make_train_stale(made)
    assert repro(made, "train") == ["train"]
    edit(made.root / "params.yaml", "rank: 8", "rank: 16")
    assert repro(made, "train") == ["train"]
    assert (tmp_path / "log").read_text().split() == ["train"], "the second time DVC took it from its run-cache"


def test_what_an_earlier_stage_made_stale_is_seen_in_the_same_run_and_no_more(made: Place) -> None:
    edit(made.root / "data/seed/rows/rows.txt", "long " * 40, "longer " * 40)
    assert repro(made) == ["funnel", "gate@short"], "keep drops the long row as before, so what follows stays fresh"


def test_the_lines_of_a_stage_arrive_without_the_advice_of_dvc(unmade: Place) -> None:
    lines: list[str] = []
    code, output = reproduce.relay(["repro", "-s", "funnel"], unmade, lines.append)
    assert code == 0 and "working on funnel" in lines
    assert not [line for line in lines if "git add" in line] and "git add" in output


def test_a_cancelled_run_takes_its_dvc_along(unmade: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIATURE", "funnel:dawdle")

    def cancel(line: str) -> None:
        if line == "working on funnel":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce.relay(["repro", "-s", "funnel"], unmade, cancel)
    assert not reproduce.verdict(unmade, "dvc.yaml:funnel").exists(), "it did not wait for the stage's end"
    assert not (unmade.root / "dvc.lock").exists()


def test_a_stage_knows_its_run_and_finds_this_interpreter_first() -> None:
    told = reproduce.environment(Place(root=Path(), state=Path("/s"), tracking_uri="t", flow_run_id="f"))
    assert told["PATH"].split(":")[0] == str(Path(sys.executable).parent)
    assert (told["NIGHTGARDEN_FLOW_RUN_ID"], told["NIGHTGARDEN_STATE"], told["PYTHONUNBUFFERED"]) == ("f", "/s", "1")


@pytest.mark.parametrize(
    ("deed", "kind", "words"),
    [
        ("refuse", Refusal, "only 3 rows; 32 are needed"),
        ("complain", UserError, "no such file: x.jsonl"),
        ("break", reproduce.StageFailed, "stage funnel failed"),
    ],
)
def test_the_verdict_file_tells_a_refusal_from_a_fault(
    unmade: Place, monkeypatch: pytest.MonkeyPatch, deed: str, kind: type[Exception], words: str
) -> None:
    old = unmade.state / "verdicts/funnel.json"
    old.parent.mkdir(parents=True)
    old.write_text('{"stage": "funnel", "exit": 3, "reason": "of another run"}')
    monkeypatch.setenv("MINIATURE", f"funnel:{deed}")
    with pytest.raises(kind, match=words):
        repro(unmade)


def test_an_input_edited_meanwhile_is_refused(unmade: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIATURE", "funnel:edit_input")
    with pytest.raises(UserError, match="data/seed/rows changed while it ran"):
        repro(unmade)


def test_without_that_guard_the_lock_lies(unmade: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIATURE", "funnel:edit_input")
    monkeypatch.setattr(reproduce, "refuse_drift", lambda *_: None)
    repro(unmade, "funnel")
    assert "up to date" in dvc(unmade.root, "status", "funnel")
    assert "one short row" in (unmade.root / "data/rows.txt").read_text(), "made from a text that is no longer there"


def test_settings_edited_meanwhile_stop_the_run_before_the_next_stage(unmade: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIATURE", "funnel:edit_params")
    with pytest.raises(UserError, match="params.yaml changed while the run was under way"):
        repro(unmade)
    assert list(yaml.safe_load((unmade.root / "dvc.lock").read_text())["stages"]) == ["funnel"]


def test_settings_edited_during_the_last_stage_are_named_too(made: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    edit(made.root / "models/base/tiny/weights.txt", "weights", "other weights")
    monkeypatch.setenv("MINIATURE", "train:edit_params")
    with pytest.raises(UserError, match="params.yaml changed"):
        repro(made, "train")


def test_a_finished_command_that_dvc_could_not_record_is_recorded_without_running_again(
    made: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    make_train_stale(made)
    monkeypatch.setenv("MINIATURE", "train:be_locked_out")
    assert repro(made, "train") == ["train"]
    assert (tmp_path / "log").read_text().split() == ["train"]
    assert repro(made, "train") == []


def test_a_lock_taken_before_the_command_means_try_again(unmade: Place) -> None:
    code = "import zc.lockfile; lock = zc.lockfile.LockFile('.dvc/tmp/lock'); print(1, flush=True); input()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code], cwd=unmade.root, **pipes) as holder:
        assert holder.stdout and holder.stdout.readline()
        with pytest.raises(reproduce.LockBusy):
            reproduce.run_stage(unmade, "dvc.yaml:funnel", {}, lambda _: None)
        holder.communicate("\n")
    reproduce.run_stage(unmade, "dvc.yaml:funnel", {}, lambda _: None)


def test_a_full_disk_under_dvcs_cache_is_named_and_what_the_stage_finished_is_not_lost(unmade: Place, small_disk: Path) -> None:
    subprocess.run([sys.executable, "-m", "dvc", "cache", "dir", "--local", str(small_disk)], cwd=unmade.root, check=True)
    filler = small_disk / "filler"
    filler.write_bytes(b"0" * shutil.disk_usage(small_disk).free)
    with pytest.raises(UserError, match="stage funnel: the disk is full; .* Free space, then .*`dvc commit -f dvc.yaml:funnel`"):
        reproduce.run_stage(unmade, "dvc.yaml:funnel", {}, lambda _: None)
    filler.unlink()
    assert reproduce.relay(["commit", "-f", "dvc.yaml:funnel"], unmade, lambda _: None)[0] == 0
    with reproduce.pipeline(unmade) as dvc:
        assert "funnel" not in dvc.reproduce("funnel")


def test_only_a_busy_lock_is_tried_again() -> None:
    class State:
        def __init__(self, data: Exception) -> None:
            self.data = data

    assert reproduce._lock_was_busy(None, None, State(reproduce.LockBusy("x")))
    for error in (Refusal("x"), UserError("x"), reproduce.StageFailed("x")):
        assert not reproduce._lock_was_busy(None, None, State(error))


def test_a_key_that_a_shell_would_run_is_refused_before_dvc_opens(unmade: Place) -> None:
    edit(
        unmade.root / "params.yaml",
        "  passes:\n",
        "  passes:\n    'a; touch hacked; #':\n      prev: ingest\n      prevfile: x\n",
    )
    with pytest.raises(UserError, match="use only a-z, 0-9 and _"):
        repro(unmade)
    assert not (unmade.root / "hacked").exists()
