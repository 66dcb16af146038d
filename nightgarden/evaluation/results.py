"""What an evaluation found, from replies to verdicts: scored, summed up, decided. Pure; no file, no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

import msgspec

from nightgarden.evaluation import scorers
from nightgarden.evaluation.answers import COLUMNS, Answer, Reply, Scored, Side, columns
from nightgarden.evaluation.barbell import Barbell, barbell, pole
from nightgarden.evaluation.crossover import FirstTokens, quality
from nightgarden.evaluation.exam import LEVELS
from nightgarden.evaluation.following import Following, following
from nightgarden.evaluation.poles import Panel, panel
from nightgarden.evaluation.promotion import Promotion, decide
from nightgarden.evaluation.prompts import in_order
from nightgarden.evaluation.verdicts import Comparison, Rate, compare, rate
from nightgarden.params import Evaluation
from nightgarden.records import Prompt
from nightgarden.templates.passport import Passport

if TYPE_CHECKING:
    from nightgarden.evaluation.rater import Ratings
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
    """By side, in the order in which they are shown."""
    comparison: Comparison | None
    """Adapted against stock; None where one model answered alone."""
    champion: Comparison | None
    """Adapted against the champion, where there is one."""
    barbell: Barbell
    poles: dict[str, dict[Side, Panel]]
    """By category, and `all`."""
    promotion: Promotion | None
    """None for a suite: an adapter is promoted by the 35 prompts."""
    suite: str | None = None
    """Name of the suite that was asked; None for the 35 prompts."""
    following: dict[Side, Following] = field(default_factory=dict)
    """By side, where the prompts have instructions of IFEval's."""
    first_tokens: FirstTokens | None = None
    """None where the settings do not ask for it."""
    ratings: Ratings | None = None
    """None where no rater was asked."""

    @property
    def sides(self) -> tuple[Side, ...]:
        """Who answered, in the order in which they are shown."""
        return tuple(self.rates)

    @property
    def each(self) -> int:
        """Replies of each side."""
        return len(self.scored) // len(self.sides)

    def void(self, side: Side) -> int:
        """Number of void replies of a side."""
        return sum(item.void is not None for item in self.scored if item.side == side)


def judge(
    seal: Passport,
    settings: Evaluation,
    chosen: Sequence[Prompt],
    replies: Sequence[Reply],
    champion: Sequence[Scored] | None,
    suite: str | None = None,
) -> Result:
    """Score every reply and draw the verdicts. Pure.

    Args:
        seal: the passport of the base.
        settings: how the replies were made.
        chosen: the prompts.
        replies: of every side to each of them.
        champion: scores of the adapter in use, where the new one must beat it.
        suite: name of a suite; None for the 35 prompts, by which alone an adapter is promoted.
    """
    there = columns(replies)
    by_id = {prompt.id: prompt for prompt in chosen}
    scored = [scored_reply(reply, by_id[reply.prompt], settings.max_reply_words) for reply in replies]
    sides: dict[Side, list[Scored]] = {side: [item for item in scored if item.side == side] for side in there}
    is_pair = {"stock", "adapted"} <= set(there)
    against_stock = compare(sides["stock"], sides["adapted"], "stock", settings.alpha) if is_pair else None
    against_champion = compare(champion, sides["adapted"], "the champion", settings.alpha) if champion else None
    comparisons = [item for item in (against_stock, against_champion) if item is not None]
    told = {side: found for side in there if (found := following(chosen, replies, side)) is not None}
    return Result(
        passport=seal,
        settings=settings,
        prompts=tuple(chosen),
        replies=tuple(replies),
        scored=tuple(scored),
        rates={side: {name: rate(sides[side], name, settings.alpha) for name in scorers.SCORERS} for side in there},
        comparison=against_stock,
        champion=against_champion,
        barbell=barbell(scored, settings.alpha),
        poles=poles(scored, settings.alpha),
        promotion=decide(seal.verdict, comparisons) if suite is None else None,
        suite=suite,
        following=told,
    )


def poles(scored: Sequence[Scored], alpha: float) -> dict[str, dict[Side, Panel]]:
    """Whether the qualities of replies have one mode or two, by category and side."""
    found: dict[str, dict[Side, Panel]] = {}
    there = [side for side in COLUMNS if any(item.side == side for item in scored)]
    for category in (*in_order(item.category for item in scored), "all"):
        chosen = [item for item in scored if category in (item.category, "all")]
        step = 1 / median(max(1, sum(score.passed is not None for score in item.scores)) for item in chosen)
        found[category] = {}
        for side in there:
            by_prompt: dict[str, list[float]] = {}
            for item in chosen:
                if item.side == side:
                    by_prompt.setdefault(item.prompt, []).append(quality(item))
            found[category][side] = panel(by_prompt, step, alpha)
    return found


