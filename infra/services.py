"""`make up` and `make down`: Prefect server, a worker with every deployment, MLflow server, on 127.0.0.1.

Each service is waited for by its health URL and stopped by its pid; a second `make up` starts only what is
missing. Knows nothing of what the flows do.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from infra.settings import START_SECONDS, Settings, load
from nightgarden.errors import UserError
from nightgarden.jsonl import read_json, write_json
from nightgarden.loopback import opener
from nightgarden.tracking import local_uri

POOL = "nightgarden"
STOP_SECONDS = 15


@dataclass(frozen=True, kw_only=True)
class Service:
    """One long-lived process."""

    name: str
    command: tuple[str, ...]
    """Arguments after `python -m`."""
    port: int
    health: str
    """URL that answers 200 once the service is ready."""
    variable: str
    """Environment variable that moves the port."""


def services(settings: Settings) -> tuple[Service, ...]:
    """The three services in the order in which they start: MLflow comes up while Prefect does, the worker needs Prefect."""
    at = ("--host", "127.0.0.1", "--port")
    uri = local_uri(settings.state)
    store = ("--backend-store-uri", uri, "--artifacts-destination", str(settings.state / "mlartifacts"))
    # One run at a time: flows share the checkout, DVC's locks and the GPU.
    worker = ("prefect", "worker", "start", "--pool", POOL, "--type", "process", "--limit", "1", "--with-healthcheck")
    return (
        Service(
            name="prefect",
            command=("prefect", "server", "start", *at, str(settings.prefect_port)),
            port=settings.prefect_port,
            health=f"{settings.prefect_url}/api/health",
            variable="NIGHTGARDEN_PREFECT_PORT",
        ),
        Service(
            name="mlflow",
            # One process is enough for one person; the usual four cost 10 s of CPU at every start.
            command=("mlflow", "server", *at, str(settings.mlflow_port), *store, "--workers", "1"),
            port=settings.mlflow_port,
            health=f"{settings.mlflow_url}/health",
            variable="NIGHTGARDEN_MLFLOW_PORT",
        ),
        Service(
            name="worker",
            command=worker,
            port=settings.worker_port,
            health=f"http://127.0.0.1:{settings.worker_port}/health",
            variable="NIGHTGARDEN_WORKER_PORT",
        ),
    )


def environment(settings: Settings) -> dict[str, str]:
    """What the services and what they start need to find each other."""
    return dict(settings.told) | {
        "PREFECT_API_URL": f"{settings.prefect_url}/api",
        "PREFECT_WORKER_QUERY_SECONDS": "2",
        "PREFECT_WORKER_WEBSERVER_HOST": "127.0.0.1",
        "PREFECT_WORKER_WEBSERVER_PORT": str(settings.worker_port),
    }


def up(settings: Settings) -> None:
    """Start what does not run yet, wait until all of it answers, register the deployments.

    Raises:
        UserError: a port is taken by another program, or a service did not come up.
    """
    wanted = services(settings)
    for service in wanted:
        if not running(settings.state, service.name) and port_taken(service.port):
            raise UserError(
                f"port {service.port} for {service.name} is taken by {holder(service.port)}. "
                f"Stop that program, or give another port: {service.variable}=... make up"
            )
    settings.state.mkdir(parents=True, exist_ok=True)
    prepare(settings)
    old = {service.name for service in wanted if running(settings.state, service.name)}
    for service in wanted:
        if service.name == "worker":  # it ends at once if Prefect does not answer (prefect#22638)
            wait(wanted[0], settings)
        if service.name not in old:
            start(service, settings)
    for service in wanted:
        wait(service, settings)
        print(f"{service.name}: {'already runs' if service.name in old else 'started'}, {service.health}", flush=True)
    child(settings, "infra.deployments")
    print(f"\nPrefect UI   {settings.prefect_url}\nMLflow UI    {settings.mlflow_url}\nlogs         {settings.state}/logs")
    print(f"from a shell  export PREFECT_API_URL={settings.prefect_url}/api")
    print("              prefect deployment run build-adapter/local")


def prepare(settings: Settings) -> None:
    """Bring existing databases to this version's schema, and make the tracking store if there is none."""
    if (settings.state / "prefect" / "prefect.db").is_file() and not running(settings.state, "prefect"):
        child(settings, "prefect", "server", "database", "upgrade", "-y")
    if not (settings.state / "mlflow.db").is_file():
        child(settings, "nightgarden", "tracking", "init", extra={"MLFLOW_TRACKING_URI": ""})


