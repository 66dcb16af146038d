"""`nightgarden evaluate --suite FILE`: any suite, asked of the pair, of the base alone, or of models behind a server.

Makes a run like the stage's, with its page, in a folder of its own. Promotes nothing: an adapter is promoted by the 35
prompts. Ids, passport and guards are those of the stage.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from nightgarden import jsonl
from nightgarden.digests import source_digest
from nightgarden.errors import UserError
from nightgarden.evaluation import prompts, report, runs, served, suites
from nightgarden.evaluation.answers import SIDES, Reply, Side
from nightgarden.evaluation.evaluate import (
    CANDIDATE,
    Way,
    answer,
    answer_pair,
    as_replies,
    ask_rater,
    identity,
    requested,
    require_rater,
    require_same_ids,
)
from nightgarden.evaluation.prompts import Tokenised
from nightgarden.evaluation.results import Result, flat, judge, summary, table
from nightgarden.evaluation.runs import Run
from nightgarden.evaluation.served import Server
from nightgarden.evaluation.suites import Suite
from nightgarden.models import load, specs
from nightgarden.params import Evaluation, Params
from nightgarden.templates import passport, registry
from nightgarden.templates.fingerprint import fingerprint

if TYPE_CHECKING:
    from nightgarden.evaluation import generate
    from nightgarden.stage import Place, Report

log = logging.getLogger(__name__)

RUNS = Path("data/runs")
"""Where a suite's run goes unless a place is named."""
ELSEWHERE = "Name another folder with --out, or move that one away."
PAGE, SUMMARY = "report.html", "summary.json"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A suite and who answers it."""

    suite: Suite
    out: Path
    """Folder of the run."""
    served: dict[Side, str] = field(default_factory=dict)
    """Names of models at the server, by side; empty asks the models here."""
    is_pair: bool = True
    """Whether the candidate adapter answers beside its base; of no account where a server answers."""


def wish(
    path: Path,
    settings: Evaluation,
    out: Path | None,
    served_as: Sequence[str],
    *,
    is_pair: bool,
    limits: tuple[int | None, int | None],
) -> Asked:
    """What a person asked for at the command line.

    Args:
        path: the suite.
        settings: of params.yaml.
        out: folder of the run; None takes RUNS with the suite's name.
        served_as: names of models at the server: of stock, and of adapted.
        is_pair: whether the adapter answers beside its base.
        limits: prompts to take and tokens of a reply; None leaves them as they are.

    Raises:
        UserError: no suite, or more than two models.
    """
    if len(served_as) > len(SIDES):
        raise UserError(f"{len(served_as)} served models; one stands for stock and a second for adapted. Compare others by runs.")
    count, tokens = limits
    suite = suites.load(path, settings, {} if tokens is None else {"max_new_tokens": tokens}, count)
    sides = dict(zip(SIDES, served_as, strict=False))
    return Asked(suite=suite, out=out or RUNS / suite.name, served=sides, is_pair=is_pair)


def run(asked: Asked, params: Params, place: Place) -> Report:
    """Ask the suite, and write the run.

    Raises:
        UserError: another run lies in the folder, or something is missing.
        Refusal: a witness of the passport disagrees, the sides are not two, or a server reads other ids.
    """
    _require_room(asked)
    require_rater(params, place)
    root, spec = place.root, params.base_spec
    params = params.model_copy(update={"evaluation": asked.suite.settings})
    template, tokenizer = registry.get(spec.template), load.load_tokenizer(specs.folder(spec, root))
    with_adapter = asked.is_pair and not asked.served
    card: dict[str, Any] | None = jsonl.read_json(root / CANDIDATE / "card.json", dict[str, Any]) if with_adapter else None
    seal = passport.inspect(specs.folder(spec, root), card, template)
    passport.require(seal)
    chosen = prompts.tokenise(asked.suite.prompts, template, tokenizer)
    way = Way(tokenizer=tokenizer, stop=tokenizer.convert_tokens_to_ids(template.stop), cache=place.state / "generation")
    if asked.served:
        work = _work(params, root, way, "a server's")
        replies = _served(asked, params, place, chosen, tokenizer)
    elif with_adapter:
        pair = answer_pair(params, root, way, chosen, place.clock)
        work, replies = pair.work, pair.replies
    else:
        work, replies = _alone(params, root, way, chosen)
    result = judge(seal, asked.suite.settings, asked.suite.prompts, replies, None, suite=asked.suite.name)
    result = replace(result, ratings=ask_rater(params, place, chosen, replies))
    about = identity(params, seal, fingerprint(template, tokenizer), card or {}, work)
    about = msgspec.structs.replace(
        about,
        sides=result.sides,
        suite={"name": asked.suite.name, "sha256": asked.suite.sha},
        served={str(side): name for side, name in asked.served.items()},
    )
    write(result, about, asked.out)
    log.info("%s: see %s", asked.suite.name, asked.out / PAGE)
    return flat(result)


def _work(params: Params, root: Path, way: Way, machine: str) -> generate.Work:
    """How the base answers without an adapter."""
    from nightgarden.evaluation import generate

    return generate.Work(
        settings=params.evaluation,
        stop=way.stop,
        base=specs.weights_digest(specs.folder(params.base_spec, root)),
        dtype=params.base_spec.dtype,
        adapter="none",
        machine=machine,
        code=source_digest(generate.CODE),
        cache=way.cache,
    )


def _alone(params: Params, root: Path, way: Way, chosen: Sequence[Tokenised]) -> tuple[generate.Work, list[Reply]]:
    from nightgarden.evaluation import generate

    model = load.load_model(params.base_spec, root)
    work = _work(params, root, way, load.machine_of(model))
    return work, answer(generate.Alone(model), "stock", work, way.tokenizer, chosen)


def _served(asked: Asked, params: Params, place: Place, chosen: Sequence[Tokenised], tokenizer: Any) -> list[Reply]:
    """Replies of one or two models behind the server that the environment names."""
    if place.server_url is None:
        raise UserError("OPENAI_BASE_URL is not set. Give the address of the server, such as http://127.0.0.1:8000/v1.")
    stop = registry.get(params.base_spec.template).stop
    made: list[Reply] = []
    for side, name in asked.served.items():
        server = Server(url=place.server_url, model=name, key=place.server_key or "none", at_once=place.calls)
        requests = list(requested(chosen, params.evaluation.seeds))
        made += as_replies(chosen, side, served.replies(server, requests, stop, tokenizer, params.evaluation), tokenizer)
    require_same_ids(made, tuple(asked.served))
    return made


def _require_room(asked: Asked) -> None:
    """Refuse a folder that holds the run of another suite, before minutes of generation."""
    path = asked.out / runs.RUN
    if not path.is_file():
        return
    there: Run = jsonl.read_json(path, Run)
    if (there.suite.get("sha256"), there.settings) != (asked.suite.sha, asked.suite.settings.model_dump(mode="json")):
        raise UserError(f"{asked.out} holds a run of other prompts or settings. {ELSEWHERE}")


def write(result: Result, about: Run, out: Path) -> None:
    """Write the run with its page; a run that says otherwise is not overwritten.

    Raises:
        UserError: another run lies there.
    """
    if (out / runs.RUN).is_file() and jsonl.read_json(out / runs.RUN, Run) != about:
        raise UserError(f"{out} holds a run of another model. {ELSEWHERE}")
    runs.write(out, about, result.prompts, result.replies, result.scored)
    if result.ratings is not None:
        jsonl.write_json(out / runs.RATINGS, result.ratings)
    jsonl.write_text(out / PAGE, report.page(result))
    jsonl.write_json(out / runs.TABLE, table(result))
    jsonl.write_json(out / SUMMARY, summary(result))
