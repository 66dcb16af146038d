"""The stage `evaluate`: stock and adapted model side by side, from passport to promotion.

Order: passport, prompts as ids, replies of both sides, scores, verdicts, files. Everything that lands in
a file is a function of the inputs; seconds go to log and tracking. The champion is context, not an input
that DVC tracks: its pointer moves when an adapter is published.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from nightgarden import jsonl
from nightgarden.digests import sha256_text, source_digest
from nightgarden.errors import Refusal, UserError
from nightgarden.evaluation import anchors, prompts, rater, report, runs
from nightgarden.evaluation.answers import SIDES, Reply, Scored, Side
from nightgarden.evaluation.crossover import FirstTokens
from nightgarden.evaluation.prompts import Tokenised
from nightgarden.evaluation.results import Result, flat, judge, plot_rows, summary, table
from nightgarden.evaluation.runs import Run
from nightgarden.models import champion, load, specs
from nightgarden.params import Params
from nightgarden.templates import passport, registry
from nightgarden.templates.fingerprint import fingerprint

if TYPE_CHECKING:
    from nightgarden.clock import Clock
    from nightgarden.evaluation import generate
    from nightgarden.evaluation.rater import Ratings
    from nightgarden.stage import Place, Report

log = logging.getLogger(__name__)

CANDIDATE = Path("models/adapters/candidate")
SCORES = Path("data/scores")
"""The run: see `runs.py`, and the page."""
PAGE = SCORES / "report.html"
REPORT = Path("reports/evaluation.json")
PLOT = Path("reports/evaluation_scores.json")
RATER_SEED = 20260907
"""Of the order in which anchors and replies are asked about."""


def evaluate(params: Params, root: Path, place: Place) -> Report:
    """Evaluate the candidate adapter against its base.

    Args:
        params: `base`, `models` and `evaluation` are read.
        root: the checkout; reads models and prompts, writes data/scores and reports/evaluation.json.
        place: where finished batches are kept and which clock the log reads.

    Returns:
        Rates by side, void counts and verdicts; `time_` keys hold seconds.

    Raises:
        Refusal: a witness of the passport disagrees, or the two sides are not two.
        UserError: no adapter, no model, or a prompt that is none.
    """
    started = place.clock()
    require_rater(params, place)
    spec = params.base_spec
    template = registry.get(spec.template)
    card: dict[str, Any] = jsonl.read_json(root / CANDIDATE / "card.json", dict[str, Any])
    seal = passport.inspect(specs.folder(spec, root), card, template)
    passport.require(seal)
    log.info("template %s: %s", template.name, seal.verdict)
    tokenizer = load.load_tokenizer(specs.folder(spec, root))
    chosen = prompts.tokenise(prompts.load(root / prompts.FILE, params.evaluation.prompts), template, tokenizer)
    stop = tokenizer.convert_tokens_to_ids(template.stop)
    way = Way(tokenizer=tokenizer, stop=stop, cache=place.state / "generation")
    pair = answer_pair(params, root, way, chosen, place.clock)
    replies = pair.replies + (answer_sibling(params, root, way, chosen, pair.work) if spec.sibling else [])
    generated = place.clock()
    rival = rival_of(root, str(card.get("adapter")))
    result = judge(seal, params.evaluation, [item.prompt for item in chosen], replies, rival.scored if rival else None)
    result = replace(result, first_tokens=pair.panel, ratings=ask_rater(params, place, chosen, replies))
    run = identity(params, seal, fingerprint(template, tokenizer), card, pair.work)
    if spec.sibling:
        run = msgspec.structs.replace(
            run, sides=result.sides, sibling=specs.weights_digest(specs.folder(params.models[spec.sibling], root))
        )
    write(result, run, root, rival.adapter if rival else None)
    if result.promotion is not None:
        log.info("%s: %s", result.promotion.verdict, result.promotion.reason)
    return flat(result) | {
        "time_generate_s": (generated - started).total_seconds() - pair.panel_seconds,
        "time_first_tokens_s": pair.panel_seconds,
        "time_score_s": (place.clock() - generated).total_seconds(),
    }


@dataclass(frozen=True, kw_only=True)
class Way:
    """How ids become text, and where finished batches are kept."""

    tokenizer: Any
    stop: int
    """Id of the template's stop token."""
    cache: Path


@dataclass(frozen=True, kw_only=True)
class Pair:
    """What stock and adapted wrote."""

    work: generate.Work
    replies: list[Reply]
    panel: FirstTokens | None
    panel_seconds: float


def answer_pair(params: Params, root: Path, way: Way, chosen: Sequence[Tokenised], clock: Clock) -> Pair:
    """Replies of both sides and, where asked for, the panel of first tokens; the model is let go behind them."""
    sides, work = open_sides(params, root, way, chosen)
    replies = side_by_side(sides, work, way.tokenizer, chosen)
    generated = clock()
    panel = crossed(sides, work, way.tokenizer, chosen, replies) if params.evaluation.first_tokens else None
    return Pair(work=work, replies=replies, panel=panel, panel_seconds=(clock() - generated).total_seconds())