def scored_reply(reply: Reply, prompt: Prompt, max_words: int | None) -> Scored:
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
    rates = {side: {name: rounded(asdict(item)) for name, item in result.rates[side].items()} for side in result.sides}
    comparison, champion = result.comparison, result.champion
    return {
        "template": result.passport.verdict,
        "witnesses": result.passport.as_dict()["witnesses"],
        **{side: {name: item["value"] for name, item in found.items()} for side, found in rates.items()},
        "counts": {side: {name: [item["count"], item["of"]] for name, item in found.items()} for side, found in rates.items()},
        "intervals": {side: {name: [item["low"], item["high"]] for name, item in found.items()} for side, found in rates.items()},
        "good": {name: scorer.good for name, scorer in scorers.SCORERS.items()},
        "void": {side: result.void(side) for side in result.sides} | {"of": result.each},
        "families": {name: asdict(item) for name, item in comparison.families.items()} if comparison else None,
        "tests": {name: rounded(asdict(item)) for name, item in comparison.tests.items()} if comparison else None,
        "compliance": {name: rounded(asdict(item)) for name, item in comparison.compliance.items()} if comparison else None,
        "champion": {name: asdict(item) for name, item in champion.families.items()} if champion else None,
        "barbell": rounded(msgspec.to_builtins(result.barbell)),
        "poles": rounded(msgspec.to_builtins(result.poles)),
        "following": msgspec.to_builtins(result.following),
        "rater": rated(result),
        "first_tokens": rounded(msgspec.to_builtins(result.first_tokens)),
        "prompts": len(result.prompts),
        "seeds": result.settings.seeds,
        "promote": msgspec.to_builtins(result.promotion),
    }


def rated(result: Result) -> dict[str, Any] | None:
    """What the rater said: its exam, and by side the mean and the count of each score; no score without the exam."""
    if result.ratings is None:
        return None
    found: dict[str, Any] = {}
    for side in result.sides if result.ratings.exam.passed else ():
        scores = [item.score for item in result.ratings.ratings if item.side == side and item.score is not None]
        found[side] = {
            "mean": round(fmean(scores), DECIMALS) if scores else None,
            "counts": [scores.count(level) for level in LEVELS],
            "of": sum(item.side == side for item in result.ratings.ratings),
        }
    exam = rounded(msgspec.to_builtins(result.ratings.exam))
    return {
        "judge": result.ratings.judge,
        "template": result.ratings.template,
        "exam": exam,
        "scores": found,
        "warnings": list(result.ratings.warnings),
    }


def plot_rows(result: Result) -> list[dict[str, Any]]:
    """One row a score and side, for DVC's plot: the share of replies that fails, or passes where high is good."""
    return [
        {"score": f"{scorers.SCORERS[name].title}, {side}", "share": round(found.value, DECIMALS), "of": found.of}
        for name in scorers.SCORERS
        for side in result.sides
        if (found := result.rates[side][name]).value is not None
    ]


def table(result: Result) -> dict[str, Any]:
    """Every reply with its scores, in the form that MLflow shows as a table: `columns` and `data`."""
    texts = {(reply.prompt, reply.seed, reply.side): reply for reply in result.replies}
    head = ["prompt", "category", "seed", "side", "pole", "void", "cut off", *scorers.SCORERS, "reply"]
    rows = []
    for item in result.scored:
        reply = texts[item.prompt, item.seed, item.side]
        judged = [item.passed(name) for name in scorers.SCORERS]
        rows.append(
            [item.prompt, item.category, item.seed, item.side, item.pole, item.void, reply.truncated, *judged, reply.text]
        )
    return {"columns": head, "data": rows}


def rounded(value: Any) -> Any:
    """The same value with its floats to six decimals: what a reader and DVC's metrics diff need."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return round(value, DECIMALS) if isinstance(value, float) else value


def flat(result: Result) -> Report:
    """The numbers for tracking."""
    numbers: Report = {"template": result.passport.verdict}
    if result.promotion is not None:
        numbers["promote"] = result.promotion.verdict
    for side in result.sides:
        numbers[f"{side}/void"] = result.void(side)
        for name, item in result.rates[side].items():
            if item.value is not None:
                numbers[f"{side}/{name}"] = round(item.value, DECIMALS)
    if result.comparison is not None:
        for family, verdict in result.comparison.families.items():
            numbers[f"family/{family}"] = verdict.verdict
    for side, found in result.following.items():
        for name in ("prompt_strict", "prompt_loose", "instruction_strict", "instruction_loose"):
            count, of = getattr(found, name)
            numbers[f"{side}/ifeval_{name}"] = round(count / of, DECIMALS)
    return numbers
