"""Every flow as a deployment of the local worker, its form showing what params.yaml says now.

`make up` registers them anew each time, so the values in the forms are those of that moment.
"""

from __future__ import annotations

import os
import sys
from functools import reduce
from pathlib import Path
from typing import Any

from prefect import Flow
from prefect.deployments.runner import RunnerDeployment
from prefect.schedules import Cron, Schedule
from prefect.types.entrypoint import EntrypointType

from flows.build_adapter import build_adapter
from flows.curate_dataset import curate_dataset
from flows.evaluate_adapter import evaluate_adapter
from flows.nightly_distillation import nightly_distillation
from flows.train_adapter import train_adapter
from infra.services import POOL
from nightgarden import params
from nightgarden.errors import UserError
from nightgarden.params import Window

NAME = "local"
FLOWS: tuple[Flow[..., Any], ...] = (curate_dataset, train_adapter, evaluate_adapter, build_adapter, nightly_distillation)


def nightly(window: Window) -> Schedule:
    """Once a night when the window opens; off until somebody turns it on, because days do not come by themselves yet."""
    hour, minute = window.start.split(":")
    return Cron(f"{int(minute)} {int(hour)} * * *", timezone=window.zone, active=False)


def deployment(flow: Flow[..., Any], root: Path, settings: dict[str, Any], schedule: Schedule | None) -> RunnerDeployment:
    """One flow, to be run by the local worker from the checkout at `root`."""
    made = RunnerDeployment.from_flow(
        flow,
        name=NAME,
        schedules=[schedule] if schedule else None,
        work_pool_name=POOL,
        job_variables={"working_dir": str(root)},
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    schema = made._parameter_openapi_schema
    show_current(schema.definitions, settings)
    return made


def show_current(definitions: dict[str, Any], settings: dict[str, Any]) -> None:
    """Write the current value of every setting into its field's description.

    Args:
        definitions: JSON schemas of the forms, changed in place.
        settings: the parsed params.yaml.
    """
    for form in definitions.values():
        for field in form.get("properties", {}).values():
            if path := field.get("setting"):
                now = reduce(lambda section, part: section[part], path.split("."), settings)
                field["description"] = f"Now {'all' if now is None else now}. {field['description']}"


def register(root: Path) -> None:
    """Tell the Prefect server of every flow.

    Raises:
        UserError: params.yaml is not valid.
    """
    loaded = params.load(root / "params.yaml")
    settings = loaded.model_dump(mode="json", by_alias=True)
    for flow in FLOWS:
        schedule = nightly(loaded.night.window) if flow is nightly_distillation else None
        deployment(flow, root, settings, schedule).apply()


def main() -> int:
    """`python -m infra.deployments`, against the server in PREFECT_API_URL."""
    if not os.environ.get("PREFECT_API_URL"):
        print("PREFECT_API_URL is not set; `make up` starts a server and registers the flows", file=sys.stderr)
        return 2
    try:
        register(Path.cwd())
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
