"""Spool first, send later, never twice: on a real SQLite store and a real dead server."""

import socket
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

from nightgarden import tracking
from nightgarden.errors import UserError

START = datetime(2026, 9, 19, 1, 10, tzinfo=UTC)


def run_of(stage: str, rows: int = 5) -> tracking.StageRun:
    return tracking.StageRun(
        stage=stage,
        experiment="curation",
        fingerprint="f" * 64,
        commit="c" * 40,
        flow_run_id=None,
        started=START,
        ended=START + timedelta(seconds=2),
        report={"rows": rows, "verdict": "passed"},
    )


@pytest.fixture
def store(tmp_path: Path) -> str:
    uri = tracking.local_uri(tmp_path)
    tracking.init(tmp_path, uri)
    return uri


def runs(uri: str, experiment: str) -> list:
    client = MlflowClient(uri)
    return client.search_runs([client.get_experiment_by_name(experiment).experiment_id])


def test_a_spooled_run_arrives_whole_and_leaves_the_spool(tmp_path: Path, store: str) -> None:
    tracking.log_stage(run_of("ingest"), tmp_path)
    assert tracking.sync(tmp_path, store) == (1, 0)
    (run,) = runs(store, "curation")
    assert run.data.metrics["rows"] == 5 and run.data.metrics["time_stage_seconds"] == 2
    assert run.data.params["verdict"] == "passed"
    assert run.data.tags["stage"] == "ingest" and run.data.tags["git_commit"] == "c" * 40
    assert run.info.status == "FINISHED" and run.info.start_time == tracking.milliseconds(START)


def test_a_second_sync_adds_nothing(tmp_path: Path, store: str) -> None:
    tracking.log_stage(run_of("ingest"), tmp_path)
    tracking.sync(tmp_path, store)
    tracking.log_stage(run_of("ingest"), tmp_path)
    tracking.sync(tmp_path, store)
    assert len(runs(store, "curation")) == 1
    assert tracking.sync(tmp_path, store) == (0, 0)


def test_a_dead_server_costs_a_message_and_the_run_waits(tmp_path: Path, store: str, caplog: pytest.LogCaptureFixture) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{probe.getsockname()[1]}"
    tracking.log_stage(run_of("ingest"), tmp_path)
    assert tracking.sync(tmp_path, dead) == (0, 1)
    assert "1 runs wait" in caplog.text and "tracking sync" in caplog.text
    assert tracking.sync(tmp_path, store) == (1, 0)


def test_a_store_that_was_never_made_is_not_made_by_a_stage(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tracking.log_stage(run_of("ingest"), tmp_path)
    assert tracking.sync(tmp_path, tracking.local_uri(tmp_path)) == (0, 1)
    assert "tracking init" in caplog.text
    assert not (tmp_path / "mlflow.db").exists()


def test_making_the_store_at_a_dead_server_is_refused_with_the_next_step(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="make up"):
        tracking.init(tmp_path, "http://127.0.0.1:9")


def test_the_histories_are_charts_over_night_number(tmp_path: Path, store: str) -> None:
    for number, trust in enumerate([0.0, 0.31, 0.28], 1):
        at = START + timedelta(days=number)
        for _ in range(2):
            tracking.log_night("", at.date().isoformat(), number, at, {"trust/importance": trust}, tmp_path)
            tracking.sync(tmp_path, store)
    (run,) = runs(store, "nights")
    points = MlflowClient(store).get_metric_history(run.info.run_id, "trust/importance")
    assert [(point.step, point.value) for point in points] == [(1, 0.0), (2, 0.31), (3, 0.28)]
    assert run.info.status == "RUNNING"


def test_the_nights_of_a_worktree_are_charts_of_their_own(tmp_path: Path, store: str) -> None:
    for tree, trust in (("", 0.3), ("demo-1", 0.5)):
        tracking.log_night(tree, "2026-09-18", 1, START, {"trust/importance": trust}, tmp_path)
    assert tracking.sync(tmp_path, store) == (2, 0)
    charts = {run.info.run_name: run.data.metrics["trust/importance"] for run in runs(store, "nights")}
    assert charts == {"trust-history": 0.3, "trust-history demo-1": 0.5}


def test_a_broken_store_costs_a_message_and_the_run_waits(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "mlflow.db").write_bytes(b"this is no database " * 200)
    tracking.log_stage(run_of("ingest"), tmp_path)
    assert tracking.sync(tmp_path, tracking.local_uri(tmp_path)) == (0, 1)
    assert "1 runs wait" in caplog.text


def test_a_damaged_spool_file_is_set_aside_and_the_others_are_sent(
    tmp_path: Path, store: str, caplog: pytest.LogCaptureFixture
) -> None:
    damaged = tmp_path / "spool/waiting/0-damaged.json"
    tracking.log_stage(run_of("ingest"), tmp_path)
    damaged.write_text('{"key": "ing')
    assert tracking.sync(tmp_path, store) == (1, 0)
    assert (tmp_path / "spool/bad/0-damaged.json").read_text() == '{"key": "ing' and "set aside" in caplog.text


def test_a_run_whose_page_is_gone_is_sent_without_it(tmp_path: Path, store: str, caplog: pytest.LogCaptureFixture) -> None:
    gone = tmp_path / "report.html"
    tracking.log_stage(tracking.StageRun(**{**run_of("evaluate").__dict__, "artifacts": (gone,)}), tmp_path)
    assert tracking.sync(tmp_path, store) == (1, 0)
    assert f"{gone} is gone" in caplog.text and len(runs(store, "curation")) == 1


def test_a_curve_and_its_page_come_along(tmp_path: Path, store: str) -> None:
    curve, page = tmp_path / "loss.json", tmp_path / "report.html"
    curve.write_text('[{"step": 1, "loss": 3.5}, {"step": 2, "loss": 3.1}]')
    page.write_text("<p>hello</p>")
    run = run_of("train")
    tracking.log_stage(tracking.StageRun(**{**run.__dict__, "curve": curve, "artifacts": (page,)}), tmp_path)
    tracking.sync(tmp_path, store)
    (sent,) = runs(store, "curation")
    client = MlflowClient(store)
    assert [point.value for point in client.get_metric_history(sent.info.run_id, "curve/loss")] == [3.5, 3.1]
    assert [item.path for item in client.list_artifacts(sent.info.run_id)] == ["report.html"]


def test_a_table_is_one_that_mlflow_loads(tmp_path: Path, store: str) -> None:
    import mlflow

    (tmp_path / "table.json").write_text('{"columns": ["prompt", "reply"], "data": [["p-1", "It is in the cellar."]]}')
    (tmp_path / "report.html").write_text("<p>page</p>")
    made = replace(run_of("evaluate"), experiment="evaluation", artifacts=(tmp_path / "report.html", tmp_path / "table.json"))
    tracking.log_stage(made, tmp_path)
    assert tracking.sync(tmp_path, store) == (1, 0)
    (run,) = runs(store, "evaluation")
    assert run.data.tags["mlflow.loggedArtifacts"] == '[{"path": "table.json", "type": "table"}]'
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(store)
    loaded = MlflowClient(store).load_table(run.info.experiment_id, "table.json", run_ids=[run.info.run_id])
    mlflow.set_tracking_uri(before)
    assert loaded.to_dict("records") == [{"prompt": "p-1", "reply": "It is in the cellar."}]
