"""The nights of a tree: which one comes next, whether it may start, its frozen day, its commit.

Order and content of a night belong to `nightgarden.night`; here is what surrounds them: files of days,
DVC's hold on the frozen one, and git.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from nightgarden import clock, params
from nightgarden.digests import sha256_file
from nightgarden.errors import UserError
from nightgarden.jsonl import read_json, write_json
from nightgarden.memory import migrations
from nightgarden.night import freeze, stages
from nightgarden.records import Event
from nightgarden.stage import Place
from nightgarden.teacher.items import NIGHTS
from nightgarden.trust import record
from tasks.gates import disk_full
from tasks.reproduce import logger, relay
from tasks.worktree import author, git

DAYS = Path("data/seed/days")
"""Where finished days lie, one file each; until the shell writes its own journal these are the hand-written ones."""
LABELS = Path("data/seed/labels")
CORE = DAYS / "core.jsonl"
BEING_WRITTEN = "being written"
MACHINE_FILES = (".dvc", "dvc.lock", ".gitignore")
"""Ends of file names that only DVC writes."""


@dataclass(frozen=True, kw_only=True)
class Tonight:
    """One night to be done."""

    night: str
    """Its name: the last local day that it takes, YYYY-MM-DD."""
    now: datetime
    days: tuple[Path, ...]
    """Files of the days since the night before, below the root."""


def choose(place: Place, night: date | None, now: datetime | None) -> Tonight:
    """The night that is meant: the given one, or the day that ended last; with all days since the night before.

    Args:
        place: the tree.
        night: its name; None = the local day of twelve hours ago.
        now: an injected moment, aware; None = the place's clock.
    """
    moment = now or place.clock()
    zone = params.load(place.root / "params.yaml").night.window.zone
    name = (night or clock.local(moment - timedelta(hours=12), zone).date()).isoformat()
    listed = stages.read_nights(place.root)
    taken = {day for item in listed if item.night != name for day in item.days}
    files = [
        path for path in sorted((place.root / DAYS).glob("????-??-??.jsonl")) if path.stem <= name and path.stem not in taken
    ]
    return Tonight(night=name, now=moment, days=tuple(path.relative_to(place.root) for path in files))


def last_heard(place: Place, now: datetime) -> datetime | None:
    """When the person last spoke before `now`; None if never."""
    zone = params.load(place.root / "params.yaml").night.window.zone
    today = clock.local(now, zone).date().isoformat()
    for path in sorted((place.root / DAYS).glob("????-??-??.jsonl"), reverse=True):
        said = [clock.parse(line.at) for line in migrations.read(path) if isinstance(line, Event) and line.speaker == "user"]
        if path.stem <= today and (before := [moment for moment in said if moment <= now]):
            return max(before)
    return None


def ended(place: Place, night: str) -> record.NightRecord | None:
    """The record of a night that is done and committed, or None."""
    path = place.root / NIGHTS / night / "record.json"
    return record.read(path) if path.is_file() and not dirty(place.root) else None


@task(task_run_name="may {tonight.night} start?", cache_policy=NO_CACHE)
def why_not(place: Place, tonight: Tonight) -> str | None:
    """Why the night may not start now, or None."""
    window = params.load(place.root / "params.yaml").night.window
    reasons = (
        already_done(place, tonight.night),
        nothing_new(tonight),
        freeze.window_reason(tonight.now, window, last_heard(place, tonight.now)),
        disk_full(place.root),
    )
    return next((reason for reason in reasons if reason), None)


def already_done(place: Place, night: str) -> str | None:
    """How a night that is done ended; None for one that is not."""
    done = ended(place, night)
    return f"night {night} is done: {done.end}, {done.reason}" if done else None


def nothing_new(tonight: Tonight) -> str | None:
    """Says so if there is no day to take."""
    return None if tonight.days else f"no day up to {tonight.night} lies in {DAYS} that no earlier night took"


@task(task_run_name="freeze {tonight.night}", cache_policy=NO_CACHE)
def freeze_night(place: Place, tonight: Tonight) -> dict[str, int]:
    """Freeze the days into the night's own file, let DVC keep it, and write the night's stages."""
    refuse_own_edits(place.root)
    frozen = NIGHTS / tonight.night / "day.jsonl"
    remember(place.root, dict.fromkeys((str(frozen), str(stages.LIST), str(stages.STAGES)), BEING_WRITTEN))
    days = [place.root / day for day in tonight.days]
    labels = [path for day in days if (path := place.root / LABELS / day.name).is_file()]
    counts = freeze.freeze(tonight.night, days, labels, place.root / CORE, place.root)
    remember(place.root, {str(name): sha256_file(place.root / name) for name in (frozen, stages.LIST, stages.STAGES)})
    code, output = relay(["add", str(frozen)], place, logger().info)
    if code:
        raise UserError(f"DVC could not take in the frozen day: {output.strip()}. Run the night again.")
    return counts


@task(task_run_name="commit {night}", cache_policy=NO_CACHE)
def commit_night(place: Place, night: str, message: str) -> None:
    """Commit what the night wrote below data/nights, and nothing else."""
    refuse_own_edits(place.root)
    if dirty(place.root):
        git(place.root, "add", "--", str(NIGHTS))
        git(place.root, "commit", "--quiet", "--no-verify", "-m", message, "--", str(NIGHTS), extra=author(place.root))


def dirty(root: Path) -> list[str]:
    """Files below data/nights that differ from the last commit, untracked ones included."""
    lines = git(root, "status", "--porcelain", "--untracked-files=all", "-z", "--", str(NIGHTS)).split("\0")
    return [line[3:] for line in lines if len(line) > 3]


def refuse_own_edits(root: Path) -> None:
    """Refuse to mix the user's own edits below data/nights into a night's commit.

    Raises:
        UserError: names them.
    """
    path = _memory(root)
    ours: dict[str, str] = read_json(path, dict[str, str]) if path.is_file() else {}
    theirs = [
        name
        for name in dirty(root)
        if not name.endswith(MACHINE_FILES)
        and ours.get(name) != BEING_WRITTEN
        and not ((root / name).is_file() and sha256_file(root / name) == ours.get(name))
    ]
    if theirs:
        raise UserError(f"{', '.join(theirs)} hold edits of your own; commit or restore them, then run the night again.")


def remember(root: Path, files: Mapping[str, str]) -> None:
    """Note what a night writes, before and after, so that a run that was killed before its commit can go on.

    Args:
        root: the tree.
        files: sha256 by path below root, or `BEING_WRITTEN`; freezing again repairs or refuses such a file.
    """
    write_json(_memory(root), files)


def _memory(root: Path) -> Path:
    return root / ".dvc" / "tmp" / "nightgarden-nights.json"
