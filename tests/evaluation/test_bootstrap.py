"""Intervals over prompts: seeds of one prompt are no new evidence, and an interval covers as often as it says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgarden.evaluation.bootstrap import cluster_interval, clustered_difference
from nightgarden.evaluation.paired import paired_difference

Pairs = dict[str, list[tuple[bool, bool]]]
pair = st.tuples(st.booleans(), st.booleans())
groups = st.dictionaries(st.text(max_size=3), st.lists(pair, min_size=1, max_size=4), max_size=9)


def test_three_equal_seeds_a_prompt_tell_no_more_than_one() -> None:
    once: Pairs = {f"p{n}": [(n < 8, n < 5)] for n in range(12)}
    thrice: Pairs = {prompt: pairs * 3 for prompt, pairs in once.items()}
    one, three = (cluster_interval({k: [b - a for a, b in v] for k, v in each.items()}, 0.05) for each in (once, thrice))
    assert one == pytest.approx(three)
    as_if_independent = paired_difference([pair for group in thrice.values() for pair in group], 0.05)
    found = clustered_difference(thrice, 0.05)
    assert found.high - found.low > as_if_independent.high - as_if_independent.low


def test_where_no_prompt_differs_the_interval_still_has_a_length() -> None:
    same: Pairs = {f"p{n}": [(True, True)] for n in range(9)}
    found = clustered_difference(same, 0.05)
    assert found.value == 0 and found.low < -0.2 and found.high > 0.2


@given(groups)
def test_a_difference_lies_in_its_interval_and_turns_with_its_sides(pairs: Pairs) -> None:
    there = clustered_difference(pairs, 0.05)
    back = clustered_difference({k: [(b, a) for a, b in v] for k, v in pairs.items()}, 0.05)
    assert -1 <= there.low <= there.value + 1e-9 and there.value - 1e-9 <= there.high <= 1
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low))


def test_an_adapter_that_changes_nothing_seldom_shows_a_loss() -> None:
    """400 draws: 35 prompts, three seeds that go together, no true difference; a loss is an interval below zero."""
    rng, lost = np.random.default_rng(20260907), 0
    for _ in range(400):
        easy = rng.beta(0.6, 0.6, size=35)  # a barbell of prompts
        pairs = {f"p{n}": [(bool(rng.random() < p), bool(rng.random() < p)) for _ in range(3)] for n, p in enumerate(easy)}
        lost += clustered_difference(pairs, 0.05).high < 0
    assert lost <= 20, "at most 5 %; 2.5 % are expected of one end"
