"""Two poles are called so where the dip sees them, one mode only where a second would have been seen."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgarden.evaluation.dip import dip
from nightgarden.evaluation.poles import icc, panel
from tests.evaluation.simulated import NULLS, TRUTHS, verdicts

GOLDEN = (
    ((0.805, 0.808, 0.515, 0.286, 0.054, 0.383, 0.408, 0.045), 0.123720136519),
    (
        (
            0.749,
            1.635,
            0.273,
            -1.233,
            -0.958,
            1.6,
            0.203,
            -1.732,
            -0.084,
            -1.163,
            -0.629,
            -0.488,
            -0.713,
            0.553,
            -0.063,
            -0.589,
            0.41,
            0.83,
            -1.643,
            -0.257,
        ),
        0.047826086957,
    ),
    (
        (
            -0.981,
            -0.173,
            -1.289,
            0.021,
            -0.038,
            -0.304,
            -1.048,
            -0.396,
            -1.091,
            -1.355,
            0.225,
            -1.109,
            1.17,
            0.717,
            -1.998,
            5.272,
            3.898,
            5.033,
            5.044,
            3.012,
            4.767,
            4.744,
            5.962,
            3.819,
            5.738,
            3.901,
            4.669,
            4.16,
            6.449,
            5.568,
        ),
        0.117055952588,
    ),
)
"""Samples with the dips that diptest 0.12.0 gives."""


@pytest.mark.parametrize(("sample", "wanted"), GOLDEN)
def test_the_dip_is_that_of_the_reference_implementation(sample: tuple[float, ...], wanted: float) -> None:
    assert dip(np.array(sample)) == pytest.approx(wanted, abs=1e-10)


samples = st.lists(st.floats(-100, 100, allow_nan=False).map(lambda value: round(value, 3)), min_size=2, max_size=40, unique=True)


@given(sample=samples, shift=st.integers(-50, 50), scale=st.sampled_from([0.5, 2.0, 8.0]))
def test_the_dip_knows_neither_place_nor_scale_nor_direction(sample: list[float], shift: int, scale: float) -> None:
    values = np.array(sample)
    found = dip(values)
    assert 1 / (2 * len(sample)) <= found + 1e-12 and found <= 0.25 + 1e-12
    assert dip(values * scale + shift) == pytest.approx(found, abs=1e-9)
    assert dip(-values) == pytest.approx(found, abs=1e-9)


@pytest.mark.parametrize("name", NULLS)
def test_scores_with_one_mode_are_called_two_poles_in_at_most_one_draw_of_twenty(name: str) -> None:
    assert verdicts(NULLS[name], 35, 100, seed=1)["two poles"] <= 5


def test_a_strong_barbell_of_35_prompts_is_found_and_a_tail_of_15_percent_cannot_be_told() -> None:
    assert verdicts(TRUTHS["barbell 35 / 45 %"], 35, 100, seed=1)["two poles"] >= 78
    assert verdicts(TRUTHS["15 % tail"], 35, 100, seed=1)["cannot tell"] >= 90


def test_guard_out_without_the_jitter_a_scale_of_five_points_has_two_poles_in_every_draw() -> None:
    draw, _ = NULLS["Likert, one mode"]
    random = np.random.default_rng(1)
    plain = [panel({f"p{n}": [float(v)] for n, v in enumerate(draw(random, 35))}, 0.0, 0.05).verdict for _ in range(40)]
    assert plain.count("two poles") >= 36


def test_too_few_prompts_cannot_be_told() -> None:
    found = panel({"a": [0.0], "b": [1.0], "c": [1.0]}, 0.2, 0.05)
    assert (found.verdict, found.p, found.power) == ("cannot tell", None, None)


def test_seeds_of_one_prompt_are_no_further_prompts() -> None:
    one = {f"p{n}": [n % 2 * 1.0] for n in range(8)}
    many = {prompt: values * 12 for prompt, values in one.items()}
    assert panel(one, 0.2, 0.05).p == panel(many, 0.2, 0.05).p


def test_the_intraclass_correlation_tells_prompts_from_seeds() -> None:
    assert icc({"a": [1.0, 1.0], "b": [0.0, 0.0]}) == 1
    assert icc({"a": [1.0, 0.0], "b": [0.0, 1.0]}) == 0
    assert icc({"a": [1.0], "b": [0.0]}) is None, "one seed tells nothing of seeds"
    assert icc({"a": [1.0, 1.0], "b": [1.0, 1.0]}) is None, "nothing varies"
    shrout = {"1": [9, 2, 5, 8], "2": [6, 1, 3, 2], "3": [8, 4, 6, 8], "4": [7, 1, 2, 6], "5": [10, 5, 6, 9], "6": [6, 2, 4, 7]}
    assert icc({name: [float(v) for v in row] for name, row in shrout.items()}) == pytest.approx(0.17, abs=0.005)


def test_shares_at_the_poles_come_with_intervals() -> None:
    found = panel({f"p{n}": [value] for n, value in enumerate([0.2, 0.4, 0.6, 0.8, 1.0, 1.0])}, 0.2, 0.05)
    assert [share[0] for share in (found.low, found.middle, found.high)] == pytest.approx([2 / 6, 1 / 6, 3 / 6])
    assert all(low <= share <= high for share, low, high in (found.low, found.middle, found.high))


def test_nothing_to_judge_is_an_error() -> None:
    with pytest.raises(ValueError, match="no score"):
        panel({}, 0.2, 0.05)


def test_two_modes_that_are_no_poles_are_not_called_so() -> None:
    """Good and perfect replies part in two, and hardly one fails."""
    scores = {f"p{n:03}": [0.6 if n % 2 else 1.0] * 3 for n in range(70)}
    found = panel(scores, 0.1, 0.05)
    assert (found.verdict, found.low[0]) == ("two modes", 0.0)
    worse = panel({key: [0.2 if value[0] < 1 else 1.0] * 3 for key, value in scores.items()}, 0.1, 0.05)
    assert worse.verdict == "two poles"
