"""What the commands share: the place that the environment describes, exits, and how an answer is printed.

The only place in the library that reads the environment.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from nightgarden import params as params_module
from nightgarden.errors import Refusal, UserError
from nightgarden.jsonl import encode
from nightgarden.params import Params
from nightgarden.stage import Job, Place, Report, guarded
from nightgarden.stages import STAGES, Stage
from nightgarden.tracking import local_uri

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def here() -> Place:
    """The place that the environment describes: this working tree, its state folder, its MLflow."""
    root = Path.cwd()
    state = Path(os.environ.get("NIGHTGARDEN_STATE") or root / ".nightgarden").resolve()
    return Place(
        root=root,
        state=state,
        tracking_uri=os.environ.get("MLFLOW_TRACKING_URI") or local_uri(state),
        flow_run_id=os.environ.get("NIGHTGARDEN_FLOW_RUN_ID"),
        server_url=os.environ.get("OPENAI_BASE_URL"),
        server_key=os.environ.get("OPENAI_API_KEY"),
        workers=_number("NIGHTGARDEN_WORKERS", 1),
        calls=_number("NIGHTGARDEN_CALLS", 4),
    )


def _number(name: str, default: int) -> int:
    """A whole number of at least 1 from the environment."""
    text = os.environ.get(name) or str(default)
    if not text.isdecimal() or int(text) < 1:
        leave(UserError(f"{name} is {text!r}; give a whole number of at least 1, or unset it."))
    return int(text)


def _settings(stage: Stage, params: Params) -> bytes:
    return encode({name: params.model_dump(mode="json", by_alias=True)[name] for name in stage.sections})


def run_stage(name: str, key: str | None = None, **options: bool) -> NoReturn:
    """Run a stage by name under its guards and leave with its exit code; an option that is set is part of its name."""
    stage, place = STAGES[name], here()

    def work() -> Report:
        params = params_module.load(place.root / "params.yaml")
        function = getattr(importlib.import_module(stage.module), stage.function)
        rest: dict[str, tuple[Any, ...]] = {
            "curation": (params.curation, place.root),
            "shards": (params.curation, place.root, place.workers),
            "params": (params, place.root, place),
        }
        report: Report = function(*((key,) if key else ()), *rest[stage.takes], **options)
        return report

    full = "@".join([name, *([key] if key else []), *(option for option, is_set in options.items() if is_set)])
    try:
        settings = _settings(stage, params_module.load(place.root / "params.yaml"))
    except UserError as error:
        leave(error)
    job = Job(
        name=full,
        work=work,
        settings=settings,
        experiment=stage.experiment,
        native_inputs=tuple(place.root / path for path in stage.native_inputs),
        curve=place.root / stage.curve if stage.curve else None,
        artifacts=tuple(place.root / path for path in stage.artifacts),
        night=key if name == "distil" else None,
        sync=stage.sync,
    )
    sys.exit(guarded(job, place))


def leave(error: UserError | Refusal) -> NoReturn:
    """Print one message without a traceback and exit: 2 the user's to repair, 3 a refusal."""
    print(error, file=sys.stderr)
    sys.exit(3 if isinstance(error, Refusal) else 2)


def as_json_text(value: Any) -> str:
    """Canonical JSON of an answer."""
    return encode(value).decode()


def show(value: Any, as_json: bool) -> None:
    """Print an answer as JSON, or a line for each of its parts."""
    if as_json:
        print(as_json_text(value))
        return
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        print(f"{key}: {json.dumps(item) if isinstance(item, dict | list) else item}")


def answer(ask: Callable[[Params, Path], Any], tell: Callable[[Any], str]) -> Any:
    """Print what a question about this checkout is answered with, and hand it on."""
    try:
        found = ask(params_module.load(), Path.cwd())
    except (UserError, Refusal) as error:
        leave(error)
    print(tell(found))
    return found
