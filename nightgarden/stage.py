"""Running one stage under its guards: own code, inputs that hold still, a parent that lives.

DVC records the hashes that inputs have *after* a command, in lock and run-cache alike. So the
command itself watches what it reads and fails if anything changed: DVC then records nothing.
Knows no stage's meaning.
"""

from __future__ import annotations

import hashlib
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import msgspec
import psutil

from nightgarden import tracking
from nightgarden.clock import Clock, system_clock
from nightgarden.digests import sha256_file
from nightgarden.errors import Refusal, UserError
from nightgarden.jsonl import write_json

log = logging.getLogger(__name__)

Report = dict[str, float | int | str]
"""What a stage counted. Keys that start with `time_` go to tracking only: they differ between equal runs."""

_UNWATCHED = {".git", ".dvc", ".venv", ".nightgarden", "__pycache__"}


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a stage runs: never part of its result."""

    root: Path
    """The checkout or worktree."""
    state: Path
    """Work in progress outside DVC: checkpoints, caches, spool, verdicts."""
    tracking_uri: str
    flow_run_id: str | None = None
    clock: Clock = system_clock
    server_url: str | None = None
    """OpenAI-compatible server for a teacher or rater that a setting names; None if there is none."""
    server_key: str | None = field(default=None, repr=False)
    workers: int = 1
    """Processes that share a stage's shards; the same bytes come out."""
    calls: int = 4
    """Calls to a server that are under way at once; the same bytes come out, if the server answers alike."""


@dataclass
class InputWatch:
    """Remembers every file read under a root and tells which of them changed since."""

    root: Path
    seen: dict[Path, tuple[int, int, int]] = field(default_factory=dict)
    ours: set[Path] = field(default_factory=set)
    active: bool = False

    def note(self, path: Path) -> None:
        """Remember a file as it is now; for readers that the audit hook cannot see."""
        path = Path(os.path.abspath(path))
        if path in self.seen or path in self.ours or not path.is_relative_to(self.root):
            return
        if _UNWATCHED & set(path.relative_to(self.root).parts) or not path.is_file():
            return
        self.seen[path] = _print_of(path)

    def hook(self, event: str, args: tuple[object, ...]) -> None:
        """An audit hook: files opened for reading are inputs, files written or renamed to are ours."""
        if not self.active:
            return
        if event == "open" and isinstance(args[0], str | bytes | os.PathLike):
            path = Path(os.path.abspath(os.fsdecode(args[0])))
            flags = args[2] if isinstance(args[2], int) else 0
            if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                self.ours.add(path)
            else:
                self.note(path)
        elif event == "os.rename" and isinstance(args[1], str | bytes | os.PathLike):
            self.ours.add(Path(os.path.abspath(os.fsdecode(args[1]))))

    def changed(self) -> list[str]:
        """Relative paths of the inputs that are no longer what they were when they were read."""
        return sorted(
            str(path.relative_to(self.root))
            for path, before in self.seen.items()
            if path not in self.ours and (not path.is_file() or _print_of(path) != before)
        )


def _print_of(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns, status.st_ino


def _assert_own_code(root: Path) -> None:
    """An editable install started inside a git worktree would run the main checkout's code."""
    here = Path(__file__).resolve()
    if not here.is_relative_to(root.resolve()):
        raise UserError(
            f"this command runs the code at {here.parent}, but the working tree is {root}. "
            "Run it as `python -m nightgarden ...` from the root of that tree."
        )


def _watch_parents() -> None:
    """End this process when the `dvc` above it, or anything between, is gone.

    `kill -9` of dvc would otherwise leave the stage running and writing outputs that nobody records.
    """
    chain: list[psutil.Process] = []
    for parent in psutil.Process().parents():
        chain.append(parent)
        if any(Path(word).name == "dvc" for word in parent.cmdline()[:3]) or parent.cmdline()[1:3] == ["-m", "dvc"]:
            break
    else:
        return

    def poll() -> None:
        while all(parent.is_running() and parent.status() != psutil.STATUS_ZOMBIE for parent in chain):
            time.sleep(0.5)
        log.error("the process that started this stage is gone; ending so that no unrecorded output is written")
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(10)
        os._exit(1)

    threading.Thread(target=poll, name="parent-watch", daemon=True).start()


def fingerprint(name: str, section: msgspec.Raw | bytes, watch: InputWatch) -> str:
    """sha256 of the stage's name, its settings and every input it read: equal work, equal fingerprint."""
    digest = hashlib.sha256(name.encode() + b"\0" + bytes(section))
    for path in sorted(watch.seen):
        if path.name != "params.yaml":
            digest.update(f"{path.relative_to(watch.root)}\0{sha256_file(path)}\n".encode())
    return digest.hexdigest()


def git_commit(root: Path) -> str:
    """The commit that is checked out, or `none` outside a repository."""
    answer = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=False)
    return answer.stdout.strip() or "none"


