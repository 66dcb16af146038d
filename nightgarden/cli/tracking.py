"""The MLflow view."""

from __future__ import annotations

import typer

from nightgarden.cli.common import AsJson, here, leave, show
from nightgarden.errors import UserError

app = typer.Typer(no_args_is_help=True, help="The MLflow view.")


@app.command("init")
def init() -> None:
    """Make the tracking store and its experiments, once."""
    from nightgarden import tracking

    place = here()
    try:
        tracking.init(place.state, place.tracking_uri)
    except UserError as error:
        leave(error)


@app.command("sync")
def sync(as_json: AsJson = False) -> None:
    """Send what waits in the spool."""
    from nightgarden import tracking

    place = here()
    sent, waiting = tracking.sync(place.state, place.tracking_uri)
    show({"sent": sent, "waiting": waiting}, as_json)
