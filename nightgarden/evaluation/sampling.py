"""The noise of sampling, as a pure function of seed, prompt, position and token.

No generator has a state, so a reply does not depend on which other prompts share its batch, on where a
killed run was resumed, or on the side: both sides meet the same noise (common random numbers), and
they part only where their distributions do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from nightgarden.jsonl import encode

Words = npt.NDArray[np.uint64]

_STEP, _MIX_1, _MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
"""Constants of splitmix64 (Steele, Lea and Flood 2014)."""


def noise_key(prompt_ids: Sequence[int], seed: int) -> int:
    """64 bits that name a prompt with a seed."""
    return int.from_bytes(hashlib.blake2b(encode([list(prompt_ids), seed]), digest_size=8).digest(), "big")


def gumbel(keys: Sequence[int], positions: Sequence[int], tokens: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Standard Gumbel noise per row and candidate token.

    The largest of log p + noise is a draw from p (the Gumbel-max trick), and a rounding error in p
    can change the draw only where two candidates are equal up to that error.

    Args:
        keys: one noise key a row. (B,)
        positions: index of the token that is to be drawn, a row. (B,)
        tokens: candidate token ids. (B, K)
    """
    with np.errstate(over="ignore"):  # arithmetic modulo 2**64 is the point
        rows = _mix(np.array(keys, dtype=np.uint64) + _STEP * np.array(positions, dtype=np.uint64))
        drawn = _mix(rows[:, None] + _STEP * tokens.astype(np.uint64))
    uniform = ((drawn >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53  # in (0, 1), never an end
    noise: npt.NDArray[np.float64] = -np.log(-np.log(uniform))
    return noise


def _mix(words: Words) -> Words:
    """splitmix64's output function: every bit of the input moves half of the bits of the output."""
    words = words + _STEP
    words = (words ^ (words >> np.uint64(30))) * _MIX_1
    words = (words ^ (words >> np.uint64(27))) * _MIX_2
    return words ^ (words >> np.uint64(31))
