"""Where a run works: in the checkout as it is, or, with overrides, in a git worktree of its own.

The checkout is never changed behind the user's back: the worktree starts from a snapshot of the user's tree
(uncommitted edits and untracked, unignored files included) on a branch `run/NAME`, shares DVC's cache with
the checkout and keeps the run's settings and results as commits. Knows no stage's meaning.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from dvc.exceptions import CheckoutError
from dvc.repo import Repo
from dvc.utils.serialize import modify_yaml
from prefect.runtime import flow_run

from nightgarden import params
from nightgarden.curation.sources.reading import KINDS, kind_of, refuse_empty
from nightgarden.digests import content_id, sha256_file
from nightgarden.errors import UserError
from nightgarden.jsonl import write_text
from nightgarden.stage import Place
from nightgarden.tracking import local_uri
from tasks.gates import alone
from tasks.overrides import Overrides
from tasks.reproduce import logger

INBOX = Path("data/inbox")
"""Where a worktree keeps the user's own file; the ingest stage depends on the folder, DVC keeps the bytes."""
READY = Path(".dvc/tmp/nightgarden-ready")
"""Written last: a worktree without it was cut off while it was made."""
IDENTITY = {
    "GIT_AUTHOR_NAME": "Nightgarden",
    "GIT_AUTHOR_EMAIL": "nightgarden@localhost",
    "GIT_COMMITTER_NAME": "Nightgarden",
    "GIT_COMMITTER_EMAIL": "nightgarden@localhost",
}
"""Used only where git knows no author, which would refuse to commit."""


def here() -> Place:
    """The checkout that this process stands in, as the environment describes it.

    Raises:
        UserError: not the root of a checkout.
    """
    root = Path.cwd()
    if not (root / "params.yaml").is_file() or not (root / "dvc.yaml").is_file():
        raise UserError(f"{root} has no params.yaml and dvc.yaml; start from the root of the checkout")
    state = Path(os.environ.get("NIGHTGARDEN_STATE") or root / ".nightgarden").resolve()
    return Place(
        root=root,
        state=state,
        tracking_uri=os.environ.get("MLFLOW_TRACKING_URI") or local_uri(state),
        flow_run_id=flow_run.id,
    )


@contextmanager
def workplace(overrides: Overrides) -> Iterator[Place]:
    """The place of one run, held alone: the checkout, or a worktree if anything is overridden.

    Raises:
        UserError: the overridden settings are not valid; nothing was made then.
    """
    checkout = here()
    name = f"{flow_run.flow_name or 'run'}-{(flow_run.id or uuid.uuid4().hex)[:8]}"
    with alone(checkout.state, name, logger().info):
        if overrides.empty:
            yield checkout
        else:
            with own_tree(checkout, name, overrides) as place:
                yield place


@contextmanager
def own_tree(checkout: Place, name: str, overrides: Overrides) -> Iterator[Place]:
    """A worktree for one run; whatever the run leaves in it is committed on its branch.

    A worktree of that name that is whole is used again: `name_by_content` gives equal runs equal names.
    """
    place = replace(checkout, root=checkout.state / "runs" / name)
    if not (place.root / READY).is_file():
        discard(checkout.root, place.root, name)
        make_worktree(checkout, place, name, overrides)
    logger().info("overrides: this run works in %s on branch run/%s", place.root, name)
    done = False
    try:
        yield place
        done = True
    finally:
        keep_results(place.root, name, done)


