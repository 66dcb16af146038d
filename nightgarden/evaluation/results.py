"""What an evaluation found, from replies to verdicts: scored, summed up, decided. Pure; no file, no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

import msgspec

from nightgarden.evaluation import scorers
from nightgarden.evaluation.answers import SIDES, Answer, Reply, Scored, Side
from nightgarden.evaluation.barbell import Barbell, barbell, pole
from nightgarden.evaluation.crossover import FirstTokens, quality
from nightgarden.evaluation.poles import Panel, panel
from nightgarden.evaluation.promotion import Promotion, decide
from nightgarden.evaluation.prompts import CATEGORIES
from nightgarden.evaluation.verdicts import Comparison, Rate, compare, rate
from nightgarden.params import Evaluation
from nightgarden.records import Prompt
from nightgarden.templates.passport import Passport

if TYPE_CHECKING:
    from nightgarden.stage import Report

DECIMALS = 6


@dataclass(frozen=True, kw_only=True)
class Result:
    """Everything that an evaluation found."""

    passport: Passport
    settings: Evaluation
    prompts: tuple[Prompt, ...]
    replies: tuple[Reply, ...]
    scored: tuple[Scored, ...]
    rates: dict[Side, dict[str, Rate]]
    comparison: Comparison
    """Adapted against stock."""
    champion: Comparison | None
    """Adapted against the champion, where there is one."""
    barbell: Barbell
    poles: dict[str, dict[Side, Panel]]
    """By category, and `all`."""
    promotion: Promotion
    first_tokens: FirstTokens | None = None
    """None where the settings do not ask for it."""

    def void(self, side: Side) -> int:
        """Number of void replies of a side."""
        return sum(item.void is not None for item in self.scored if item.side == side)


def judge(
    seal: Passport, settings: Evaluation, chosen: Sequence[Prompt], replies: Sequence[Reply], champion: Sequence[Scored] | None
) -> Result:
    """Score every reply and draw the verdicts. Pure."""
    by_id = {prompt.id: prompt for prompt in chosen}
    scored = [scored_reply(reply, by_id[reply.prompt], settings.max_reply_words) for reply in replies]
    sides: dict[Side, list[Scored]] = {side: [item for item in scored if item.side == side] for side in SIDES}
    against_stock = compare(sides["stock"], sides["adapted"], "stock", settings.alpha)
    against_champion = compare(champion, sides["adapted"], "the champion", settings.alpha) if champion else None
    comparisons = [item for item in (against_stock, against_champion) if item is not None]
    return Result(
        passport=seal,
        settings=settings,
        prompts=tuple(chosen),
        replies=tuple(replies),
        scored=tuple(scored),
        rates={side: {name: rate(sides[side], name, settings.alpha) for name in scorers.SCORERS} for side in SIDES},
        comparison=against_stock,
        champion=against_champion,
        barbell=barbell(scored, settings.alpha),
        poles=poles(scored, settings.alpha),
        promotion=decide(seal.verdict, comparisons),
    )


def poles(scored: Sequence[Scored], alpha: float) -> dict[str, dict[Side, Panel]]:
    """Whether the qualities of replies have one mode or two, by category and side; a category without a reply is left out."""
    found: dict[str, dict[Side, Panel]] = {}
    for category in (*CATEGORIES, "all"):
        chosen = [item for item in scored if category in (item.category, "all")]
        if not chosen:
            continue
        step = 1 / median(max(1, sum(score.passed is not None for score in item.scores)) for item in chosen)
        found[category] = {}
        for side in SIDES:
            by_prompt: dict[str, list[float]] = {}
            for item in chosen:
                if item.side == side:
                    by_prompt.setdefault(item.prompt, []).append(quality(item))
            found[category][side] = panel(by_prompt, step, alpha)
    return found


def scored_reply(reply: Reply, prompt: Prompt, max_words: int) -> Scored:
    """All scores of one reply and its pole."""
    void, scores = scorers.score(Answer(prompt=prompt, text=reply.text, max_words=max_words, truncated=reply.truncated))
    return Scored(
        prompt=reply.prompt,
        category=reply.category,
        seed=reply.seed,
        side=reply.side,
        void=void,
        pole=pole(void, scores),
        scores=scores,
    )


def summary(result: Result) -> dict[str, Any]:
    """The report as JSON: verdicts first, then every number with its denominator."""
    rates = {side: {name: rounded(asdict(item)) for name, item in result.rates[side].items()} for side in SIDES}
    return {
        "template": result.passport.verdict,
        "witnesses": result.passport.as_dict()["witnesses"],
        "stock": {name: item["value"] for name, item in rates["stock"].items()},
        "adapted": {name: item["value"] for name, item in rates["adapted"].items()},
        "counts": {side: {name: [item["count"], item["of"]] for name, item in rates[side].items()} for side in SIDES},
        "intervals": {side: {name: [item["low"], item["high"]] for name, item in rates[side].items()} for side in SIDES},
        "good": {name: scorer.good for name, scorer in scorers.SCORERS.items()},
        "void": {side: result.void(side) for side in SIDES} | {"of": len(result.scored) // 2},
        "families": {name: asdict(item) for name, item in result.comparison.families.items()},
        "tests": {name: rounded(asdict(item)) for name, item in result.comparison.tests.items()},
        "compliance": {name: rounded(asdict(item)) for name, item in result.comparison.compliance.items()},
        "champion": None if result.champion is None else {name: asdict(item) for name, item in result.champion.families.items()},
        "barbell": rounded(msgspec.to_builtins(result.barbell)),
        "poles": rounded(msgspec.to_builtins(result.poles)),
        "first_tokens": rounded(msgspec.to_builtins(result.first_tokens)),
        "prompts": len(result.prompts),
        "seeds": result.settings.seeds,
        "promote": msgspec.to_builtins(result.promotion),
    }


def rounded(value: Any) -> Any:
    """The same value with its floats to six decimals: what a reader and DVC's metrics diff need."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return round(value, DECIMALS) if isinstance(value, float) else value


def flat(result: Result) -> Report:
    """The numbers for tracking."""
    numbers: Report = {"template": result.passport.verdict, "promote": result.promotion.verdict}
    for side in SIDES:
        numbers[f"{side}/void"] = result.void(side)
        for name, item in result.rates[side].items():
            if item.value is not None:
                numbers[f"{side}/{name}"] = round(item.value, DECIMALS)
    for family, verdict in result.comparison.families.items():
        numbers[f"family/{family}"] = verdict.verdict
    return numbers
