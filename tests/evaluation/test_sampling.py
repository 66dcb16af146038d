import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nightgarden.evaluation.sampling import gumbel, noise_key

key = st.integers(0, 2**64 - 1)


@given(key, key, st.integers(0, 500), st.lists(st.integers(0, 200_000), min_size=1, max_size=20))
def test_the_noise_of_a_row_depends_on_nothing_but_its_own_key_position_and_tokens(
    mine: int, other: int, position: int, tokens: list[int]
) -> None:
    alone = gumbel([mine], [position], np.array([tokens]))
    together = gumbel([other, mine], [position, position], np.array([tokens, tokens]))
    assert np.array_equal(alone[0], together[1])
    assert np.isfinite(alone).all()
    assert gumbel([mine], [position], np.array([tokens[::-1]]))[0].tolist() == alone[0][::-1].tolist()


def test_draws_follow_the_shares() -> None:
    shares = np.array([0.5, 0.3, 0.15, 0.05])
    keys = [noise_key([7, number], 0) for number in range(20_000)]
    noise = gumbel(keys, [0] * len(keys), np.tile(np.arange(4), (len(keys), 1)))
    drawn = np.bincount((np.log(shares) + noise).argmax(1), minlength=4) / len(keys)
    assert np.abs(drawn - shares).max() < 4 * (0.25 / len(keys)) ** 0.5


def test_another_seed_position_or_prompt_gives_other_noise() -> None:
    tokens = np.array([[1, 2, 3]])
    seen = [
        gumbel([noise_key(prompt, seed)], [position], tokens).tobytes()
        for prompt in ([1, 2], [1, 3])
        for seed in (0, 1)
        for position in (0, 1)
    ]
    assert len(set(seen)) == len(seen)
