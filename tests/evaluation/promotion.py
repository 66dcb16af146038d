"""`python -m tests.evaluation.promotion`: the promotion rule on five planted cases, with its decision and reason."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from nightgarden import params as params_module
from nightgarden.evaluation import prompts
from nightgarden.evaluation.answers import SIDES, Reply, Scored, Side
from nightgarden.evaluation.promotion import Promotion
from nightgarden.evaluation.results import judge
from nightgarden.params import Evaluation
from nightgarden.records import Constraint, Prompt
from nightgarden.templates.passport import Passport, Verdict, Witness

ROOT = Path(__file__).parents[2]
PLAIN, CHATTY = "It is in the cellar.", "Certainly! It is in the cellar. Shall I go on?"
PLAIN_ELSEWHERE, SILENT_STYLE = "It is upstairs.", "It is in the cellar. Shall I go on?"


@dataclass(frozen=True, kw_only=True)
class Case:
    """Who says what to every prompt, and what must be decided."""

    name: str
    stock: str
    adapted: str
    champion: str | None = None
    passport: Verdict = "agree"
    verdict: str
    reason: str
    """Part of the reason that must be given."""


CASES = (
    Case(name="clear win", stock=CHATTY, adapted=PLAIN, verdict="promote", reason="no category loses compliance"),
    Case(
        name="style win with compliance loss",
        stock=CHATTY,
        adapted=PLAIN_ELSEWHERE,
        verdict="keep",
        reason="Compliance was lost in identity stripping",
    ),
    Case(name="no change", stock=PLAIN, adapted=PLAIN, verdict="keep", reason="No score improves on stock after Holm"),
    Case(
        name="better than stock, worse than the champion",
        stock=CHATTY,
        adapted=SILENT_STYLE,
        champion=PLAIN,
        verdict="keep",
        reason="No score improves on the champion after Holm",
    ),
    Case(
        name="passport unverified",
        stock=CHATTY,
        adapted=PLAIN,
        passport="unverified",
        verdict="keep",
        reason="The template passport is unverified",
    ),
)


def decided(case: Case, settings: Evaluation) -> Promotion:
    """What the rule makes of a case: the 35 prompts, each of which now asks for the word `cellar`."""
    wanted = (Constraint(kind="must_contain", any=("cellar",)),)
    chosen = [msgspec.structs.replace(prompt, constraints=wanted) for prompt in prompts.load(ROOT / prompts.FILE)]
    witness = Witness(name="canary", says=case.passport, why="planted")
    seal = Passport(folder=Path("base"), family="smollm2", template=None, witnesses=(witness,))
    replies = [reply for side, text in zip(SIDES, (case.stock, case.adapted), strict=True) for reply in said(chosen, side, text)]
    found = judge(
        seal, settings, chosen, replies, None if case.champion is None else rival(chosen, case.champion, settings, seal)
    )
    assert found.promotion is not None
    return found.promotion


def rival(chosen: Sequence[Prompt], text: str, settings: Evaluation, seal: Passport) -> list[Scored]:
    """Scores of a champion that says a text to every prompt."""
    return list(judge(seal, settings, chosen, said(chosen, "adapted", text), None, suite="champion").scored)


def said(chosen: Sequence[Prompt], side: Side, text: str) -> list[Reply]:
    """One reply a prompt, all alike."""
    return [
        Reply(
            prompt=prompt.id,
            category=prompt.category,
            seed=0,
            side=side,
            prompt_ids=(1,),
            prompt_sha="",
            reply_ids=(2,),
            text=text,
            truncated=False,
        )
        for prompt in chosen
    ]


def main() -> None:
    """Print the table."""
    settings = params_module.load(ROOT / "params.yaml").evaluation
    for case in CASES:
        found = decided(case, settings)
        sys.stdout.write(f"{case.name:45} {found.verdict:8} {found.reason}\n")


if __name__ == "__main__":
    main()