def answer_sibling(params: Params, root: Path, way: Way, chosen: Sequence[Tokenised], work: generate.Work) -> list[Reply]:
    """Replies of the base's instruct model to the very same ids; the pair's model has been let go before it is loaded.

    Raises:
        Refusal: a witness of its passport disagrees, or its tokenizer makes other ids of the prompts.
    """
    from nightgarden.evaluation import generate

    name = str(params.base_spec.sibling)
    spec, template = params.models[name], registry.get(params.base_spec.template)
    passport.require(passport.inspect(specs.folder(spec, root), None, template))
    own = prompts.tokenise([item.prompt for item in chosen], template, load.load_tokenizer(specs.folder(spec, root)))
    for ours, theirs in zip(chosen, own, strict=True):
        if ours.ids != theirs.ids:
            raise Refusal(
                f"prompt {ours.prompt.id} is ids {ours.sha[:12]} to {params.base} and {theirs.sha[:12]} to {name}. Nothing was "
                f"scored; take models.{params.base}.sibling out, or name a model with the same tokenizer."
            )
    gc.collect()  # peft's model holds itself in cycles: without this two models would lie in memory
    model = generate.Alone(load.load_model(spec, root))
    alone = replace(work, base=specs.weights_digest(specs.folder(spec, root)), dtype=spec.dtype, adapter="none")
    return answer(model, "sibling", alone, way.tokenizer, chosen)


def open_sides(params: Params, root: Path, way: Way, chosen: Sequence[Tokenised]) -> tuple[generate.Sides, generate.Work]:
    """Both sides, proven apart, and how their replies are made.

    Raises:
        Refusal: the sides are not two.
    """
    from nightgarden.evaluation import generate

    code = source_digest(generate.CODE)  # before the seconds of loading, in which a file may be edited
    sides = generate.load_sides(params.base_spec, root, root / CANDIDATE, chosen[0].ids)
    return sides, generate.Work(
        settings=params.evaluation,
        stop=way.stop,
        base=specs.weights_digest(specs.folder(params.base_spec, root)),
        dtype=params.base_spec.dtype,
        adapter=generate.adapter_digest(root / CANDIDATE),
        machine=load.machine_of(sides.model),
        code=code,
        cache=way.cache,
    )


def side_by_side(sides: generate.Sides, work: generate.Work, tokenizer: Any, chosen: Sequence[Tokenised]) -> list[Reply]:
    """Replies of both sides to the same ids, the sides proven apart once more behind them.

    Raises:
        Refusal: the sides are no longer two, or were not given the same ids.
    """
    made = [reply for side in SIDES for reply in answer(sides, side, work, tokenizer, chosen)]
    sides.require_two()
    require_same_ids(made)
    return made


def answer(
    model: generate.Sides | generate.Alone, side: Side, work: generate.Work, tokenizer: Any, chosen: Sequence[Tokenised]
) -> list[Reply]:
    """One side's replies, every seed of a prompt in turn."""
    from nightgarden.evaluation import generate

    requests = list(requested(chosen, work.settings.seeds))
    return as_replies(chosen, side, generate.replies(model, side, requests, work), tokenizer)


def requested(chosen: Sequence[Tokenised], seeds: int) -> Iterator[generate.Request]:
    """One reply to make for each prompt and seed."""
    from nightgarden.evaluation import generate

    for item in chosen:
        yield from (generate.Request(prompt_ids=item.ids, seed=seed) for seed in range(seeds))


