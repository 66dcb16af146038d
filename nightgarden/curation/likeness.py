"""Near-copies among rows that are kept, by the Jaccard similarity of their word n-grams.

Two ways to find whom to compare with; both then compare in full. Up to EXACT_ROWS rows no pair is missed:
a pair at or above the threshold must share a gram among the rarest few of both rows (prefix filtering,
Bayardo et al. 2007). Above, MinHash signatures are banded (Broder 1997; Leskovec et al. 2020, ch. 3), with
the bands on disk: a pair at the threshold of 0.6 is missed 1 time in 80, one at 0.8 never in practice. One byte of
each value of the signatures stays in memory (Li and König 2010), by which pairs that are far from alike are passed over.
Knows nothing of what becomes of a copy.
"""

from __future__ import annotations

import math
import tempfile
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from nightgarden.curation.matching import words
from nightgarden.records import Example

EXACT_ROWS = 20_000
"""Rows up to which every pair is found: 20,000 rows of 165 grams take 0.6 GB."""
NUM_BANDS, BAND_ROWS = 32, 4
"""A pair of similarity s shares a band with probability 1 - (1 - s^4)^32."""
MARGIN = 0.2
"""How far an estimate may lie below the threshold before a pair is passed over; that of a copy does 3 times in a million."""
SEED = 20260907
CHUNK = 1000
"""Rows whose signatures are made together."""

T = TypeVar("T")

Gram = int
"""A word n-gram as its 64-bit hash: among the 5 million grams of 20,000 rows two meet with probability 10^-6."""


