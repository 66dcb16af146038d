from hypothesis import given
from hypothesis import strategies as st

from nightgarden.trust.blend import blend, consulted

SHARE = st.floats(0, 1)


def test_trust_is_the_share_of_the_say() -> None:
    assert blend(4.0, 8.0, trust=0.25, consult_from=0.2) == 5.0


def test_below_the_threshold_and_unmeasured_the_heuristic_speaks_alone() -> None:
    assert blend(4.0, 8.0, trust=0.19, consult_from=0.2) == 4.0
    assert blend(4.0, 8.0, trust=None, consult_from=0.0) == 4.0
    assert consulted(0.2, 0.2) and not consulted(None, 0.0)


@given(SHARE, SHARE, SHARE, SHARE)
def test_the_blend_lies_between_its_two_voices(heuristic: float, prediction: float, trust: float, consult_from: float) -> None:
    low, high = sorted((heuristic, prediction))
    assert low - 1e-9 <= blend(heuristic, prediction, trust, consult_from) <= high + 1e-9
