"""Brings DVC stages up to date, one Prefect task per stale stage.

DVC owns the order and says what is stale; a stage runs as a child `dvc repro -s STAGE`, so that a flow
and a bare `dvc repro` write the same dvc.lock. Knows no stage's meaning.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from dvc.lock import LockError
from dvc.repo import Repo
from dvc.repo.reproduce import collect_stages, get_active_graph, plan_repro
from prefect import get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.exceptions import MissingContextError

from nightgarden import params
from nightgarden.errors import Refusal, UserError
from nightgarden.jsonl import read_json
from nightgarden.stage import Place

Say = Callable[[str], None]
Stage = Any
"""A stage of DVC's graph; DVC ships no types."""

LOCK_WORDS = ("Unable to acquire lock", "is busy, it is being blocked by")
"""What DVC 3.67 prints when another DVC process holds the repository or a file; it exits 255 for everything."""
NO_SPACE = "No space left on device"
"""How DVC, whose exit code is 255 for everything, reports a full disk when it keeps outputs or writes dvc.lock."""
LOCK_WAITS_SECONDS = (1, 2, 5, 10, 30)
DVC_HINTS = re.compile(
    r"To track the changes|\s+git add |To enable auto|\s+dvc config |Use `dvc push`|(Updat|Generat)ing lock file"
)
"""Advice to a person at a prompt; repeated after each of 30 stages it would hide what the stages say."""


class LockBusy(Exception):  # noqa: N818 - a state of the world, not a fault
    """Another DVC process holds the lock; trying again later helps."""


class StageFailed(Exception):  # noqa: N818 - named like the state that it causes
    """A stage ended without a verdict: a bug, whose traceback stands in the run log above."""


def logger() -> logging.Logger:
    """The run log inside a flow or task, else the plain log of this module."""
    try:
        return get_run_logger()  # type: ignore[return-value]
    except MissingContextError:
        return logging.getLogger(__name__)


def environment(place: Place) -> dict[str, str]:
    """What a stage's process needs: this interpreter first on PATH, lines at once, where the run keeps its state."""
    more = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYTHONUNBUFFERED": "1",
        "NIGHTGARDEN_STATE": str(place.state),
        "MLFLOW_TRACKING_URI": place.tracking_uri,
    }
    return os.environ | more | ({"NIGHTGARDEN_FLOW_RUN_ID": place.flow_run_id} if place.flow_run_id else {})


def relay(arguments: Iterable[str], place: Place, say: Say) -> tuple[int, str]:
    """Run `dvc ARGUMENTS` in the place's tree, in this process group, and pass its lines on as they come.

    Returns:
        (exit code, everything it printed).
    """
    lines: list[str] = []
    command = [sys.executable, "-m", "dvc", *arguments]
    options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"}
    with subprocess.Popen(command, cwd=place.root, env=environment(place), **options) as child:
        with ExitStack() as if_cancelled:
            # Without this a cancelled run would wait for the stage to finish; that ends when it sees that its dvc is gone.
            if_cancelled.callback(child.terminate)
            for line in child.stdout or ():
                lines.append(line)
                if line.strip() and not DVC_HINTS.match(line):
                    say(line.rstrip())
            if_cancelled.pop_all()
    return child.returncode, "".join(lines)


def address(stage: Stage) -> str:
    """The stage's name from the repository's root, whatever the working directory: `dvc.yaml:train`."""
    return f"{stage.path_in_repo}:{stage.name}" if getattr(stage, "name", None) else str(stage.path_in_repo)


def short(name: str) -> str:
    """`filter@length` for `dvc.yaml:filter@length`."""
    return name.rsplit(":", 1)[-1]


def input_hashes(stage: Stage) -> dict[str, str]:
    """Hash of every input file or folder as it is now, by its path as dvc.lock writes it."""
    files = [dep for dep in stage.deps if dep.hash_name != "params" and dep.exists]
    return {dep.def_path: str(dep.get_hash().value) for dep in files}


