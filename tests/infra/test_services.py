"""`make up` and `make down` for real, on a miniature: services, deployments, a run through the UI's API, clean ends."""

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import psutil
import pytest

from infra import services
from infra.settings import Settings, dotenv, load
from nightgarden.errors import UserError
from nightgarden.jsonl import write_json
from nightgarden.loopback import opener
from nightgarden.stage import Place
from tests.miniature import ROOT, git


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def settings(root: Path, **more: str) -> Settings:
    """Settings on free ports, as if nothing was set outside."""
    names = ("NIGHTGARDEN_PREFECT_PORT", "NIGHTGARDEN_WORKER_PORT", "NIGHTGARDEN_MLFLOW_PORT")
    outside = {key: value for key, value in os.environ.items() if not key.startswith(("PREFECT", "MLFLOW", "NIGHTGARDEN"))}
    return load(root, outside | {name: str(free_port()) for name in names} | more)


def api(place: Settings, path: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    told = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{place.prefect_url}/api/{path}", data=data, headers=told)  # noqa: S310
    with opener(place.prefect_url).open(request, timeout=10) as answer:
        return json.load(answer)


def run(place: Settings, deployment: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Start a deployment as the UI does, and wait for its end."""
    found = api(place, f"deployments/name/{deployment}")
    made = api(place, f"deployments/{found['id']}/create_flow_run", {"parameters": parameters, "state": {"type": "SCHEDULED"}})
    for _ in range(600):
        now: dict[str, Any] = api(place, f"flow_runs/{made['id']}")
        if now["state"]["type"] in {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}:
            return now
        time.sleep(0.2)
    raise AssertionError(f"the run never ended: {now['state']}")


def test_up_runs_flows_from_the_api_again_is_harmless_and_down_leaves_nothing(
    made: Place, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("nightgarden", "tasks", "flows", "infra"):
        shutil.copytree(ROOT / folder, made.root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    git(made.root, "add", "-A")
    git(made.root, "commit", "-q", "-m", "With flows")
    # A proxy that nobody answers at: no server of this machine may be asked through it.
    place = settings(made.root, HTTP_PROXY="http://127.0.0.1:9", http_proxy="http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    try:
        services.up(place)
        before = {name: services.running(place.state, name).pid for name in ("prefect", "worker", "mlflow")}
        services.up(place)
        assert {name: services.running(place.state, name).pid for name in before} == before
        assert capsys.readouterr().out.count("already runs") == 3

        form = api(place, "deployments/name/train-adapter/local")["parameter_openapi_schema"]["definitions"]["TrainingForm"]
        assert form["properties"]["rank"]["description"] == "Now 16. LoRA rank. Empty = as in params.yaml (training.rank)."
        with pytest.raises(urllib.error.HTTPError) as refused:
            run(place, "train-adapter/local", {"overrides": {"rank": "4; touch X"}})
        assert refused.value.code == 409 and b"rank" in refused.value.read()

        ended = run(place, "train-adapter/local", {"overrides": {"rank": 4}})
        assert ended["state"]["type"] == "COMPLETED", ended["state"]["message"]
        (tree,) = (place.state / "runs").iterdir()
        assert json.loads((tree / "reports/training.json").read_text())["rank"] == 4
        assert git(made.root, "status", "--porcelain") == ""
    finally:
        services.down(place)
    for service in services.services(place):
        assert not services.port_taken(service.port) and not services.pid_file(place.state, service.name).exists()
    assert not [pid for pid in before.values() if psutil.pid_exists(pid)]


def test_a_taken_port_is_named_with_its_holder_before_anything_starts(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        place = settings(tmp_path, NIGHTGARDEN_MLFLOW_PORT=str(other.getsockname()[1]))
        with pytest.raises(UserError, match=rf"port \d+ for mlflow is taken by .*{os.getpid()}.*NIGHTGARDEN_MLFLOW_PORT"):
            services.up(place)
    assert not place.state.exists()


def test_a_service_that_dies_shows_the_end_of_its_log(tmp_path: Path) -> None:
    place = settings(tmp_path)
    broken = services.Service(name="x", command=("no_such_module",), port=1, health="http://127.0.0.1:1/", variable="X")
    services.start(broken, place)
    with pytest.raises(UserError, match="No module named no_such_module"):
        services.wait(broken, place)


def test_a_pid_that_belongs_to_another_program_now_is_never_taken_for_ours(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        try:
            born = psutil.Process(other.pid).create_time()
            write_json(services.pid_file(tmp_path, "prefect"), {"pid": other.pid, "born": born})
            assert services.running(tmp_path, "prefect").pid == other.pid
            write_json(services.pid_file(tmp_path, "prefect"), {"pid": other.pid, "born": born - 60})
            assert services.running(tmp_path, "prefect") is None
        finally:
            other.kill()


@pytest.mark.parametrize("port", ["http", "0", "65536", "-1"])
def test_a_port_that_is_none_is_refused(tmp_path: Path, port: str) -> None:
    with pytest.raises(UserError, match="give a port number"):
        load(tmp_path, {"NIGHTGARDEN_PREFECT_PORT": port})


def test_the_environment_goes_before_dotenv_and_that_before_the_defaults(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("# ports\nexport NIGHTGARDEN_PREFECT_PORT=4300\nNIGHTGARDEN_MLFLOW_PORT='5100'\n")
    assert dotenv(tmp_path / ".env") == {"NIGHTGARDEN_PREFECT_PORT": "4300", "NIGHTGARDEN_MLFLOW_PORT": "5100"}
    place = load(tmp_path, {"NIGHTGARDEN_MLFLOW_PORT": "5200"})
    assert (place.prefect_port, place.worker_port, place.mlflow_port) == (4300, 4201, 5200)