def git(root: Path, *arguments: str, extra: Mapping[str, str] | None = None) -> str:
    """Output of one git command in a tree.

    Raises:
        UserError: git refused; says what it said.
    """
    told = os.environ | (extra or {})
    answer = subprocess.run(["git", *arguments], cwd=root, env=told, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise UserError(f"git {' '.join(arguments)} in {root}: {(answer.stderr or answer.stdout).strip()}")
    return answer.stdout.strip()


def author(root: Path) -> dict[str, str]:
    """Environment that gives a commit an author where git knows none."""
    known = subprocess.run(["git", "var", "GIT_AUTHOR_IDENT"], cwd=root, capture_output=True, check=False)
    return {} if known.returncode == 0 else IDENTITY


def snapshot_tree(root: Path) -> str:
    """Id of the tree as it lies there, made through an index of its own: neither HEAD nor the user's index moves."""
    index = root / git(root, "rev-parse", "--git-path", "index")
    with tempfile.TemporaryDirectory() as folder:
        own = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
        if index.is_file():
            shutil.copy2(index, own["GIT_INDEX_FILE"])
        git(root, "add", "--all", extra=own)
        return git(root, "write-tree", extra=own)


def name_by_content(prefix: str, checkout: Place, overrides: Overrides) -> str:
    """A name that is equal for equal files, settings and input: the same run again finds its worktree."""
    file = user_file(checkout.root, overrides.source_file) if overrides.source_file else None
    source = (source_key(file), kind_of(file), sha256_file(file)) if file else None
    parts = [snapshot_tree(checkout.root), overrides.changes(), source]
    return f"{prefix}-{content_id(parts)[:10]}"


def commit_all(root: Path, message: str) -> None:
    """Commit whatever differs in a tree of ours; nothing if nothing does."""
    git(root, "add", "--all")
    if git(root, "status", "--porcelain"):
        git(root, "commit", "--quiet", "--no-verify", "-m", message, extra=author(root))


def keep_results(root: Path, name: str, done: bool) -> None:
    """Commit what a run left in its tree.

    Raises:
        UserError: git refused, after a run that is done; after one that failed it must not hide why.
    """
    try:
        commit_all(root, f"Results of run/{name}" + ("" if done else ", which failed"))
        logger().info("results: %s (branch run/%s)", root, name)
    except (UserError, OSError) as error:
        if done:
            raise
        logger().warning("what the failed run left in %s could not be committed: %s", root, error)


def make_worktree(checkout: Place, place: Place, name: str, overrides: Overrides) -> None:
    """Make a worktree of the user's tree with other settings, committed, with everything that DVC has in its cache.

    Args:
        checkout: the user's tree.
        place: where the worktree comes to lie.
        name: of the branch `run/NAME`.
        overrides: at least one of them filled in.
    """
    root, changes = place.root, overrides.changes()
    file = user_file(checkout.root, overrides.source_file) if overrides.source_file else None
    key = source_key(file) if file else ""
    if file:
        changes[f"curation.sources.{key}"] = {"path": f"{INBOX}/{key}{kind_of(file)}", "op": 0}
    check(checkout.root / "params.yaml", changes)
    refuse_visible_state(checkout)
    tree, message = snapshot_tree(checkout.root), f"Snapshot for run/{name}"
    start = git(checkout.root, "commit-tree", tree, "-p", "HEAD", "-m", message, extra=author(checkout.root))
    git(checkout.root, "worktree", "add", "--quiet", "-b", f"run/{name}", str(root), start)
    share_cache(checkout.root, root)
    link_base_models(checkout.root, root)
    with modify_yaml(str(root / "params.yaml")) as settings:
        change(settings, changes)
    if file:
        take_in(file, root / INBOX / f"{key}{kind_of(file)}", root)
    commit_all(root, f"Settings of run/{name}\n\n" + "\n".join(f"{path}: {value}" for path, value in changes.items()))
    write_text(root / READY, name)


def refuse_visible_state(checkout: Place) -> None:
    """Refuse a state folder that git sees: a snapshot would take every worktree in it for the user's files.

    Raises:
        UserError: it lies in the checkout and is not ignored.
    """
    inside = checkout.state.is_relative_to(checkout.root.resolve())
    seen = subprocess.run(["git", "check-ignore", "--quiet", str(checkout.state)], cwd=checkout.root, check=False).returncode
    if inside and seen:
        raise UserError(f"git sees the state folder {checkout.state}; add it to .gitignore, or set NIGHTGARDEN_STATE outside")


def discard(checkout: Path, root: Path, name: str) -> None:
    """Make room for a worktree: remove one that was cut off while it was made.

    The branch of one whose folder somebody removed may hold results: it is kept under another name.
    """
    branch, cut_off = f"run/{name}", root.exists()
    if cut_off:
        shutil.rmtree(root)
    git(checkout, "worktree", "prune")
    if tip := git(checkout, "for-each-ref", "--format=%(objectname:short)", f"refs/heads/{branch}"):
        if cut_off:
            git(checkout, "branch", "-D", branch)
        else:
            git(checkout, "branch", "-m", branch, f"{branch}-{tip}")
            logger().info("the folder of %s is gone; its branch is kept as %s-%s", branch, branch, tip)


def change(settings: dict[str, Any], changes: Mapping[str, Any]) -> None:
    """Set dotted paths in the parsed params.yaml."""
    for path, value in changes.items():
        *way, last = path.split(".")
        section = settings
        for part in way:
            section = section[part]
        section[last] = value


def check(path: Path, changes: Mapping[str, Any]) -> None:
    """Refuse settings that params.yaml could not hold, before anything is made.

    Raises:
        UserError: names the key and what is wrong.
    """
    settings = yaml.safe_load(path.read_text())
    change(settings, changes)
    params.parse(settings, path)


def user_file(root: Path, given: str) -> Path:
    """The file that the user named, relative to the checkout's root or absolute.

    Raises:
        UserError: no such file, a kind that ingest does not read, or one without a row.
    """
    file = root / given
    if not file.is_file() or kind_of(file) is None:
        raise UserError(f"got the input file {given!r}; give a file that exists and whose name ends in {', '.join(KINDS)}")
    refuse_empty(file)
    return file


def source_key(file: Path) -> str:
    """The name under which a user's file joins the sources: one that no shell can misread."""
    name = file.name.lower().removesuffix(kind_of(file) or "")
    return f"input_{re.sub(r'[^a-z0-9_]+', '_', name)}"


def take_in(given: Path, target: Path, root: Path) -> None:
    """Copy the user's file to its place in a worktree and let DVC keep it; git sees only the .dvc file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(given, target)
    with Repo(str(root)) as repo:
        repo.add([str(target)])


def share_cache(checkout: Path, root: Path) -> None:
    """Give a worktree the checkout's DVC cache and remotes, and check out what the cache holds."""
    local_config = checkout / ".dvc" / "config.local"
    if local_config.is_file():
        shutil.copyfile(local_config, root / ".dvc" / "config.local")
    with Repo(str(checkout)) as repo:
        cache = repo.cache.local_cache_dir
    with Repo(str(root)) as repo, repo.config.edit("local") as settings:
        settings["cache"]["dir"] = cache
    with Repo(str(root)) as repo:
        try:
            repo.checkout(force=True, allow_missing=True)
        except CheckoutError as error:
            logger().info("not in the cache, to be made again: %s", error)


def link_base_models(checkout: Path, root: Path) -> None:
    """Link every fetched base model into a worktree: the folder is ignored by git and gigabytes large.

    models/base itself is a folder, so that git's ignore rule `/models/base/` holds for it; a link is none.
    DVC hashes a linked folder like a real one.
    """
    for model in sorted((checkout / "models" / "base").glob("*")):
        link = root / "models" / "base" / model.name
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.exists():
            link.symlink_to(model.resolve())
