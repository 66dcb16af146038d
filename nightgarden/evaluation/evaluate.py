"""The stage `evaluate`: stock and adapted model side by side, from passport to promotion.

Order: passport, prompts as ids, replies of both sides, scores, verdicts, files. Everything that lands in
a file is a function of the inputs; seconds go to log and tracking. The champion is context, not an input
that DVC tracks: its pointer moves when an adapter is published.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from nightgarden import jsonl
from nightgarden.digests import sha256_text, source_digest
from nightgarden.errors import Refusal
from nightgarden.evaluation import prompts, report, runs
from nightgarden.evaluation.answers import SIDES, Reply, Scored, Side
from nightgarden.evaluation.crossover import FirstTokens
from nightgarden.evaluation.prompts import Tokenised
from nightgarden.evaluation.results import Result, flat, judge, summary
from nightgarden.evaluation.runs import Run
from nightgarden.models import load, specs
from nightgarden.params import Params
from nightgarden.templates import passport, registry
from nightgarden.templates.fingerprint import fingerprint

if TYPE_CHECKING:
    from nightgarden.evaluation import generate
    from nightgarden.stage import Place, Report

log = logging.getLogger(__name__)

CANDIDATE = Path("models/adapters/candidate")
CHAMPION = Path("models/adapters/champion.json")
SCORES = Path("data/scores")
"""The run: see `runs.py`, and the page."""
PAGE = SCORES / "report.html"
REPORT = Path("reports/evaluation.json")


class Champion(msgspec.Struct, frozen=True, kw_only=True):
    """What evaluation needs of the pointer to the champion; the file may say more."""

    adapter: str
    """sha256 of its weights."""
    scores: str
    """Its scores.jsonl, relative to the repository."""


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
    sides, work = open_sides(params, root, way, chosen)
    replies = side_by_side(sides, work, tokenizer, chosen)
    generated = place.clock()
    panel = crossed(sides, work, tokenizer, chosen, replies) if params.evaluation.first_tokens else None
    studied = place.clock()
    rival = champion(root, str(card.get("adapter")))
    result = judge(seal, params.evaluation, [item.prompt for item in chosen], replies, rival.scored if rival else None)
    result = replace(result, first_tokens=panel)
    write(result, identity(params, seal, fingerprint(template, tokenizer), card, work), root, rival.adapter if rival else None)
    log.info("%s: %s", result.promotion.verdict, result.promotion.reason)
    return flat(result) | {
        "time_generate_s": (generated - started).total_seconds(),
        "time_first_tokens_s": (studied - generated).total_seconds(),
        "time_score_s": (place.clock() - studied).total_seconds(),
    }


@dataclass(frozen=True, kw_only=True)
class Way:
    """How ids become text, and where finished batches are kept."""

    tokenizer: Any
    stop: int
    """Id of the template's stop token."""
    cache: Path


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
    from nightgarden.evaluation import generate

    asked = [(item, seed) for item in chosen for seed in range(work.settings.seeds)]
    requests = [generate.Request(prompt_ids=item.ids, seed=seed) for item, seed in asked]
    made: list[Reply] = []
    for side in SIDES:
        for (item, seed), reply in zip(asked, generate.replies(sides, side, requests, work), strict=True):
            made.append(_reply(item, seed, side, reply, tokenizer))
    sides.require_two()
    require_same_ids(made)
    return made


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


def require_same_ids(replies: Sequence[Reply]) -> None:
    """Refuse replies whose two sides were not given the same token ids.

    Raises:
        Refusal: names the first prompt.
    """
    given = {side: {(reply.prompt, reply.seed): reply for reply in replies if reply.side == side} for side in SIDES}
    for key in sorted(given["stock"].keys() | given["adapted"].keys()):
        shas = [
            sha256_text(jsonl.encode(list(reply.prompt_ids)).decode()) if (reply := given[side].get(key)) else None
            for side in SIDES
        ]
        if shas[0] != shas[1]:
            raise Refusal(
                f"prompt {key[0]}, seed {key[1]}: stock was given ids {shas[0]}, adapted {shas[1]}. Nothing was scored."
            )


@dataclass(frozen=True, kw_only=True)
class Rival:
    """The champion that a candidate must also beat."""

    adapter: str
    """sha256 of its weights."""
    scored: list[Scored]


def champion(root: Path, candidate: str) -> Rival | None:
    """The champion with its own scores; None where there is none, it is the candidate, or its scores are not here."""
    if not (root / CHAMPION).is_file():
        return None
    pointer: Champion = jsonl.read_json(root / CHAMPION, Champion)
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
    jsonl.write_text(root / PAGE, report.page(result))
    jsonl.write_json(root / REPORT, summary(result) | {"against": against})