class Rows(Protocol):
    """Rows by their place, as often as needed: a list, or a `RowFile`."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Example]: ...

    def __getitem__(self, place: int, /) -> Example: ...


class Twin(NamedTuple):
    """A row that is kept already and much like another."""

    place: int
    similarity: float
    """Jaccard, 0..1."""


class Near(Protocol):
    """Rows by their place, and which of the kept ones a row is a copy of."""

    def twin(self, place: int) -> Twin | None:
        """The most similar kept row at or above the threshold; of equal ones the first that was kept."""

    def keep(self, place: int) -> None:
        """From now on, others are compared with this row."""


def grams(example: Example, n: int) -> frozenset[Gram]:
    """Word n-grams of the user and assistant turns; a turn shorter than n is one gram.

    System texts come from small fixed sets and would make strangers alike.
    """
    from rensa import RMinHash

    found: list[str] = []
    for turn in example.turns:
        if turn.role != "system" and (tokens := words(turn.content)):
            found += [" ".join(tokens[i : i + n]) for i in range(max(1, len(tokens) - n + 1))]
    return frozenset(RMinHash.hash_token_sets([found])[0])


def similarity(one: Collection[Any], two: Collection[Any]) -> float:
    """Jaccard similarity of two sets that are not both empty, 0..1."""
    shared = len(frozenset(one) & frozenset(two))
    return shared / (len(one) + len(two) - shared)


def near(rows: Rows, n: int, threshold: float, exact_rows: int = EXACT_ROWS) -> Near:
    """How to find near-copies among so many rows."""
    return Exact(rows, n, threshold) if len(rows) <= exact_rows else Banded(rows, n, threshold)


class Exact:
    """Every pair, by an index of the rarest grams of the kept rows."""

    def __init__(self, rows: Iterable[Example], n: int, threshold: float) -> None:
        self._rows = [grams(row, n) for row in rows]
        self._spread = Counter(chain.from_iterable(self._rows))
        self._threshold = threshold
        self._seen: dict[int, list[int]] = defaultdict(list)
        self._rarest = lru_cache(maxsize=1)(self._find_rarest)

    def _find_rarest(self, place: int) -> list[int]:
        """A pair shares at least ceil(t * size) grams, so it shares one of the others plus one; 1e-9 guards the product."""
        own = self._rows[place]
        by_rarity = sorted(own, key=lambda gram: (self._spread[gram], gram))
        return by_rarity[: len(own) - math.ceil(self._threshold * len(own) - 1e-9) + 1]

    def twin(self, place: int) -> Twin | None:
        """See `Near.twin`."""
        own = self._rows[place]
        if not own:
            return None
        candidates = sorted({other for gram in self._rarest(place) for other in self._seen[gram]})
        return _best(candidates, (similarity(own, self._rows[other]) for other in candidates), self._threshold)

    def keep(self, place: int) -> None:
        """See `Near.keep`."""
        if self._rows[place]:
            for gram in self._rarest(place):
                self._seen[gram].append(place)


class Banded:
    """Pairs that share a band of their MinHash signatures; only rows that share one with any other are kept in mind."""

    def __init__(self, rows: Rows, n: int, threshold: float) -> None:
        self._n, self._threshold, self._source = n, threshold, rows
        self._buckets, self._signatures = _signed(rows, n)
        self._seen: dict[int, list[int]] = defaultdict(list)
        self._grams = lru_cache(maxsize=4096)(self._read)

    def _read(self, place: int) -> frozenset[Gram]:
        return grams(self._source[place], self._n)

    def twin(self, place: int) -> Twin | None:
        """See `Near.twin`."""
        met = sorted({other for bucket in self._buckets.of(place) for other in self._seen[bucket]})
        if not met:
            return None
        estimates = (self._signatures[met] == self._signatures[place]).mean(axis=1)
        candidates = [other for other, estimate in zip(met, estimates, strict=True) if estimate >= self._threshold - MARGIN]
        if not candidates:
            return None
        own = self._grams(place)
        return _best(candidates, (similarity(own, self._grams(other)) for other in candidates), self._threshold)

    def keep(self, place: int) -> None:
        """See `Near.keep`."""
        for bucket in self._buckets.of(place):
            self._seen[bucket].append(place)


def _best(candidates: Sequence[int], similarities: Iterable[float], threshold: float) -> Twin | None:
    found = [Twin(other, share) for other, share in zip(candidates, similarities, strict=True) if share >= threshold]
    return max(found, key=lambda twin: twin.similarity, default=None)


class _Buckets:
    """Which buckets with more than one row each row fell into, as two sorted columns."""

    def __init__(self, places: npt.NDArray[np.int32], buckets: npt.NDArray[np.int64]) -> None:
        by_place = np.argsort(places, kind="stable")
        self._places, self._buckets = places[by_place], buckets[by_place]

    def of(self, place: int) -> Iterator[int]:
        """Buckets of a row."""
        start, end = np.searchsorted(self._places, (place, place + 1))
        return map(int, self._buckets[start:end])


def _signed(rows: Rows, n: int) -> tuple[_Buckets, npt.NDArray[np.uint8]]:
    """Rows whose signatures agree in a band, by band, and a byte of each value of the signatures.

    The bands' hashes lie in a file without a name. (N, NUM_BANDS * BAND_ROWS)
    """
    bytes_of = np.zeros((len(rows), NUM_BANDS * BAND_ROWS), np.uint8)
    with tempfile.TemporaryFile() as file:
        start = 0
        for some in _in_lists((list(grams(row, n)) for row in rows), CHUNK):
            signatures = _signatures(some)
            file.write(_bands(some, signatures).tobytes())
            bytes_of[start : start + len(some)] = signatures.astype(np.uint8)
            start += len(some)
        file.flush()
        shape = (len(rows), NUM_BANDS)
        hashes = np.memmap(file, dtype=np.uint64, mode="r", shape=shape) if len(rows) else np.empty(shape, np.uint64)
        found = [_shared(np.ascontiguousarray(hashes[:, band]), band * len(rows)) for band in range(NUM_BANDS)]
    places, buckets = (np.concatenate(column) for column in zip(*found, strict=True))
    return _Buckets(places, buckets), bytes_of


def _in_lists(items: Iterable[T], size: int) -> Iterator[list[T]]:
    items = iter(items)
    while some := list(islice(items, size)):
        yield some


def _signatures(rows: list[list[Gram]]) -> npt.NDArray[np.uint64]:
    """MinHash values of each row. (len(rows), NUM_BANDS * BAND_ROWS)"""
    from rensa import RMinHash

    matrix = RMinHash.digest_matrix_from_token_hash_sets([own or [0] for own in rows], NUM_BANDS * BAND_ROWS, SEED)
    return np.array(matrix.to_rows(), dtype=np.uint64)


def _bands(rows: list[list[Gram]], signatures: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """A 64-bit hash of each band of each row's signature; zeros for a row without grams, which `_shared` passes over."""
    banded = signatures.reshape(len(rows), NUM_BANDS, BAND_ROWS)
    hashes = np.full((len(rows), NUM_BANDS), 0xCBF29CE484222325, dtype=np.uint64)
    for place in range(BAND_ROWS):
        hashes = (hashes ^ banded[:, :, place]) * np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(29)
    hashes |= np.uint64(1)
    hashes[[not own for own in rows]] = 0
    return hashes


def _shared(hashes: npt.NDArray[np.uint64], first: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Places that share their hash with another one, and a number for each hash, from `first` on."""
    by_hash = np.argsort(hashes, kind="stable")
    ordered = hashes[by_hash]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    sizes = np.diff(np.concatenate((starts, [len(ordered)])))
    shared = np.repeat((sizes > 1) & (ordered[starts] != 0), sizes) if len(ordered) else np.zeros(0, bool)
    numbers = np.repeat(np.arange(len(starts)), sizes)[shared] + first
    return by_hash[shared].astype(np.int32), numbers.astype(np.int64)
