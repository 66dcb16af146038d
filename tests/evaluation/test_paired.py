from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgarden.evaluation.paired import detectable, flips_needed, holm, mcnemar, paired_difference, wilson

counts = st.integers(0, 60)


def test_wilson_is_the_published_interval() -> None:
    """Newcombe 1998, table I: 81 of 263, and 0 of 20."""
    assert wilson(81, 263, 0.05) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert wilson(0, 20, 0.05) == pytest.approx((0.0, 0.1611), abs=1e-4)


@given(counts, counts)
def test_an_interval_holds_its_share_and_stays_within_bounds(count: int, more: int) -> None:
    low, high = wilson(count, count + more, 0.05)
    share = count / (count + more) if count + more else 0.5
    assert 0 <= low <= share + 1e-12 and share - 1e-12 <= high <= 1


@given(counts, counts)
def test_mcnemar_is_a_fair_coin(won: int, lost: int) -> None:
    n = won + lost
    as_unlikely = sum(comb(n, k) for k in range(n + 1) if comb(n, k) <= comb(n, won)) / 2**n
    assert mcnemar(won, lost) == pytest.approx(as_unlikely)


def test_six_one_way_flips_are_the_fewest_that_one_test_believes() -> None:
    assert mcnemar(5, 0) > 0.05 > mcnemar(6, 0)
    assert flips_needed(1, 0.05) == 6
    assert flips_needed(7, 0.05) == 9


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1), max_size=9))
def test_holm_never_makes_a_p_smaller_and_keeps_their_order(p: dict[str, float]) -> None:
    adjusted = holm(p)
    assert all(p[name] <= adjusted[name] <= 1 for name in p)
    ranked = sorted(p, key=lambda name: p[name])
    assert all(adjusted[a] <= adjusted[b] for a, b in zip(ranked, ranked[1:], strict=False))


def test_holm_by_hand() -> None:
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03}) == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06})


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=40))
def test_a_difference_lies_in_its_interval_and_turns_with_its_sides(pairs: list[tuple[bool, bool]]) -> None:
    there = paired_difference(pairs, 0.05)
    back = paired_difference([(b, a) for a, b in pairs], 0.05)
    assert -1 <= there.low <= there.value + 1e-9 and there.value - 1e-9 <= there.high <= 1
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low))


def test_one_lost_reply_of_nine_is_no_loss_and_five_are() -> None:
    def lose(count: int) -> float:
        return paired_difference([(True, False)] * count + [(True, True)] * (9 - count), 0.05).high

    assert lose(1) > 0 > lose(5)


def test_the_smallest_change_that_can_be_seen_is_seen_four_times_of_five() -> None:
    """Counted again as a binomial tail: nine of 35 prompts must change one way before the first of seven tests holds."""
    share = detectable(35, 7, 0.05)
    assert share is not None and flips_needed(7, 0.05) == 9

    def seen(p: float) -> float:
        return sum(comb(35, k) * p**k * (1 - p) ** (35 - k) for k in range(9, 36))

    assert seen(share) == pytest.approx(0.8, abs=0.002)
    assert detectable(8, 7, 0.05) is None, "eight prompts cannot change nine times"
    larger = detectable(140, 7, 0.05)
    assert larger is not None and larger < share / 3
