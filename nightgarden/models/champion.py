"""The adapter in use: one pointer file, and one step back from it.

A promoted adapter lies under its content's name with its scores and the record of how it was promoted; the pointer is a
copy of that record. Which adapter deserves it is evaluation's affair, and when it moves forward is `tasks/publish.py`'s.
"""

from __future__ import annotations

from pathlib import Path

from nightgarden import jsonl
from nightgarden.errors import UserError
from nightgarden.records import Record

POINTER = Path("models/adapters/champion.json")
CHAMPIONS = Path("models/adapters/champions")
"""Promoted adapters by content, each with its scores: DVC deletes the candidate before it trains the next one."""
RECORD, ROLLED_BACK = "champion.json", "rolled_back.json"


class Champion(Record, frozen=True, kw_only=True):
    """The pointer, and the record beside each adapter that it has pointed to."""

    adapter: str
    """sha256 of its weights, as its card says."""
    folder: str
    """The adapter, relative to the repository."""
    scores: str
    """Its own scores, relative to the repository: what the next candidate is compared with."""
    reason: str
    previous: str | None = None
    """Folder of the champion before: one step back. None = the base alone."""


class RolledBack(Record, frozen=True, kw_only=True):
    """Why an adapter was taken out of use: it is not promoted again as long as this lies beside it."""

    why: str


def read(root: Path) -> Champion | None:
    """The champion; None where the base is used alone."""
    return jsonl.read_json(root / POINTER, Champion) if (root / POINTER).is_file() else None


def home_of(folder: str) -> Path:
    """Where a champion's adapter, scores and record lie, relative to the repository."""
    return Path(folder).parent


def roll_back(root: Path, why: str) -> tuple[Champion, Champion | None]:
    """Take the champion out of use, and put the one before it back, or the base alone.

    Args:
        root: the checkout.
        why: kept beside the adapter.

    Returns:
        Who was taken out, and who serves now.

    Raises:
        UserError: there is no champion, or the one before it is not whole.
    """
    now = read(root)
    if now is None:
        raise UserError("there is no champion to roll back: the base is used alone.")
    before: Champion | None = None
    if now.previous is not None:
        path = root / home_of(now.previous) / RECORD
        if not path.is_file() or not (root / now.previous).is_dir():
            raise UserError(
                f"{path.parent} does not hold the whole champion before. Put it back, or delete {POINTER} for the base."
            )
        before = jsonl.read_json(path, Champion)
    jsonl.write_json(root / home_of(now.folder) / ROLLED_BACK, RolledBack(why=why))
    if before is None:
        (root / POINTER).unlink()
    else:
        jsonl.write_json(root / POINTER, before)
    return now, before


def refused(root: Path, home: Path) -> str | None:
    """Why the adapter of a home is not promoted again, or None."""
    path = root / home / ROLLED_BACK
    if not path.is_file():
        return None
    found: RolledBack = jsonl.read_json(path, RolledBack)
    return f"it was rolled back: {found.why}; delete {home / ROLLED_BACK} to let it be promoted again"


def told(serving: Champion | None) -> str:
    """Who serves, in words."""
    if serving is None:
        return "The base is used alone; no adapter is promoted."
    before = f"Before it: {serving.previous}." if serving.previous else "Before it: the base alone."
    return f"In use: {serving.adapter[:12]} at {serving.folder}.\n{serving.reason}\n{before}"
