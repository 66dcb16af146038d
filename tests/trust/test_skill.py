import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nightgarden.records import HEADS
from nightgarden.trust.skill import measure

COLD, NEUTRAL, WARM = [1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]


def rows(*values: float) -> np.ndarray:
    return np.array(values, dtype=float).reshape(-1, 1)


def test_a_class_head_is_measured_against_the_majority() -> None:
    truth = rows(2, 2, 2, 0, 1)
    assert measure("reaction", truth, np.array([WARM, WARM, WARM, COLD, WARM])).value == pytest.approx((0.8 - 0.6) / 0.4)
    assert measure("reaction", truth, np.array([WARM] * 5)).value == pytest.approx(0)
    assert measure("reaction", truth, np.array([COLD] * 5)).value == pytest.approx((0.2 - 0.6) / 0.4)


def test_relevance_is_a_choice_between_yes_and_no_at_one_half() -> None:
    skill = measure("relevance", rows(1, 1, 0, 0), rows(0.5, 0.9, 0.49, 0.6))
    assert skill.value == pytest.approx(0.5)
    assert skill.baseline == 0.5


def test_a_graded_head_is_measured_against_the_variance() -> None:
    skill = measure("importance", rows(2, 4, 6, 8), rows(3, 4, 6, 7))
    assert skill.baseline == pytest.approx(5)
    assert skill.value == pytest.approx(1 - 0.5 / 5)


def test_the_six_feelings_count_together_so_that_a_rare_one_does_not_rule() -> None:
    truth = np.array([[0.9, 0, 0, 0, 0, 0.02], [0.1, 0, 0, 0, 0, 0.0], [0.5, 0, 0, 0, 0, 0.0]])
    guess = np.array([[0.8, 0, 0, 0, 0, 0.1], [0.2, 0, 0, 0, 0, 0.1], [0.5, 0, 0, 0, 0, 0.1]])
    assert (measure("appraisal", truth, guess).value or 0) > 0.5
    assert (measure("interest", truth[:, 5:], guess[:, 5:]).value or 0) < -50


@pytest.mark.parametrize(
    ("truth", "said", "why"),
    [
        (rows(), None, "0 held-out lessons; a skill needs at least 2"),
        (rows(2), np.array([WARM]), "1 held-out lesson; a skill needs at least 2"),
        (rows(2, 2, 2), np.array([WARM] * 3), "all 3 held-out labels are of one class"),
        (rows(2, 0), None, "no such head"),
        (rows(2, 0), np.array([WARM, [np.nan, 0, 0]]), "not finite"),
    ],
)
def test_a_skill_that_has_no_value_says_why_and_is_no_zero(truth: np.ndarray, said: np.ndarray | None, why: str) -> None:
    skill = measure("reaction", truth, said)
    assert skill.value is None and skill.trust is None
    assert why in skill.why
    assert skill.n == len(truth)


def test_equal_targets_have_no_variance_to_measure_against() -> None:
    skill = measure("interest", rows(0.4, 0.4), rows(0.4, 0.4))
    assert skill.value is None
    assert "the same number" in skill.why


@given(arrays(float, st.tuples(st.integers(2, 20), st.just(1)), elements=st.floats(0, 1, width=16)))
def test_the_truth_has_skill_1_and_the_mean_has_skill_0_wherever_they_are_defined(truth: np.ndarray) -> None:
    perfect, mean = measure("interest", truth, truth), measure("interest", truth, np.full_like(truth, truth.mean()))
    if perfect.value is not None and mean.value is not None:
        assert perfect.value == 1
        assert mean.value == pytest.approx(0, abs=1e-6)


@given(st.sampled_from(HEADS), st.floats(-5, 1))
def test_trust_is_skill_floored_at_0(head: str, value: float) -> None:
    skill = measure("reaction", rows(0, 1), np.array([COLD, NEUTRAL]))
    assert skill.trust == 1
    assert type(skill)(value=value, n=3, baseline=0.5).trust == max(0, value)
