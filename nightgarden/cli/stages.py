"""The stages of dvc.yaml as commands, and an evaluation of other prompts.

A stage command takes no free text: its settings come from params.yaml by key.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from nightgarden import params as params_module
from nightgarden.cli.common import here, leave, run_stage
from nightgarden.errors import UserError
from nightgarden.jsonl import encode
from nightgarden.rule_params import RULES
from nightgarden.stage import Job, guarded
from nightgarden.stages import STAGES

app = typer.Typer()


@app.command()
def ingest() -> None:
    """Read every source, row by row, into data/raw."""
    run_stage("ingest")


@app.command()
def synthesise(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Ask nobody; every new row is a placeholder, and marked.")] = False,
) -> None:
    """Have a teacher write new rows of ops 1 to 3."""
    run_stage("synthesise", dry_run=dry_run)


@app.command()
def annotate(rule: str) -> None:
    """Apply one rule to every raw row and write all its hits."""
    run_stage("annotate", _rule(rule))


@app.command("filter")
def filter_(rule: str) -> None:
    """One filter pass: drop the rows that the rule has a hit on, with a ledger."""
    run_stage("filter", _rule(rule))


def _rule(name: str) -> str:
    if name not in RULES:
        leave(UserError(f"got the rule {name!r}; rules are {', '.join(RULES)}"))
    return name


@app.command()
def funnel() -> None:
    """Join the ledgers and draw the waterfall."""
    run_stage("funnel")


@app.command()
def rebalance() -> None:
    """Cut the kept rows to the mix of ops."""
    run_stage("rebalance")


@app.command()
def split() -> None:
    """Hold out a part of every op."""
    run_stage("split")


@app.command()
def render() -> None:
    """Every row of the dataset as the trainer will see it."""
    run_stage("render")


@app.command()
def gate() -> None:
    """Decide whether the dataset may be trained on."""
    run_stage("gate")


@app.command()
def card() -> None:
    """Write the data card and the page that shows what every pass took."""
    run_stage("card")


@app.command()
def train() -> None:
    """Train the LoRA adapter on the gated dataset."""
    run_stage("train")


@app.command()
def evaluate(
    suite: Annotated[
        Path | None, typer.Option(help="Ask these prompts instead: IFEval's form, or YAML; promotes nothing.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for a suite's run; data/runs/NAME where none is given.")] = None,
    stock: Annotated[bool, typer.Option("--stock", help="Suite: ask the base alone, without the adapter.")] = False,
    served: Annotated[
        list[str] | None, typer.Option(help="Suite: model at $OPENAI_BASE_URL; twice: stock, then adapted.")
    ] = None,
    prompts: Annotated[int | None, typer.Option(min=1, help="Suite: as many, balanced over its categories.")] = None,
    max_new_tokens: Annotated[int | None, typer.Option(min=1, help="Suite: tokens of a reply.")] = None,
) -> None:
    """Stock and adapted model side by side on the same token ids; without --suite as the stage of dvc.yaml."""
    if suite is None:
        if out or stock or served or prompts or max_new_tokens:
            leave(
                UserError(
                    "--out, --stock, --served, --prompts and --max-new-tokens go with --suite; the stage reads params.yaml."
                )
            )
        run_stage("evaluate")
    from nightgarden.evaluation import runs, suite_run

    place, base = here(), STAGES["evaluate"]
    try:
        params = params_module.load(place.root / "params.yaml")
        asked = suite_run.wish(suite, params.evaluation, out, served or (), is_pair=not stock, limits=(prompts, max_new_tokens))
    except UserError as error:
        leave(error)
    job = Job(
        name=f"evaluate@{asked.suite.name}",
        work=lambda: suite_run.run(asked, params, place),
        settings=encode(asked.suite.settings.model_dump(mode="json")),
        experiment=base.experiment,
        native_inputs=tuple(place.root / path for path in base.native_inputs),
        artifacts=(asked.out / suite_run.PAGE, asked.out / runs.TABLE),
        sync=True,
    )
    sys.exit(guarded(job, place))


@app.command()
def label(night: str) -> None:
    """Have the teacher label a frozen night."""
    run_stage("label", _date(night))


@app.command()
def distil(night: str) -> None:
    """Train the student on every lesson so far and decide whether it is promoted."""
    run_stage("distil", _date(night))


def _date(text: str) -> str:
    import datetime

    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        leave(UserError(f"got the night {text!r}; give a date like 2026-09-18"))
