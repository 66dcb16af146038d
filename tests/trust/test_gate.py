from pathlib import Path

import pytest

from nightgarden import params
from nightgarden.records import Head
from nightgarden.trust.gate import decide
from nightgarden.trust.skill import Skill

SETTINGS = params.load(Path(__file__).parents[2] / "params.yaml").night.trust
OPEN = SETTINGS.model_copy(update={"min_mean_change": -9.0, "max_head_drop": 9.0})
"""The gate with its guard taken out."""


def skills(**values: float | None) -> dict[Head, Skill]:
    return {head: Skill(value=value, n=40, baseline=0.5) for head, value in values.items()}


def test_a_model_that_is_worse_on_the_same_rows_is_rolled_back_and_only_the_gate_prevents_it() -> None:
    good, worse = skills(reaction=0.40, importance=0.30), skills(reaction=0.35, importance=0.28)
    verdict = decide(worse, good, True, SETTINGS)
    assert verdict.end == "RolledBack"
    assert "mean skill change -0.035 over 2 heads (limit -0.02)" in verdict.reason
    assert decide(worse, good, True, OPEN).end == "Promoted"
    assert decide(good, worse, True, SETTINGS).end == "Promoted"


def test_one_head_may_not_pay_for_the_others() -> None:
    before, after = skills(reaction=0.40, importance=0.30), skills(reaction=0.24, importance=0.60)
    verdict = decide(after, before, True, SETTINGS)
    assert verdict.end == "RolledBack"
    assert "largest drop 0.160 (reaction 0.400 to 0.240 on the same 40 lessons, limit 0.15)" in verdict.reason
    assert decide(after, before, True, OPEN).end == "Promoted"
    assert decide(skills(reaction=0.26, importance=0.60), before, True, SETTINGS).end == "Promoted"


def test_a_small_loss_within_the_limits_is_promoted() -> None:
    assert decide(skills(reaction=0.39), skills(reaction=0.40), True, SETTINGS).end == "Promoted"


def test_a_negative_skill_counts_as_it_is_and_not_as_0() -> None:
    verdict = decide(skills(interest=-2.2), skills(interest=-1.5), True, SETTINGS)
    assert verdict.end == "RolledBack"


def test_an_undefined_head_takes_no_part() -> None:
    before, after = skills(reaction=0.40, interest=None), skills(reaction=0.40, interest=None)
    assert "over 1 heads" in decide(after, before, True, SETTINGS).reason
    newly = decide(skills(reaction=0.40, interest=0.9), before, True, SETTINGS)
    assert newly.end == "Promoted" and "over 1 heads" in newly.reason


def test_a_head_that_the_candidate_lost_is_a_loss_and_not_a_gap() -> None:
    verdict = decide(skills(reaction=0.5, interest=None), skills(reaction=0.4, interest=0.3), True, SETTINGS)
    assert verdict.end == "RolledBack"
    assert verdict.reason.startswith("interest can no longer be measured")


def test_a_night_without_any_measured_head_is_held() -> None:
    assert decide(skills(reaction=None), skills(reaction=None), True, SETTINGS).end == "Held"


def test_the_first_night_needs_a_defined_head_and_finite_losses() -> None:
    assert decide(skills(reaction=-0.1, interest=None), None, True, SETTINGS).end == "Promoted"
    assert decide(skills(reaction=None), None, True, SETTINGS).end == "Held"
    assert decide(skills(reaction=0.5), None, False, SETTINGS).end == "Held"


def test_a_loss_that_is_not_finite_never_passes() -> None:
    verdict = decide(skills(reaction=0.9), skills(reaction=0.1), False, SETTINGS)
    assert (verdict.end, verdict.reason) == ("RolledBack", "a training loss was not a finite number")


@pytest.mark.parametrize("end", ["Promoted", "RolledBack"])
def test_the_reason_is_one_sentence_with_numbers(end: str) -> None:
    after = skills(reaction=0.5 if end == "Promoted" else 0.1)
    verdict = decide(after, skills(reaction=0.4), True, SETTINGS)
    assert verdict.end == end
    assert "\n" not in verdict.reason and any(letter.isdigit() for letter in verdict.reason)
