"""Questions about data, templates and runs; they change nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nightgarden import params as params_module
from nightgarden.cli.common import AsJson, answer, as_json_text, here, leave, show
from nightgarden.errors import Refusal, UserError
from nightgarden.jsonl import write_text
from nightgarden.params import Params

app = typer.Typer()
curation_app = typer.Typer(no_args_is_help=True, help="Questions about curation that change nothing.")
template_app = typer.Typer(no_args_is_help=True, help="Chat templates.")
app.add_typer(curation_app, name="curation")
app.add_typer(template_app, name="template")


@curation_app.command("try")
def curation_try(file: Path, as_json: AsJson = False) -> None:
    """What each rule would take from a file; writes nothing."""
    from nightgarden.curation.trial import try_file

    try:
        show(try_file(file, params_module.load(), Path.cwd()), as_json)
    except (UserError, Refusal) as error:
        leave(error)


@app.command()
def whatif(
    without: Annotated[list[str] | None, typer.Option(help="A pass that takes nothing; may be given more than once.")] = None,
    as_json: AsJson = False,
) -> None:
    """What the passes would take and leave without some of them, and the mix of it; runs nothing."""
    from nightgarden.curation import whatif as question

    answer(lambda params, root: question.whatif(without or (), params.curation, root), as_json_text if as_json else question.told)


@app.command()
def explain(id_: Annotated[str, typer.Argument(metavar="ID", help="A beginning is enough.")], as_json: AsJson = False) -> None:
    """The whole life of a row: where it came from, every hit, which pass took it and why."""
    from nightgarden.curation import explain as question

    answer(lambda params, root: question.explain(id_, params.curation, root), as_json_text if as_json else question.told)


@app.command()
def diff(
    rev1: str,
    rev2: Annotated[str, typer.Argument(help="A git revision, or `workspace`.")] = "workspace",
    html: Annotated[Path | None, typer.Option(help="Write a page.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write markdown for a pull request.")] = None,
    as_json: AsJson = False,
) -> None:
    """What became of every row of the dataset between two revisions, and why."""
    from nightgarden.curation import diff as question
    from nightgarden.curation import diff_views as views

    def tell(found: question.Diff) -> str:
        for path, view in ((html, views.as_page), (markdown, views.as_markdown)):
            if path is not None:
                write_text(path, view(found))
        return as_json_text(found) if as_json else views.as_text(found)

    answer(lambda _, root: question.diff(rev1, rev2, root), tell)


@template_app.command("inspect")
def template_inspect(path: Path, as_json: AsJson = False) -> None:
    """Which chat template a model folder needs, and how sure that is; ends with 3 where its witnesses disagree."""
    from nightgarden.templates.passport import inspect, require

    try:
        found = inspect(path)
        show(found.as_dict(), as_json)
        require(found)
    except (UserError, Refusal) as error:
        leave(error)


@template_app.command("treatment")
def template_treatment(as_json: AsJson = False) -> None:
    """What a template error looks like here: eight prompts under the right template and under wrong ones, scored alike."""
    from nightgarden.evaluation import treatment

    state = here().state

    def ask(params: Params, root: Path) -> list[treatment.Row]:
        return treatment.run(params, root, state / "generation")

    answer(ask, as_json_text if as_json else treatment.as_text)


@app.command()
def compare(
    run1: Annotated[str, typer.Argument(help="A run's folder, or a git revision.")],
    run2: Annotated[str, typer.Argument(help="A git revision, `workspace`, or a run's folder.")] = "workspace",
    stock: Annotated[bool, typer.Option("--stock", help="Compare the stock sides.")] = False,
    as_json: AsJson = False,
) -> None:
    """Any two evaluations with the same token ids, prompt by prompt."""
    from nightgarden.evaluation import compare as question

    def ask(params: Params, root: Path) -> question.Compared:
        return question.compare_runs(run1, run2, "stock" if stock else "adapted", params.evaluation.alpha, root)

    answer(ask, (lambda found: as_json_text(found.as_dict())) if as_json else question.as_text)


@app.command()
def audit(folder: Path, as_json: AsJson = False) -> None:
    """Whether past evaluations were made under the right template; ends with 3 if one was not."""
    from nightgarden.evaluation import audit as question

    def tell(found: list[question.Audit]) -> str:
        return as_json_text(found) if as_json else question.as_text(found)

    found = answer(lambda params, root: question.audit(folder, params, root), tell)
    if invalid := [item.run for item in found if item.verdict == "invalid"]:
        leave(Refusal(f"{len(invalid)} of {len(found)} runs mean nothing: {', '.join(invalid)}. Evaluate them again."))
