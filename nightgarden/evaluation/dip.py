"""Hartigan's dip: how far the distribution of a sample is from the nearest one with a single mode.

After Hartigan and Hartigan (1985): the largest convex minorant left of a modal interval and the smallest concave
majorant right of it are fitted, and the interval shrinks until nothing is gained. Scores with ties are worthless to
it (on a unimodal five-point scale it cried wolf in every draw), so they are jittered by half a step first.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def dip(sample: Floats) -> float:
    """The dip statistic of a sample without ties, in [1/(2N), 1/4]. (N,)"""
    x = np.sort(np.asarray(sample, dtype=np.float64))
    size = len(x)
    if size < 2 or x[0] == x[-1]:
        return 1 / (2 * size) if size else 0.0
    low, high, found = 0, size - 1, 1.0
    while True:
        convex = _hull(x, low, high, sign=1)
        concave = _hull(x, low, high, sign=-1)
        apart, left, right = _widest(x, convex, concave)
        if apart <= found:
            break
        found = max(found, _bulge(x, convex, left, sign=1), _bulge(x, concave, right, sign=-1))
        if (left, right) == (low, high):
            break
        low, high = left, right
    return found / (2 * size)


def _hull(x: Floats, low: int, high: int, sign: int) -> list[int]:
    """Places at which the convex minorant (sign 1) or concave majorant (-1) of the counts touches them, from low to high."""
    kept: list[int] = []
    for place in range(low, high + 1):
        while len(kept) > 1:
            before, last = kept[-2], kept[-1]
            turn = (last - before) * (x[place] - x[last]) - (place - last) * (x[last] - x[before])
            if sign * turn < 0:
                break
            kept.pop()
        kept.append(place)
    return kept


def _widest(x: Floats, convex: list[int], concave: list[int]) -> tuple[float, int, int]:
    """Where the majorant lies furthest above the minorant, in counts, and the modal interval around that place."""
    places = np.array(sorted({*convex, *concave}))
    under = np.interp(x[places], x[convex], np.array(convex, dtype=np.float64))
    over = np.interp(x[places], x[concave], np.array(concave, dtype=np.float64))
    gaps = over - under + 1.0
    at = int(np.argmax(gaps))
    place = int(places[at])
    left = max((p for p in convex if p <= place), default=convex[0])
    right = min((p for p in concave if p >= place), default=concave[-1])
    return float(gaps[at]), left, right


def _bulge(x: Floats, hull: list[int], end: int, sign: int) -> float:
    """How far the counts bulge from a hull on its outer side, in counts."""
    most = 1.0
    for start, stop in zip(hull, hull[1:], strict=False):
        if (sign > 0 and stop > end) or (sign < 0 and start < end) or x[stop] == x[start]:
            continue
        inner = np.arange(start, stop + 1, dtype=np.float64)
        line = start + (x[start : stop + 1] - x[start]) * (stop - start) / (x[stop] - x[start])
        bulges = sign * (inner - line) + 1.0
        most = max(most, float(bulges.max()))
    return most
