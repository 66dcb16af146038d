"""Nights as flows on a miniature: gates on an injected clock, one frozen day after the other, one commit each."""

import json
import shutil
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from prefect.client.schemas.objects import State

from flows.nightly_distillation import nightly_distillation
from nightgarden.digests import sha256_file
from nightgarden.errors import UserError
from nightgarden.stage import Place
from tasks import nights
from tests.miniature import add_nights, dvc, git

pytestmark = pytest.mark.usefixtures("prefect_server")


@pytest.fixture(scope="session")
def nights_template(miniature_template: Path) -> Path:
    """The miniature with days to distil; a template of its own."""
    return add_nights(shutil.copytree(miniature_template / "made", miniature_template / "nights", symlinks=True))


@pytest.fixture
def garden(nights_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A copy to stand in."""
    root = shutil.copytree(nights_template, tmp_path / "checkout", symlinks=True)
    monkeypatch.chdir(root)
    monkeypatch.delenv("NIGHTGARDEN_STATE", raising=False)
    return Place(root=root, state=root / ".nightgarden", tracking_uri="sqlite:////nowhere")


def night(name: str, at: str = "03:10:00") -> State[Any]:
    """Run the night on the morning after, at a local time."""
    day = date.fromisoformat(name)
    now = datetime.fromisoformat(f"{day.replace(day=day.day + 1)}T{at}+02:00")
    return nightly_distillation(night=day, now=now, return_state=True)


def pointer(root: Path) -> dict[str, Any]:
    return json.loads((root / "models/student/promoted.json").read_text())


def test_two_nights_follow_each_other_and_a_third_time_is_skipped(garden: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    root = garden.root
    first = night("2026-09-08")
    assert (first.name, first.message) == ("Promoted", "mean skill +0.02")
    assert pointer(root) == {
        "night": "2026-09-08", "folder": "models/student/2026-09-08", "decided": "2026-09-08",
        "trust": dict.fromkeys(["importance", "appraisal", "reaction", "relevance", "interest"], 0.5),
    }  # fmt: skip
    listed = yaml.safe_load((root / "data/nights/nights.yaml").read_text())
    assert listed == [{"night": "2026-09-08", "days": ["2026-09-07", "2026-09-08"]}]

    monkeypatch.setenv("MINIATURE_END", "RolledBack 2026-09-08")
    assert night("2026-09-09").name == "RolledBack"
    assert (pointer(root)["night"], pointer(root)["decided"]) == ("2026-09-08", "2026-09-09")
    blocks = yaml.safe_load((root / "data/nights/dvc.yaml").read_text())["stages"]
    assert [name for name, block in blocks.items() if block.get("frozen")] == ["label-2026-09-08", "distil-2026-09-08"]

    again = night("2026-09-09")
    assert (again.name, again.message) == ("Skipped", "night 2026-09-09 is done: RolledBack, mean skill +0.02")
    subjects = git(root, "log", "--format=%s", "-3").splitlines()
    assert subjects == ["Night 2026-09-09: RolledBack", "Night 2026-09-08: Promoted", "Days"]
    changed = git(root, "diff", "--name-only", "HEAD~2").split()
    assert all(name.startswith("data/nights/") for name in changed)
    assert {name.rsplit("/", 1)[-1] for name in changed} == {".gitignore", "day.jsonl.dvc", "dvc.lock", "dvc.yaml", "nights.yaml"}
    assert "up to date" in dvc(root, "status"), "the nights are stages of the same repository"
    assert "label-" not in dvc(root, "repro", "--dry"), "the root's repro does not run nights"


@pytest.mark.parametrize(
    ("at", "words"),
    [("09:15:00", "it is 09:15 in Europe/Berlin; nights run from 03:00 to 06:00"), ("02:59:59", "it is 02:59")],
)
def test_outside_the_window_a_night_is_skipped_with_the_reason(garden: Place, at: str, words: str) -> None:
    state = night("2026-09-08", at)
    assert state.name == "Skipped" and words in str(state.message)
    assert not (garden.root / "data/nights").exists()


def test_a_person_who_is_still_awake_postpones_the_night(garden: Place) -> None:
    late = '{"schema":1,"record":"event","id":"e0909-99","at":"2026-09-09T02:50:00+02:00","speaker":"user","text":"Still up."}\n'
    (garden.root / "data/seed/days/2026-09-09.jsonl").open("a").write(late)
    state = night("2026-09-08")
    assert state.name == "Skipped" and "20 minutes ago" in str(state.message)


def test_a_night_without_a_new_day_is_skipped(garden: Place) -> None:
    assert "no day up to 2026-09-01" in str(night("2026-09-01").message)


def test_the_users_own_edits_are_never_committed_with_a_night(garden: Place) -> None:
    (garden.root / "data/nights").mkdir()
    (garden.root / "data/nights/notes.txt").write_text("mine\n")
    state = night("2026-09-08")
    assert state.is_failed() and "data/nights/notes.txt hold edits of your own" in str(state.message)
    assert git(garden.root, "log", "--format=%s", "-1").strip() == "Days"


def test_a_staged_change_elsewhere_stays_staged_and_out_of_the_nights_commit(garden: Place) -> None:
    (garden.root / "data/nights/2026-09-08").mkdir(parents=True)
    (garden.root / "data/nights/nights.yaml").write_text("[]\n")
    nights.remember(garden.root, {"data/nights/nights.yaml": sha256_file(garden.root / "data/nights/nights.yaml")})
    (garden.root / "staged.txt").write_text("mine\n")
    git(garden.root, "add", "staged.txt")
    nights.commit_night.fn(garden, "2026-09-08", "Night")
    assert git(garden.root, "diff", "--name-only", "HEAD~1", "HEAD").split() == ["data/nights/nights.yaml"]
    assert git(garden.root, "diff", "--cached", "--name-only").split() == ["staged.txt"]
    (garden.root / "data/nights/nights.yaml").write_text("[] # mine\n")
    with pytest.raises(UserError, match="edits of your own"):
        nights.commit_night.fn(garden, "2026-09-08", "Night")


@pytest.mark.parametrize("last_word", ["freeze", "remember", "add"])
def test_a_night_that_was_killed_while_it_froze_is_mended_by_running_it_again(
    garden: Place, monkeypatch: pytest.MonkeyPatch, last_word: str
) -> None:
    class KilledError(BaseException):
        """Stands for a `kill -9`: nothing after it runs."""

    def killed(*_arguments: object) -> None:
        raise KilledError

    remember, seen = nights.remember, []

    def killed_at_the_second(*arguments: Any) -> None:
        seen.append(arguments)
        remember(*arguments) if len(seen) == 1 else killed()

    tonight = nights.choose(garden, date(2026, 9, 8), datetime.fromisoformat("2026-09-09T03:10:00+02:00"))
    with monkeypatch.context() as patch:
        if last_word == "freeze":
            patch.setattr(nights.freeze.stages, "add_night", killed)
        elif last_word == "remember":
            patch.setattr(nights, "remember", killed_at_the_second)
        else:
            patch.setattr(nights, "relay", killed)
        with pytest.raises(KilledError):
            nights.freeze_night.fn(garden, tonight)
    assert (garden.root / "data/nights/2026-09-08/day.jsonl").is_file()
    assert night("2026-09-08").name == "Promoted"
    assert not nights.dirty(garden.root)


def test_a_frozen_day_that_somebody_edited_before_the_rerun_is_refused(garden: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_arguments: object) -> None:
        raise KeyboardInterrupt

    tonight = nights.choose(garden, date(2026, 9, 8), datetime.fromisoformat("2026-09-09T03:10:00+02:00"))
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(nights, "relay", killed)
        nights.freeze_night.fn(garden, tonight)
    with (garden.root / "data/nights/2026-09-08/day.jsonl").open("a") as day:
        day.write("\n")
    state = night("2026-09-08")
    assert state.is_failed() and "hold edits of your own" in str(state.message)


def test_a_moment_without_its_offset_is_refused_before_the_night_begins(garden: Place) -> None:
    state = nightly_distillation(night=date(2026, 9, 8), now=datetime(2026, 9, 9, 3, 10), return_state=True)  # noqa: DTZ001
    assert state.is_failed() and "now: Input should have timezone info" in str(state.message)
    assert not (garden.root / "data/nights").exists()


def test_the_night_that_is_meant_is_the_day_of_twelve_hours_ago(garden: Place) -> None:
    now = datetime.fromisoformat("2026-09-09T03:10:00+02:00")
    tonight = nights.choose(garden, None, now)
    assert tonight.night == "2026-09-08" and [path.stem for path in tonight.days] == ["2026-09-07", "2026-09-08"]
