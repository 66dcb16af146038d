"""A rater that cannot find known levels again is refused; a noisy one that can is not."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgarden.evaluation import exam
from nightgarden.evaluation.exam import examine, warnings, weighted_kappa
from tests.evaluation.raters import BAD, GOOD, KEY, refused


@pytest.mark.parametrize("name", BAD)
def test_guard_in_bad_raters_are_refused_in_99_of_100_exams(name: str) -> None:
    assert refused(BAD[name], seed=1, draws=300) >= 297


@pytest.mark.parametrize("name", GOOD)
def test_clean_case_a_noisy_rater_passes_in_99_of_100_exams(name: str) -> None:
    assert refused(GOOD[name], seed=1, draws=300) <= 3


def test_guard_out_without_the_limits_the_rater_that_gives_all_a_1_would_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {"MIN_DISTINCT": 0, "MAX_MEAN_ERROR": 9.0, "MIN_KAPPA": -9.0, "MIN_WITHIN_ONE": 0.0}
    for name, value in limits.items():
        monkeypatch.setattr(exam, name, value)
    assert examine(KEY, [1] * len(KEY)).passed


def test_a_perfect_rater_passes_and_its_numbers_are_told() -> None:
    found = examine(KEY, KEY)
    assert (found.passed, found.kappa, found.mean_error, found.within_one) == (True, 1.0, 0.0, 1.0)


def test_each_limit_has_a_reason_of_its_own() -> None:
    harsh = examine(KEY, [max(1, level - 1) for level in KEY])
    assert not harsh.passed and "harsh by 0.80 on average" in harsh.reasons[0]
    same = examine(KEY, [3] * len(KEY))
    assert [reason.split(" ")[0] for reason in same.reasons] == ["1", "weighted", "60%"]


def test_an_answer_that_could_not_be_read_is_missing_and_never_a_number() -> None:
    found = examine(KEY, [None, *KEY[1:]])
    assert found.passed and found.scores[0] is None and found.mean_error == 0
    assert found.within_one == pytest.approx(29 / 30)
    unread = examine(KEY, [None] * len(KEY))
    assert not unread.passed and unread.kappa is None and "none of the answers" in unread.reasons[0]
    assert not examine(KEY, [None] * 5 + KEY[5:]).passed, "a sixth that cannot be read"


def test_other_anchors_are_an_error() -> None:
    with pytest.raises(ValueError, match="6 of each level are needed"):
        examine(KEY[:15], KEY[:15])


levels = st.lists(st.integers(1, 5), min_size=2, max_size=30)


@given(one=levels)
def test_kappa_is_one_for_equal_ratings_that_vary(one: list[int]) -> None:
    assert weighted_kappa(one, one) == (1.0 if len(set(one)) > 1 else 0.0)


def test_kappa_is_zero_at_chance() -> None:
    chance = random.Random(1)
    many = [chance.randint(1, 5) for _ in range(1000)]
    assert abs(weighted_kappa(many, many[1:] + many[:1])) < 0.1


def test_odd_scores_of_real_answers_are_told() -> None:
    assert warnings([3, 4, 3, 2, 4, 5]) == []
    assert "9 of 10 replies got a 1" in warnings([1] * 9 + [3])[0]
    assert any("the normal range" in warning for warning in warnings([1, 5, 1, 5, 3]))
    assert "1 of 3 answers could not be read" in warnings([3, None, 4])[0]
