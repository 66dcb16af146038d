"""The only file that knows MLflow: spool first, then send, never raise into a stage.

The truth of every number is a file under DVC; MLflow is a view that can be rebuilt. A run waits in
the spool as one JSON file until it was sent; timestamps are the event's own, so sending twice adds
nothing. An unreachable server costs one message.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from nightgarden.digests import content_id
from nightgarden.errors import UserError
from nightgarden.jsonl import read_json, write_json
from nightgarden.loopback import opener

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

log = logging.getLogger(__name__)

EXPERIMENTS: tuple[str, ...] = ("curation", "training", "evaluation", "nights")

Number = float | int


class Point(msgspec.Struct, frozen=True):
    """One metric value at one step."""

    key: str
    value: float
    step: int = 0


class SpooledRun(msgspec.Struct, frozen=True, kw_only=True):
    """What waits to be sent; `key` names the MLflow run, so that sending it again finds the same one."""

    key: str
    experiment: str
    name: str
    started_ms: int
    ended_ms: int
    tags: dict[str, str]
    params: dict[str, str]
    points: list[Point]
    artifacts: list[str] = []
    open: bool = False
    """True for a run that goes on over many nights: it is never ended."""


@dataclass(frozen=True, kw_only=True)
class StageRun:
    """One finished stage, as `stage.run` hands it over."""

    stage: str
    experiment: str
    fingerprint: str
    commit: str
    flow_run_id: str | None
    started: datetime
    ended: datetime
    report: Mapping[str, Number | str]
    curve: Path | None = None
    artifacts: tuple[Path, ...] = ()


def milliseconds(moment: datetime) -> int:
    """Unix time in whole milliseconds."""
    return int(moment.timestamp() * 1000)


def spool(run: SpooledRun, state: Path) -> Path:
    """Put a run into the spool, atomically."""
    path = state / "spool" / "waiting" / f"{run.started_ms}-{content_id(run)}.json"
    write_json(path, run)
    return path


def log_stage(run: StageRun, state: Path) -> None:
    """Spool a stage's numbers as metrics and its words as params."""
    numbers = {key: float(value) for key, value in run.report.items() if not isinstance(value, str)}
    started, ended = milliseconds(run.started), milliseconds(run.ended)
    spool(
        SpooledRun(
            key=f"{run.stage}/{run.fingerprint[:16]}/{started}",
            experiment=run.experiment,
            name=run.stage,
            started_ms=started,
            ended_ms=ended,
            tags={
                "stage": run.stage,
                "fingerprint": run.fingerprint,
                "git_commit": run.commit,
                "flow_run_id": run.flow_run_id or "none",
                **_tables(run.artifacts),
            },
            params={key: value for key, value in run.report.items() if isinstance(value, str)},
            points=[Point(key, value) for key, value in sorted(numbers.items())]
            + [Point("time_stage_seconds", (ended - started) / 1000)]
            + (_curve_points(run.curve) if run.curve else []),
            artifacts=[str(path.resolve()) for path in run.artifacts],
        ),
        state,
    )


def _tables(artifacts: Iterable[Path]) -> dict[str, str]:
    """The tag by which MLflow's UI and `load_table` know which artifacts are tables; its own `log_table` sets the same."""
    known = [{"path": path.name, "type": "table"} for path in artifacts if path.name == "table.json"]
    return {"mlflow.loggedArtifacts": json.dumps(known)} if known else {}


def _curve_points(path: Path) -> list[Point]:
    """A JSON list of {"step": n, name: value ...} as points."""
    rows: list[dict[str, float]] = read_json(path, list[dict[str, float]])
    return [Point(f"curve/{key}", float(value), int(row["step"])) for row in rows for key, value in row.items() if key != "step"]


def log_night(tree: str, night: str, number: int, at: datetime, values: Mapping[str, float], state: Path) -> None:
    """Spool one night's skill and trust into its tree's long-lived run, whose charts go over night number.

    Args:
        tree: the worktree that the night ran in; empty for the checkout. Trees share one store, and the first
            night of two trees in one chart would be two points at step 1.
        night: date of the night, YYYY-MM-DD.
        number: 1 for the first night; the step of every point.
        at: the night's own moment: a second sync then adds no second point.
        values: metric name (`trust/reaction`, `skill/reaction` ...) to value.
        state: the state folder.
    """
    moment, name = milliseconds(at), f"trust-history {tree}".strip()
    spool(
        SpooledRun(
            key=name,
            experiment="nights",
            name=name,
            started_ms=moment,
            ended_ms=moment,
            tags={"last_night": night},
            params={},
            points=[Point(key, value, number) for key, value in sorted(values.items())],
            open=True,
        ),
        state,
    )


def local_uri(state: Path) -> str:
    """Absolute URI of the local store; MLflow's own default depends on the working directory."""
    return f"sqlite:///{(state / 'mlflow.db').resolve()}"


