"""Every command; thin. One file a kind of command."""

from __future__ import annotations

import logging
import os
import sys
import warnings

import typer

from nightgarden.cli import models, questions, stages, tracking
from nightgarden.loopback import no_proxy

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Nightgarden: a frozen model in a memory shell; its data, adapters, evaluations and nights.",
)
for part in (stages, questions, models):
    app.add_typer(part.app)
app.add_typer(tracking.app, name="tracking")


def main() -> None:
    """Entry point of `nightgarden` and `python -m nightgarden`."""
    # Two threads that spin while others compute cost torch a factor of ten on two busy cores (measured: 10.7 s against
    # 1.0 s for 12 tokens); read once, when torch is imported.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.update(no_proxy(os.environ))
    # Notes of transformers to its own future, about settings that TRL makes; they hide the lines that matter.
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"transformers\..*")
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    for noisy in ("httpx", "httpx2", "urllib3", "mlflow", "alembic", "matplotlib", "transformers"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    app()
