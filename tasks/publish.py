"""Moving the pointers: which adapter and which student are in use. One atomic file each.

Decides nothing: evaluation and the night's gate have decided and given their reason. A pointer is
context, so git and DVC do not know it.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE

from nightgarden.digests import content_id, sha256_folder
from nightgarden.errors import UserError
from nightgarden.jsonl import read_json, write_json
from nightgarden.models import champion
from nightgarden.models.champion import CHAMPIONS, POINTER, Champion
from nightgarden.night import stages
from nightgarden.records import Record
from nightgarden.stage import Place
from nightgarden.teacher.items import NIGHTS
from nightgarden.trust import record

CANDIDATE = Path("models/adapters/candidate")
SCORES = Path("data/scores/scores.jsonl")
PROMOTED = stages.STUDENTS / "promoted.json"


class Ending(Record, frozen=True, kw_only=True):
    """How a run ended, as state name, page and tag."""

    end: str
    reason: str


class Serving(Record, frozen=True, kw_only=True):
    """models/student/promoted.json: checkpoint and trust move together or not at all."""

    night: str
    """The night whose model serves."""
    folder: str
    trust: dict[str, float | None]
    decided: str
    """The night that said so."""


@task(task_run_name="promote or keep", cache_policy=NO_CACHE)
def publish_adapter(place: Place) -> Ending:
    """Make the candidate the champion if evaluation says so."""
    report: dict[str, Any] = read_json(place.root / "reports/evaluation.json", dict)
    return follow(place.root, report["promote"]["verdict"], report["promote"]["reason"], report["against"])


def follow(root: Path, verdict: str, reason: str, against: str | None) -> Ending:
    """Do what the verdict says, if it was drawn against the champion of now, and say how that ended.

    Args:
        root: the tree.
        verdict: `promote` or another word.
        reason: of the verdict.
        against: sha256 of the champion that it was drawn against; None = stock only.
    """
    if verdict != "promote":
        return Ending(end="Kept", reason=reason)
    if stale := not_judged_against(root, against) or champion.refused(root, home(root)):
        return Ending(end="Kept", reason=stale)
    enthrone(root, reason)
    return Ending(end="Promoted", reason=reason)


def not_judged_against(root: Path, against: str | None) -> str | None:
    """Says so if the champion of now is neither the candidate nor the one that it was compared with.

    DVC restores an old evaluation with old settings: its verdict knows nothing of a champion that came since.
    """
    card: dict[str, Any] = read_json(root / CANDIDATE / "card.json", dict)
    now = champion.read(root)
    if now is None or now.adapter in (card["adapter"], against):
        return None
    return (
        f"the champion is {now.adapter[:12]}, and the candidate was compared with {against[:12] if against else 'stock only'}; "
        "compare it with `dvc repro -f -s evaluate`, then run build-adapter again"
    )


def home(root: Path) -> Path:
    """Where the candidate lies once it is promoted, relative to the repository: its content's name."""
    return CHAMPIONS / content_id(sha256_folder(root / CANDIDATE))


def enthrone(root: Path, reason: str) -> Champion:
    """Copy the candidate with scores and record under its content's name, then move the pointer; again changes nothing."""
    card: dict[str, Any] = read_json(root / CANDIDATE / "card.json", dict)
    place = home(root)
    if not (root / place).is_dir():
        part = root / place.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(root / CANDIDATE, part / "adapter")
        shutil.copy2(root / SCORES, part / SCORES.name)
        part.rename(root / place)
    old = champion.read(root)
    folder, scores = str(place / "adapter"), str(place / SCORES.name)
    if old and old.folder == folder:
        return old
    previous = old.folder if old else None
    new = Champion(adapter=card["adapter"], folder=folder, scores=scores, reason=reason, previous=previous)
    write_json(root / place / champion.RECORD, new)
    write_json(root / POINTER, new)
    return new


@task(task_run_name="publish the student", cache_policy=NO_CACHE)
def publish_student(place: Place) -> Ending:
    """Point to the student that the newest night says serves."""
    last = newest(place.root)
    point_to(place.root, last)
    return Ending(end=last.end, reason=last.reason)


def newest(root: Path) -> record.NightRecord:
    """The record of the last night that is done.

    Raises:
        UserError: there is none.
    """
    paths = [root / NIGHTS / item.night / "record.json" for item in stages.read_nights(root)]
    done = [path for path in paths if path.is_file()]
    if not done:
        raise UserError("no night is done in this tree; run nightly-distillation first")
    return record.read(done[-1])


def point_to(root: Path, last: record.NightRecord) -> None:
    """Move the pointer to the student that serves after a night; where none does yet there is no pointer."""
    if last.serving:
        trust = {str(head): one.trust for head, one in last.heads.items()}
        folder = str(stages.STUDENTS / last.serving)
        write_json(root / PROMOTED, Serving(night=last.serving, folder=folder, trust=trust, decided=last.night))
