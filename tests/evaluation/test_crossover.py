"""Who wrote the first tokens and who went on are two causes, told apart by crossing them."""

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgarden.evaluation.answers import SIDES, Score, Scored, Side
from nightgarden.evaluation.crossover import Crossed, Writer, panel, quality

WRITERS: tuple[Writer, ...] = ("stock", "adapted", "placebo")


def interval(values: Mapping[str, Sequence[float]]) -> tuple[float, float]:
    """A normal interval over the means of the prompts."""
    means = [fmean(group) for group in values.values()]
    half = 1.96 * stdev(means) / len(means) ** 0.5
    return fmean(means) - half, fmean(means) + half


def truth(beginning: float, rest: float, placebo: float = 0.0, noise: Sequence[float] = (0.0, 0.02, -0.02, 0.01)):
    """Qualities under planted effects of the beginning and of the rest, for prompts that differ a little."""
    gain: dict[Writer, float] = {"stock": 0.0, "adapted": beginning, "placebo": placebo}
    keys = [(f"p{number}", 0) for number in range(len(noise))]

    def value(writer: Writer, side: Side, wobble: float) -> float:
        return 0.3 + gain[writer] + (rest if side == "adapted" else 0.0) * (1 + wobble) + (wobble if writer == "adapted" else 0)

    unbroken = {side: {key: value(side, side, noise[at]) for at, key in enumerate(keys)} for side in SIDES}
    crossed = [
        Crossed(prompt=key[0], seed=key[1], k=k, beginning=writer, rest=side, quality=value(writer, side, noise[at]))
        for k in (1, 5)
        for at, key in enumerate(keys)
        for writer in WRITERS
        for side in SIDES
        if writer != side
    ]
    return unbroken, crossed


def test_a_planted_effect_of_the_beginning_is_found_and_decides() -> None:
    found = panel(*truth(beginning=0.4, rest=0.05), interval)
    assert found.verdict == "decide" and "first 1 tokens" in found.reason
    assert found.points[0].beginning.value == pytest.approx(0.4025, abs=1e-9)
    assert found.points[0].rest.value == pytest.approx(0.05, abs=0.001)


def test_a_planted_effect_of_the_rest_does_not_decide() -> None:
    found = panel(*truth(beginning=0.0, rest=0.4), interval)
    assert found.verdict == "do not decide"


def test_no_difference_cannot_be_told() -> None:
    assert panel(*truth(beginning=0.0, rest=0.0), interval).verdict == "cannot tell"


def test_a_beginning_that_helps_no_more_than_any_other_decides_nothing() -> None:
    assert panel(*truth(beginning=0.4, rest=0.0, placebo=0.5), interval).verdict != "decide"


qualities = st.lists(st.floats(0, 1), min_size=6, max_size=6)


@given(cells=st.lists(qualities, min_size=2, max_size=5))
def test_beginning_and_rest_add_up_to_the_whole_difference(cells: list[list[float]]) -> None:
    pairs = [(writer, side) for writer in WRITERS for side in SIDES]
    unbroken: dict[Side, dict[tuple[str, int], float]] = {side: {} for side in SIDES}
    crossed = []
    for number, values in enumerate(cells):
        for (writer, side), value in zip(pairs, values, strict=True):
            if writer == side:
                unbroken[side][f"p{number}", 0] = value
            else:
                crossed.append(Crossed(prompt=f"p{number}", seed=0, k=3, beginning=writer, rest=side, quality=value))
    found = panel(unbroken, crossed, interval)
    (point,) = found.points
    assert point.beginning.value + point.rest.value == pytest.approx(found.total.value, abs=1e-12)


def test_a_missing_reply_is_an_error_and_no_zero() -> None:
    unbroken, crossed = truth(beginning=0.4, rest=0.0)
    with pytest.raises(ValueError, match="prompt p0, seed 0: only"):
        panel(unbroken, crossed[1:], interval)


def test_quality_is_the_share_of_applicable_checks_that_pass_and_zero_for_a_void_reply() -> None:
    def scored(void: str | None, *passed: bool | None) -> Scored:
        scores = tuple(Score(name=str(at), value=None, passed=each, reason="") for at, each in enumerate(passed))
        return Scored(prompt="p", category="c", seed=0, side="stock", void=void, pole="middle", scores=scores)

    assert quality(scored(None, True, False, None, True)) == pytest.approx(2 / 3)
    assert quality(scored("empty", True, True)) == quality(scored(None, None)) == 0
