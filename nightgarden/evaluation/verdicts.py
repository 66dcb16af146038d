"""From scores to rates, paired tests and one verdict a family. Pure: equal scores, equal verdict.

The unit of a test is the prompt: with several seeds a prompt is won where more of its replies pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from nightgarden.evaluation.answers import Scored
from nightgarden.evaluation.bootstrap import clustered_difference
from nightgarden.evaluation.paired import Difference, detectable, flips_needed, holm, mcnemar, wilson
from nightgarden.evaluation.prompts import in_order
from nightgarden.evaluation.scorers import SCORERS

Verdict = Literal["improved", "worse", "cannot tell"]
FAMILIES: dict[str, tuple[str, ...]] = {
    family: tuple(name for name, scorer in SCORERS.items() if scorer.family == family) for family in ("suppression", "generation")
}
TESTED: tuple[str, ...] = tuple(name for names in FAMILIES.values() for name in names)
"""The scores that Holm's correction runs over."""


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A score over the replies of one side."""

    count: int
    """Failing replies where low is good, passing ones where high is good."""
    of: int
    """Replies that the scorer judged."""
    value: float | None
    """None with nothing judged."""
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Test:
    """One score on two sides, prompt by prompt."""

    won: int
    lost: int
    of: int
    """Prompts with a judged pair of replies."""
    p: float
    """McNemar's exact test, two-sided."""
    p_holm: float
    detectable: float | None
    """Smallest share of the `of` prompts, changed one way, that would be found four times of five; None: no share would."""
    verdict: Verdict


@dataclass(frozen=True, kw_only=True)
class FamilyVerdict:
    """What can be said of a family of scores."""

    verdict: Verdict
    reason: str


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Everything that the paired tests say of one side against another."""

    against: str
    """Name of the other side, as reasons say it."""
    tests: dict[str, Test]
    compliance: dict[str, Difference]
    """By category, and `all`: replies that are not void and break no constraint; intervals over prompts."""
    families: dict[str, FamilyVerdict]


def rate(scored: Sequence[Scored], name: str, alpha: float) -> Rate:
    """A score's rate over the replies that were judged."""
    judged = [passed for item in scored if (passed := item.passed(name)) is not None]
    count = sum(judged) if SCORERS[name].good == "high" else len(judged) - sum(judged)
    low, high = wilson(count, len(judged), alpha)
    return Rate(count=count, of=len(judged), value=count / len(judged) if judged else None, low=low, high=high)


def compare(before: Sequence[Scored], after: Sequence[Scored], against: str, alpha: float) -> Comparison:
    """Compare two sides over the prompts and seeds that both have."""
    pairs = _pairs(before, after)
    tests = _tests(pairs, alpha)
    compliance = {
        category: clustered_difference(_complied(pairs, category), alpha)
        for category in (*in_order(new.category for _, new in pairs), "all")
    }
    families = {family: _family(family, tests, lost_compliance(compliance, against), alpha) for family in FAMILIES}
    return Comparison(against=against, tests=tests, compliance=compliance, families=families)


def _complied(pairs: Sequence[tuple[Scored, Scored]], category: str) -> dict[str, list[tuple[bool, bool]]]:
    """Whether the replies of a category comply before and after, by prompt."""
    by_prompt: dict[str, list[tuple[bool, bool]]] = {}
    for old, new in pairs:
        if category in (new.category, "all"):
            by_prompt.setdefault(new.prompt, []).append((old.complies, new.complies))
    return by_prompt


def _pairs(before: Sequence[Scored], after: Sequence[Scored]) -> list[tuple[Scored, Scored]]:
    old = {(item.prompt, item.seed): item for item in before}
    return [(old[item.prompt, item.seed], item) for item in after if (item.prompt, item.seed) in old]


def _tests(pairs: Sequence[tuple[Scored, Scored]], alpha: float) -> dict[str, Test]:
    counts = {name: _count(pairs, name) for name in TESTED}
    p = {name: mcnemar(won, lost) for name, (won, lost, _) in counts.items()}
    adjusted = holm(p)
    tests = {}
    for name, (won, lost, of) in counts.items():
        sure = adjusted[name] <= alpha
        verdict: Verdict = "cannot tell" if not sure else "improved" if won > lost else "worse"
        tests[name] = Test(
            won=won,
            lost=lost,
            of=of,
            p=p[name],
            p_holm=adjusted[name],
            detectable=detectable(of, len(TESTED), alpha),
            verdict=verdict,
        )
    return tests


def _count(pairs: Sequence[tuple[Scored, Scored]], name: str) -> tuple[int, int, int]:
    """Prompts won, lost and judged, over the seeds that are judged on both sides."""
    balance: dict[str, int] = {}
    for old, new in pairs:
        first, second = old.passed(name), new.passed(name)
        if first is not None and second is not None:
            balance[new.prompt] = balance.get(new.prompt, 0) + second - first
    return sum(value > 0 for value in balance.values()), sum(value < 0 for value in balance.values()), len(balance)


def lost_compliance(compliance: dict[str, Difference], against: str) -> str | None:
    """The first category whose loss of compliance has an interval below zero, in a sentence; or None."""
    for category, change in compliance.items():
        if change.high < 0:
            return (
                f"{readable(category)}: {change.after} of {change.of} replies comply, {change.before} with {against} "
                f"(difference {change.low:+.0%} to {change.high:+.0%})"
            )
    return None


def readable(category: str) -> str:
    """A category as a person reads it."""
    return "all categories" if category == "all" else category.replace("_", " ")


def _family(family: str, tests: dict[str, Test], lost: str | None, alpha: float) -> FamilyVerdict:
    """Worse if any score is, improved if any is and none is worse, and never by style alone."""
    names = FAMILIES[family]
    worse = [told(name, tests[name]) for name in names if tests[name].verdict == "worse"]
    better = [told(name, tests[name]) for name in names if tests[name].verdict == "improved"]
    if worse:
        return FamilyVerdict(verdict="worse", reason="; ".join(worse))
    if better and lost:
        return FamilyVerdict(verdict="cannot tell", reason=f"{'; '.join(better)}, but compliance was lost in {lost}")
    if better:
        return FamilyVerdict(verdict="improved", reason="; ".join(better))
    nearest = min(names, key=lambda name: (tests[name].p_holm, tests[name].p, name))
    needed = flips_needed(len(tests), alpha)
    return FamilyVerdict(
        verdict="cannot tell",
        reason=f"nothing holds after Holm; nearest: {told(nearest, tests[nearest])}; {needed} prompts changed all one way would",
    )


def told(name: str, test: Test) -> str:
    """A test in a few words."""
    return f"{name.replace('_', ' ')} {test.won} won, {test.lost} lost of {test.of}, p {test.p_holm:.2g}"