def as_replies(chosen: Sequence[Tokenised], side: Side, made: Sequence[generate.Generated], tokenizer: Any) -> list[Reply]:
    """Lines of replies.jsonl, from what was made of `requested`."""
    seeds = len(made) // len(chosen)
    return [_reply(chosen[at // seeds], at % seeds, side, reply, tokenizer) for at, reply in enumerate(made)]


def crossed(
    sides: generate.Sides, work: generate.Work, tokenizer: Any, chosen: Sequence[Tokenised], replies: Sequence[Reply]
) -> FirstTokens:
    """The panel of first tokens over as many prompts as the settings ask for, balanced over the categories."""
    from nightgarden.evaluation import first_tokens

    few = prompts.choose([item.prompt for item in chosen], min(work.settings.first_tokens, len(chosen)))
    by_id = {prompt.id: prompt for prompt in few}
    return first_tokens.study(sides, work, [reply for reply in replies if reply.prompt in by_id], by_id, tokenizer)


def _reply(item: Tokenised, seed: int, side: Side, reply: Any, tokenizer: Any) -> Reply:
    """A line of replies.jsonl; control tokens inside a reply stay visible, a leak must be seen."""
    return Reply(
        prompt=item.prompt.id,
        category=item.prompt.category,
        seed=seed,
        side=side,
        prompt_ids=item.ids,
        prompt_sha=item.sha,
        reply_ids=reply.ids,
        text=tokenizer.decode(list(reply.ids), skip_special_tokens=False, clean_up_tokenization_spaces=False).strip(),
        truncated=reply.truncated,
    )


def require_same_ids(replies: Sequence[Reply], sides: Sequence[Side] = SIDES) -> None:
    """Refuse replies whose sides were not given the same token ids.

    Args:
        replies: of a run.
        sides: who was asked.

    Raises:
        Refusal: names the first prompt.
    """
    given = {side: {(reply.prompt, reply.seed): reply for reply in replies if reply.side == side} for side in sides}
    for key in sorted({key for one in given.values() for key in one}):
        shas = [
            sha256_text(jsonl.encode(list(reply.prompt_ids)).decode()) if (reply := given[side].get(key)) else None
            for side in sides
        ]
        if len(set(shas)) > 1:
            told = ", ".join(f"{side} {sha}" for side, sha in zip(sides, shas, strict=True))
            raise Refusal(f"prompt {key[0]}, seed {key[1]}: the sides were not given the same ids: {told}. Nothing was scored.")


def require_rater(params: Params, place: Place) -> None:
    """Stop before minutes of generation where a rater is asked for that cannot be asked.

    Raises:
        UserError: its server is not known, or the anchors are not there or not whole.
    """
    asked = params.evaluation.rater
    if asked.by == "nobody":
        return
    anchors.load(place.root / anchors.FILE)
    if asked.model is not None and place.server_url is None:
        raise UserError(f"evaluation.rater.model is {asked.model!r} and OPENAI_BASE_URL is not set. Export the server's address.")


def ask_rater(params: Params, place: Place, chosen: Sequence[Tokenised], replies: Sequence[Reply]) -> Ratings | None:
    """What the rater of the settings says of every reply; None where nobody rates.

    Raises:
        UserError: its server is not known or cannot be reached.
        Refusal: its server renders the questions with another template than its model's.
    """
    asked = params.evaluation.rater
    if asked.by == "nobody":
        return None
    from nightgarden.chat.opening import open_chat

    root = place.root
    folder = root / specs.EMBEDDED_LM if asked.model is None else None
    with open_chat(asked.model, root, place, seed=RATER_SEED, setting="evaluation.rater.model") as chat:
        wanted = rater.items([item.prompt for item in chosen], replies)
        return rater.rate(chat, wanted, anchors.load(root / anchors.FILE), RATER_SEED, folder=folder)


@dataclass(frozen=True, kw_only=True)
class Rival:
    """The champion that a candidate must also beat."""

    adapter: str
    """sha256 of its weights."""
    scored: list[Scored]


def rival_of(root: Path, candidate: str) -> Rival | None:
    """The champion with its own scores; None where there is none, it is the candidate, or its scores are not here."""
    pointer = champion.read(root)
    if pointer is None:
        return None
    if pointer.adapter == candidate:
        log.info("the candidate is the champion; it is compared with stock only")
        return None
    if not (root / pointer.scores).is_file():
        log.warning("the champion's scores are not at %s; the candidate is compared with stock only", root / pointer.scores)
        return None
    scored: list[Scored] = list(jsonl.read(root / pointer.scores, Scored))
    return Rival(adapter=pointer.adapter, scored=[item for item in scored if item.side == "adapted"])


def identity(params: Params, seal: passport.Passport, mark: dict[str, Any], card: dict[str, Any], work: generate.Work) -> Run:
    """What identifies a run: an audit makes all of it again."""
    return Run(
        base=params.base,
        weights=work.base,
        template=mark,
        passport=seal.as_dict(),
        adapter=work.adapter,
        card=card,
        settings=params.evaluation.model_dump(mode="json"),
        machine=work.machine,
        libraries=work.libraries,
    )


def write(result: Result, run: Run, root: Path, against: str | None) -> None:
    """Write the run, its page and the report, each file whole or not at all.

    Args:
        result: what was found.
        run: what identifies it.
        root: the checkout.
        against: sha256 of the champion that the candidate was compared with. DVC may restore this report when
            another one is in use: a verdict holds only against the champion that it names.
    """
    runs.write(root / SCORES, run, result.prompts, result.replies, result.scored)
    if result.ratings is not None:
        jsonl.write_json(root / SCORES / runs.RATINGS, result.ratings)
    jsonl.write_text(root / PAGE, report.page(result))
    jsonl.write_json(root / SCORES / runs.TABLE, table(result))
    jsonl.write_json(root / PLOT, plot_rows(result))
    jsonl.write_json(root / REPORT, summary(result) | {"against": against})
