"""What the environment says about ports and folders, for every service and for the demo.

The process's own environment goes before `.env`; both before the defaults.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nightgarden.errors import UserError
from nightgarden.loopback import no_proxy

START_SECONDS = 120
"""How long a service may take to answer: on two loaded cores MLflow took 43 s, Prefect 16 s."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One set of services: one checkout, one state folder, three ports on 127.0.0.1."""

    root: Path
    state: Path
    prefect_port: int
    worker_port: int
    """Where the worker answers that it is well."""
    mlflow_port: int
    told: Mapping[str, str]
    """The environment that children get."""

    @property
    def prefect_url(self) -> str:
        """The page for a person."""
        return f"http://127.0.0.1:{self.prefect_port}"

    @property
    def mlflow_url(self) -> str:
        """The page for a person."""
        return f"http://127.0.0.1:{self.mlflow_port}"


def load(root: Path, environ: Mapping[str, str] = os.environ) -> Settings:
    """Settings of the checkout at `root`.

    Raises:
        UserError: a port that is none.
    """
    told = dotenv(root / ".env") | dict(environ)
    state = Path(told.get("NIGHTGARDEN_STATE") or root / ".nightgarden").resolve()
    return Settings(
        root=root,
        state=state,
        prefect_port=_port(told, "NIGHTGARDEN_PREFECT_PORT", 4200),
        worker_port=_port(told, "NIGHTGARDEN_WORKER_PORT", 4201),
        mlflow_port=_port(told, "NIGHTGARDEN_MLFLOW_PORT", 5000),
        told=told | quiet(state) | no_proxy(told),
    )


def quiet(state: Path) -> dict[str, str]:
    """Environment of every child: our interpreter first, Prefect at home in the state folder, nobody told anything."""
    return {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "NIGHTGARDEN_STATE": str(state),
        "PREFECT_HOME": str(state / "prefect"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        "PREFECT_CLI_PROMPT": "false",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        "DO_NOT_TRACK": "1",
    }


def dotenv(path: Path) -> dict[str, str]:
    """KEY=VALUE lines of a file; none where it does not exist."""
    lines = path.read_text().splitlines() if path.is_file() else []
    pairs = [line.removeprefix("export ").split("=", 1) for line in lines if "=" in line and not line.lstrip().startswith("#")]
    return {key.strip(): value.strip().strip("'\"") for key, value in pairs}


def _port(told: Mapping[str, str], name: str, usual: int) -> int:
    text = told.get(name) or str(usual)
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise UserError(f"got {name}={text!r}; give a port number from 1 to 65535")
    return int(text)
