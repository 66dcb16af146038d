"""A file as of a revision, read from a real repository of git and DVC."""

import shutil
import subprocess
from pathlib import Path

import pytest

from nightgarden import revisions
from nightgarden.errors import UserError
from nightgarden.stage import Place
from tests.miniature import dvc, git

ROWS, BY_STAGE = Path("data/seed/rows/rows.txt"), Path("data/rows.txt")
IN_FOLDER = Path("data/dataset/rows.txt")


def text(root: Path, revision: str, path: Path) -> str:
    with revisions.at(root, revision) as found:
        return found.file(path).read_text()


@pytest.fixture
def moved_on(made: Place) -> Path:
    """The miniature with a second commit in which every stage made something else, and an edit that is not committed."""
    (made.root / ROWS).write_text("another row\n")
    (made.root / "data/inbox/mine.txt").write_text("mine\n")
    dvc(made.root, "add", "data/inbox/mine.txt")
    dvc(made.root, "repro", "funnel", "gate@short")
    git(made.root, "add", "-A")
    git(made.root, "commit", "-q", "-m", "Another row")
    (made.root / BY_STAGE).unlink()
    (made.root / BY_STAGE).write_text("edited\n")
    return made.root


def test_a_file_of_git_of_a_stage_and_in_a_folder_of_a_stage_are_what_they_were(moved_on: Path) -> None:
    for path in (ROWS, BY_STAGE, IN_FOLDER):
        assert text(moved_on, "HEAD~1", path).startswith("one short row\n"), path
        assert text(moved_on, "HEAD", path) == "another row\n", path


def test_a_file_that_was_added_by_hand_is_found(moved_on: Path) -> None:
    assert text(moved_on, "HEAD", Path("data/inbox/mine.txt")) == "mine\n"


def test_the_workspace_is_the_tree_as_it_lies_there(moved_on: Path) -> None:
    assert text(moved_on, "workspace", BY_STAGE) == "edited\n"


def test_reading_changes_neither_tree_nor_cache(moved_on: Path) -> None:
    def state() -> tuple[str, list[Path]]:
        return git(moved_on, "status", "--porcelain"), sorted((moved_on / ".dvc").rglob("*"))

    before = state()
    text(moved_on, "HEAD~1", BY_STAGE)
    assert state() == before


def test_a_cache_that_lies_elsewhere_is_asked(moved_on: Path, tmp_path: Path) -> None:
    shutil.move(moved_on / ".dvc/cache", tmp_path / "cache")
    with pytest.raises(UserError, match="is not in DVC's cache"):
        text(moved_on, "HEAD~1", BY_STAGE)
    dvc(moved_on, "cache", "dir", "--local", "../cache")
    assert text(moved_on, "HEAD~1", BY_STAGE).startswith("one short row\n")


def test_a_worktree_reads_the_cache_that_its_local_config_names(moved_on: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    git(moved_on, "worktree", "add", "-q", "-b", "run/one", str(tree), "HEAD")
    dvc(tree, "cache", "dir", "--local", str(moved_on / ".dvc/cache"))
    assert text(tree, "HEAD~1", BY_STAGE).startswith("one short row\n")


def test_a_stage_that_works_in_another_folder_is_found(unmade: Place) -> None:
    (unmade.root / "side").mkdir()
    note = "cmd: mkdir made && echo hello > made/note.txt\n    wdir: ..\n    outs: [made]"
    (unmade.root / "side/dvc.yaml").write_text(f"stages:\n  note:\n    {note}\n")
    dvc(unmade.root, "repro", "side/dvc.yaml:note")
    git(unmade.root, "add", "-A")
    git(unmade.root, "commit", "-q", "-m", "A note")
    assert text(unmade.root, "HEAD", Path("made/note.txt")) == "hello\n"


def test_what_the_cache_does_not_hold_is_refused_with_both_ways_to_get_it(moved_on: Path) -> None:
    shutil.rmtree(moved_on / ".dvc/cache")
    with pytest.raises(UserError, match=r"md5 [0-9a-f]{32}.*`dvc fetch --all-commits data/rows.txt`.*`dvc repro funnel`"):
        text(moved_on, "HEAD~1", BY_STAGE)
    assert text(moved_on, "HEAD~1", ROWS).startswith("one short row\n"), "what git holds needs no cache"


def test_an_unknown_file_and_an_unknown_revision_are_refused(made: Place) -> None:
    with revisions.at(made.root, "HEAD") as found:
        assert found.find(Path("data/nothing.jsonl")) is None
        assert found.find(Path("data/dataset/nothing.jsonl")) is None
        with pytest.raises(UserError, match="HEAD has no file data/nothing.jsonl"):
            found.file(Path("data/nothing.jsonl"))
    for name in ("no-such-branch", "--help", ""):
        with pytest.raises(UserError, match="git knows no revision"), revisions.at(made.root, name):
            pass


def test_a_folder_without_dvc_is_refused(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    with pytest.raises(UserError, match="holds no .dvc folder"), revisions.at(tmp_path, "HEAD"):
        pass