def child(settings: Settings, *command: str, extra: dict[str, str] | None = None) -> None:
    """Run `python -m COMMAND` to its end; its output is shown only if it fails.

    Raises:
        UserError: it failed.
    """
    told = environment(settings) | (extra or {})
    line = [sys.executable, "-m", *command]
    answer = subprocess.run(line, cwd=settings.root, env=told, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise UserError(f"`python -m {' '.join(command)}` failed:\n{(answer.stdout + answer.stderr).strip()[-2000:]}")


def start(service: Service, settings: Settings) -> None:
    """Start a service in a session of its own, its output in the state folder, its pid beside it."""
    path = settings.state / "logs" / f"{service.name}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    # A child of a background shell ignores SIGINT, which Prefect turns SIGTERM into; a new session does not.
    with path.open("a") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *service.command],
            cwd=settings.root,
            env=environment(settings),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    write_json(pid_file(settings.state, service.name), {"pid": process.pid, "born": psutil.Process(process.pid).create_time()})


def wait(service: Service, settings: Settings) -> None:
    """Wait until the service answers.

    Raises:
        UserError: it ended, or did not answer in time; shows the end of its log.
    """
    deadline = time.monotonic() + START_SECONDS
    while not answers(service.health):
        if not running(settings.state, service.name) or time.monotonic() > deadline:
            path = settings.state / "logs" / f"{service.name}.log"
            end = "\n".join(path.read_text(errors="replace").splitlines()[-15:])
            raise UserError(f"{service.name} did not come up. The end of {path}:\n{end}\nRepair that, then `make up` again.")
        time.sleep(0.3)


def answers(url: str) -> bool:
    """Whether a health URL says yes."""
    try:
        with opener(url).open(url, timeout=3) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def pid_file(state: Path, name: str) -> Path:
    """Where a service's pid stands."""
    return state / "services" / f"{name}.json"


def running(state: Path, name: str) -> psutil.Process | None:
    """The process that an earlier `make up` started, if it still lives; a pid that was given to another program is none."""
    path = pid_file(state, name)
    if not path.is_file():
        return None
    told: dict[str, float] = read_json(path, dict[str, float])
    try:
        process = psutil.Process(int(told["pid"]))
        alive = abs(process.create_time() - told["born"]) < 1 and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return None
    return process if alive else None


def port_taken(port: int) -> bool:
    """Whether something listens there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


def holder(port: int) -> str:
    """The program that listens on a port, as far as this user may know."""
    for process in psutil.process_iter():
        try:
            if any(one.laddr and one.laddr.port == port and one.status == "LISTEN" for one in process.net_connections()):
                return f"{process.name()} (pid {process.pid})"
        except psutil.Error:
            continue
    return "another program"


def down(settings: Settings) -> None:
    """Stop what `up` started, the last one first, with everything that it started."""
    for service in reversed(services(settings)):
        process = running(settings.state, service.name)
        if process:
            stop(process)
            print(f"{service.name}: stopped")
        pid_file(settings.state, service.name).unlink(missing_ok=True)


def stop(process: psutil.Process) -> None:
    """End a service's whole session: asked first, then made to."""
    for order in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, order)
            process.wait(STOP_SECONDS)
        except (ProcessLookupError, psutil.NoSuchProcess):
            return
        except psutil.TimeoutExpired:
            continue
        return


def main() -> int:
    """`python -m infra.services up|down`."""
    orders = {"up": up, "down": down}
    if sys.argv[1:] not in (["up"], ["down"]):
        print("usage: python -m infra.services up|down", file=sys.stderr)
        return 2
    try:
        orders[sys.argv[1]](load(Path.cwd()))
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