def _client(uri: str) -> MlflowClient:
    # By default the first call to a dead server blocks for 245 s (7 retries, measured on 3.17.2).
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "10")
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    from mlflow.tracking import MlflowClient

    return MlflowClient(tracking_uri=uri)


def init(state: Path, uri: str) -> None:
    """Make the store and the experiments, once, from one process.

    Four processes that first use a fresh SQLite store at the same time kill three of them
    ("duplicate column name", measured on 3.17.2): stages therefore never create it.

    Raises:
        UserError: a configured server does not answer.
    """
    if reason := _unreachable(uri, creating=True):
        raise UserError(f"MLflow at {uri}: {reason}. Start it with `make up`, or unset MLFLOW_TRACKING_URI for the local store.")
    state.mkdir(parents=True, exist_ok=True)
    client = _client(uri)
    for name in EXPERIMENTS:
        if client.get_experiment_by_name(name) is None:
            place = f"file://{(state / 'mlartifacts').resolve()}/{name}" if uri.startswith("sqlite") else None
            client.create_experiment(name, artifact_location=place)


def _unreachable(uri: str, creating: bool = False) -> str | None:
    """Why the store cannot be used now, or None."""
    if uri.startswith("sqlite:///"):
        path = Path(uri.removeprefix("sqlite:///"))
        return None if creating or path.is_file() else f"no store at {path}; make it with `python -m nightgarden tracking init`"
    try:
        with opener(uri).open(f"{uri.rstrip('/')}/health", timeout=5):
            return None
    except (OSError, ValueError) as error:
        return f"no answer ({error})"


def sync(state: Path, uri: str) -> tuple[int, int]:
    """Send what waits in the spool.

    Returns:
        (runs sent, runs still waiting). Never raises for a store that is unreachable or broken: it says so and
        keeps the spool. A spool file that cannot be decoded is set aside in `spool/bad`.
    """
    waiting = sorted((state / "spool" / "waiting").glob("*.json"))
    if not waiting:
        return 0, 0
    if reason := _unreachable(uri):
        log.warning(
            "tracking: %s: %s. %d runs wait in %s; send them later with `python -m nightgarden tracking sync`.",
            uri,
            reason,
            len(waiting),
            state / "spool",
        )
        return 0, len(waiting)
    runs = [(path, run) for path in waiting if (run := _decoded(path))]
    sent = 0
    try:
        client = _client(uri)
    except _failures() as error:
        log.warning("tracking: %s: %s. %d runs wait in %s.", uri, error, len(runs), state / "spool")
        return 0, len(runs)
    for path, run in runs:
        try:
            _send(client, run)
            _move(path, "sent")
        except _failures() as error:
            log.warning("tracking: %s while sending %s; it stays in the spool for the next sync", error, path.name)
            continue
        sent += 1
    return sent, len(runs) - sent


def _failures() -> tuple[type[Exception], ...]:
    """What a store that is unreachable, broken or full raises: MLflow lets SQLAlchemy's own errors through."""
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    return MlflowException, SQLAlchemyError, OSError


def _decoded(path: Path) -> SpooledRun | None:
    """A waiting run; None if another sync took it meanwhile, or if it is damaged and was set aside."""
    try:
        run: SpooledRun = read_json(path, SpooledRun)
    except UserError as error:
        if path.exists():
            log.warning("tracking: %s It was set aside in %s.", error, _move(path, "bad"))
        return None
    return run


def _move(path: Path, folder: str) -> Path:
    """Move a waiting run to another folder of the spool."""
    target = path.parents[1] / folder / path.name
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():  # else another sync sent the same run, which adds nothing
        path.replace(target)
    return target


def _send(client: MlflowClient, run: SpooledRun) -> None:
    """One spooled run into MLflow; the run id is always explicit (the active run is thread-local)."""
    from mlflow.entities import Metric, Param, RunTag

    experiment = client.get_experiment_by_name(run.experiment)
    experiment_id = client.create_experiment(run.experiment) if experiment is None else experiment.experiment_id
    target = _find(client, experiment_id, run.key) or client.create_run(
        experiment_id, start_time=run.started_ms, run_name=run.name, tags={"nightgarden.key": run.key}
    )
    run_id = target.info.run_id
    client.log_batch(
        run_id,
        metrics=[Metric(point.key, point.value, run.ended_ms, point.step) for point in run.points],
        params=[Param(key, value[:6000]) for key, value in run.params.items()],
        tags=[RunTag(key, value) for key, value in run.tags.items()],
    )
    for artifact in run.artifacts:
        if Path(artifact).is_file():
            client.log_artifact(run_id, artifact)
        else:
            log.warning("tracking: %s is gone; run %s is sent without it", artifact, run.key)
    if not run.open:
        client.set_terminated(run_id, "FINISHED", run.ended_ms)


def _find(client: MlflowClient, experiment_id: str, key: str) -> Run | None:
    found = client.search_runs([experiment_id], f"tags.`nightgarden.key` = '{key}'", max_results=1)
    return found[0] if found else None