def tree_name(root: Path) -> str:
    """Name of a git worktree, in which `.git` is a file; empty for a checkout."""
    return root.name if (root / ".git").is_file() else ""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One stage made ready: what to call, what it reads natively, where its numbers go."""

    name: str
    """Stage name, with its key after `@`."""
    work: Callable[[], Report]
    settings: bytes
    """Canonical JSON of the settings that are part of its identity."""
    experiment: str
    native_inputs: tuple[Path, ...] = ()
    """Files or folders read by native code, which the audit hook does not see."""
    curve: Path | None = None
    """A JSON list of {"step", name: value ...} that becomes charts over step."""
    artifacts: tuple[Path, ...] = ()
    """Files to keep with the MLflow run."""
    night: str | None = None
    """Date of the night whose `trust/*` and `skill/*` numbers join the history charts."""
    sync: bool = False
    """Whether to send the spool to MLflow afterwards; the passes only spool (its import costs seconds)."""


def run(job: Job, place: Place) -> Report:
    """Run a job under all guards and track it.

    Raises:
        UserError: wrong tree, or an input changed while the job ran.
        Refusal: the job's own gate said no.
    """
    _assert_own_code(place.root)
    _watch_parents()
    watch = InputWatch(place.root.resolve())
    for path in _code_files(place.root) + list(_files(job.native_inputs)):
        watch.note(path)
    code = set(watch.seen)
    sys.addaudithook(watch.hook)
    started = place.clock()
    watch.active = True
    try:
        report = job.work()
    finally:
        watch.active = False
    for path in code - _loaded_files():
        if path.suffix == ".py":
            del watch.seen[path]
    if changed := watch.changed():
        raise UserError(
            f"stage {job.name}: {', '.join(changed)} changed while the stage read it. Nothing was recorded. "
            "Run it again when nobody edits these files."
        )
    try:
        _track(job, place, report, fingerprint(job.name, job.settings, watch), started)
    except OSError as error:
        log.warning("tracking: the numbers of %s could not be spooled: %s (%s)", job.name, error.strerror, error.filename)
    return report


def _track(job: Job, place: Place, report: Report, identity: str, started: datetime) -> None:
    tracking.log_stage(
        tracking.StageRun(
            stage=job.name,
            experiment=job.experiment,
            fingerprint=identity,
            commit=git_commit(place.root),
            flow_run_id=place.flow_run_id,
            started=started,
            ended=place.clock(),
            report=report,
            curve=job.curve,
            artifacts=job.artifacts,
        ),
        place.state,
    )
    if job.night is not None:
        history = {key: float(value) for key, value in report.items() if key.startswith(("trust/", "skill/"))}
        at = datetime.fromisoformat(f"{job.night}T00:00:00+00:00")
        tracking.log_night(tree_name(place.root), job.night, int(report["night_number"]), at, history, place.state)
    if job.sync:
        tracking.sync(place.state, place.tracking_uri)


def _code_files(root: Path) -> list[Path]:
    return [path for pattern in ("*.py", "*.jinja") for path in (root / "nightgarden").rglob(pattern)]


def _loaded_files() -> set[Path]:
    names = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    return {Path(os.path.abspath(name)) for name in names if isinstance(name, str)}


def _files(paths: Iterable[Path]) -> Iterable[Path]:
    for path in paths:
        yield from (child for child in path.rglob("*") if child.is_file()) if path.is_dir() else (path,)


def write_verdict(place: Place, name: str, exit_code: int, reason: str) -> None:
    """Say in a file how the stage ended: dvc turns every exit code into 255. On a full disk only the log says it."""
    path = place.state / "verdicts" / f"{name.replace('@', '-')}.json"
    try:
        write_json(path, {"stage": name, "exit": exit_code, "reason": reason})
    except OSError as error:
        log.warning("how stage %s ended could not be written to %s: %s", name, path, error.strerror)


def guarded(job: Job, place: Place) -> int:
    """Run a job and return its exit code: 0 done, 2 the user's to repair, 3 a gate refused.

    Any other exception passes through (exit code 1, with a traceback): it is a bug.
    """
    try:
        run(job, place)
    except Refusal as error:
        write_verdict(place, job.name, 3, str(error))
        log.error("%s refused: %s", job.name, error)
        return 3
    except UserError as error:
        write_verdict(place, job.name, 2, str(error))
        log.error("%s", error)
        return 2
    except OSError as error:
        if error.errno is None:  # raised by a library with words of its own, such as transformers: no fault of the disk
            raise
        reason = f"{error.strerror} ({error.filename or 'no file named'})"
        write_verdict(place, job.name, 2, reason)
        log.error("stage %s could not read or write: %s. Free space or repair the path, then run it again.", job.name, reason)
        return 2
    write_verdict(place, job.name, 0, "done")
    log.info("%s: done", job.name)
    return 0