def locked_hashes(root: Path, name: str) -> dict[str, str]:
    """Hash of every input of a stage as dvc.lock recorded it; empty if it did not."""
    definition, _, key = name.rpartition(":")
    lock = root / Path(definition).with_suffix(".lock")
    if not (definition.endswith(".yaml") and lock.is_file()):
        return {}
    # Read after every stage: 0.05 s for a lock of 31 stages, against 0.43 s by safe_load.
    stages = yaml.load(lock.read_text(), Loader=yaml.CSafeLoader)["stages"]
    return {dep["path"]: str(dep[dep.get("hash", "md5")]) for dep in stages.get(key, {}).get("deps", [])}


def refuse_drift(name: str, before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """DVC records what inputs are after a command; refuse if that is not what they were before.

    Raises:
        UserError: names the inputs that moved.
    """
    if moved := sorted(path for path in before.keys() & after.keys() if before[path] != after[path]):
        raise UserError(
            f"stage {short(name)}: {', '.join(moved)} changed while it ran, so dvc.lock does not say what it read. "
            f"Run it again with `dvc repro -f -s {name}` when nobody edits these files."
        )


def verdict(place: Place, name: str) -> Path:
    """Where the stage's own command says how it ended (`nightgarden.stage.write_verdict`)."""
    return place.state / "verdicts" / f"{short(name).replace('@', '-')}.json"


def run_stage(place: Place, name: str, before: Mapping[str, str], say: Say) -> None:
    """Run one stage as a child `dvc repro -s` and turn its end into an exception, if it was not a good one.

    Args:
        place: the tree to run in.
        name: address of the stage.
        before: `input_hashes` of the stage now.
        say: takes every line that it prints.

    Raises:
        Refusal: the stage's own gate said no.
        UserError: the user's to repair, or an input changed meanwhile.
        LockBusy: another DVC process was in the way before the command ran.
        StageFailed: anything else.
    """
    told = verdict(place, name)
    told.unlink(missing_ok=True)
    code, output = relay(["repro", "-s", name], place, say)
    ending: dict[str, Any] = read_json(told, dict) if told.is_file() else {}
    if code == 0:
        refuse_drift(name, before, locked_hashes(place.root, name))
        return
    busy = any(words in output for words in LOCK_WORDS)
    if busy and ending.get("exit") == 0:
        commit_finished(place, name, before, say)
        return
    if ending.get("exit") == 3:
        raise Refusal(ending["reason"])
    if ending.get("exit") == 2:
        raise UserError(ending["reason"])
    if NO_SPACE in output:
        then = f"record what the stage finished with `dvc commit -f {name}`" if ending.get("exit") == 0 else "run it again"
        raise UserError(f"stage {short(name)}: the disk is full; what DVC wrote stands above. Free space, then {then}.")
    if busy:
        raise LockBusy(f"stage {short(name)}: {output.strip().splitlines()[-1]}")
    raise StageFailed(f"stage {short(name)} failed; what it printed stands above")


def commit_finished(place: Place, name: str, before: Mapping[str, str], say: Say) -> None:
    """Record a command that finished while another DVC process held the lock.

    DVC waits only 3 s for its lock after a command, then forgets the result; a plain rerun would delete the
    outputs and do hours of work again.

    Raises:
        UserError: an input changed since, or the lock stayed taken.
    """
    say(f"{short(name)} finished, but another DVC process holds the lock; waiting to record it")
    for wait in LOCK_WAITS_SECONDS:
        time.sleep(wait)
        try:
            with Repo(str(place.root)) as repo:
                (stage,) = collect_stages(repo, [str(place.root / name)])
                refuse_drift(name, before, input_hashes(stage))
        except LockError:
            continue
        code, output = relay(["commit", "-f", name], place, say)
        if code == 0:
            return
        if not any(words in output for words in LOCK_WORDS):
            break
    raise UserError(f"stage {short(name)} finished, but DVC could not record it. Run `dvc commit -f {name}` when DVC is idle.")


def _lock_was_busy(_task: object, _run: object, state: Any) -> bool:
    return isinstance(state.data, LockBusy)


@task(
    task_run_name="{label}",
    cache_policy=NO_CACHE,
    retries=len(LOCK_WAITS_SECONDS),
    retry_delay_seconds=list(LOCK_WAITS_SECONDS),
    retry_condition_fn=_lock_was_busy,
)
def stage_task(place: Place, name: str, label: str, before: dict[str, str]) -> None:
    """One stale stage. Only a busy lock is tried again, never a gate's refusal."""
    run_stage(place, name, before, logger().info)


@task(task_run_name="up to date", cache_policy=NO_CACHE)
def fresh_task(names: list[str]) -> None:
    """The stages that DVC found up to date share this one task (a task for each: 25 s for 32 stages)."""
    logger().info("%d stages were up to date: %s", len(names), ", ".join(names))


@dataclass
class Pipeline:
    """DVC's graph of one working tree, opened once."""

    place: Place
    repo: Repo
    definitions: dict[str, str]
    """sha256 of params.yaml and of every dvc.yaml when the graph was opened."""
    seen: set[str] = field(default_factory=set)

    def reproduce(self, *targets: str) -> list[str]:
        """Bring targets and everything upstream of them up to date.

        Args:
            targets: stage names or `FILE:NAME`, relative to the tree's root; none = the whole root dvc.yaml.

        Returns:
            Names of the stages that ran, in order.

        Raises:
            UserError: params.yaml or a dvc.yaml changed since the graph was opened, or see `run_stage`.
            Refusal: a gate's.
        """
        ran, fresh = [], []
        for stage in self._plan(targets or ("dvc.yaml",)):
            name = address(stage)
            self._refuse_edits()
            if self._is_stale(stage):
                stage_task(self.place, name, short(name), input_hashes(stage))
                ran.append(short(name))
            else:
                fresh.append(short(name))
            self.seen.add(name)
        self._refuse_edits()
        if fresh:
            fresh_task(fresh)
        return ran

    def _plan(self, targets: Iterable[str]) -> list[Stage]:
        absolute = [str(self.place.root / (target if ".yaml" in target else f"dvc.yaml:{target}")) for target in targets]
        wanted = collect_stages(self.repo, absolute)
        order = plan_repro(get_active_graph(self.repo.index.graph), wanted)
        return [stage for stage in order if address(stage) not in self.seen]

    def _is_stale(self, stage: Stage) -> bool:
        """DVC's answer at this moment: only now does it see what earlier stages of this run have changed."""
        for wait in (*LOCK_WAITS_SECONDS, None):
            try:
                with self.repo.lock:
                    return bool(stage.changed())
            except LockError:
                if wait is None:
                    raise
                logger().info("%s: another DVC process holds its files; asking again in %d s", address(stage), wait)
                time.sleep(wait)
        raise AssertionError("unreachable")

    def _refuse_edits(self) -> None:
        now = definitions(self.place.root, self.definitions)
        if moved := sorted(path for path in self.definitions if now[path] != self.definitions[path]):
            raise UserError(
                f"{', '.join(moved)} changed while the run was under way; it stopped so that no two stages see "
                "different settings. Start it again: what is done stays done."
            )


def definitions(root: Path, names: Iterable[str]) -> dict[str, str]:
    """sha256 of files below root; `gone` for a missing one."""
    paths = {name: root / name for name in names}
    return {name: hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "gone" for name, path in paths.items()}


@contextmanager
def pipeline(place: Place) -> Iterator[Pipeline]:
    """Open DVC's graph of a tree, once for a whole run.

    Raises:
        UserError: params.yaml is not valid; checked before any DVC call, because DVC hands keys to a shell.
    """
    params.load(place.root / "params.yaml")
    logging.getLogger("dvc").setLevel(logging.WARNING)
    with Repo(str(place.root)) as repo:
        files = {stage.path_in_repo for stage in repo.index.graph if stage.path_in_repo.endswith(".yaml")}
        yield Pipeline(place, repo, definitions(place.root, sorted(files | {"params.yaml"})))
