"""Some rows of each pass to look at: spans of every reason, rows that it dropped and rows that it repaired.

A page cannot show a million rows, so a part of each kind is chosen: always the same for the same files, of
every op and every reason. Memory holds what is shown and nothing else. Knows nothing of how it is shown.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeVar

from nightgarden.curation.accounts import order
from nightgarden.curation.annotate import RAW
from nightgarden.curation.dataset import rows_of
from nightgarden.curation.facts import Facts
from nightgarden.curation.matching import answers, words
from nightgarden.jsonl import read
from nightgarden.records import OPS, Example, Hit, LedgerLine

T = TypeVar("T")

PER_OP = 50
"""Dropped rows of an op that a pass shows, and repaired ones."""
MAX_SPANS, MAX_KINDS = 20, 20
"""Spans of a pass, and kinds of reasons that are counted one by one; what comes after those counts as OTHER."""
OTHER = "other reasons"
_NUMBER = re.compile(r"\b(?:[0-9a-f]{12,}|\d+(?:\.\d+)?)\b")


@dataclass
class Exhibit:
    """What is shown of one pass."""

    kinds: Counter[str] = field(default_factory=Counter)
    """Kind of reason -> hits."""
    spans: list[tuple[str, LedgerLine, Hit]] = field(default_factory=list)
    """Each with its kind."""
    dropped: list[LedgerLine] = field(default_factory=list)
    repaired: list[LedgerLine] = field(default_factory=list)


class Lengths(NamedTuple):
    """Words per answer -> answers, per op."""

    kept: list[Counter[int]]
    """Of the dataset."""
    dropped: list[Counter[int]]
    """Of raw rows that a pass dropped."""


def kind_of(reason: str) -> str:
    """A reason without what is one row's alone: its numbers and ids."""
    return _NUMBER.sub("…", reason)


def exhibits(facts: Facts, root: Path) -> list[Exhibit]:
    """What is shown of every pass, in their order."""
    return [choose(read(root / f"data/curated/{counts.name}/ledger.jsonl", LedgerLine)) for counts in facts.passes]


def choose(lines: Iterable[LedgerLine]) -> Exhibit:
    """Rows of every op, and spans of every reason in turn.

    Args:
        lines: the ledger of one pass.
    """
    found = Exhibit()
    spans: dict[str, dict[int, list[tuple[str, LedgerLine, Hit]]]] = defaultdict(lambda: defaultdict(list))
    per_op: Counter[tuple[bool, int]] = Counter()
    for line in lines:
        for hit in line.hits:
            kind = kind_of(hit.reason)
            kind = kind if kind in found.kinds or len(found.kinds) < MAX_KINDS else OTHER
            found.kinds[kind] += 1
            if len(some := spans[kind][line.op]) < MAX_SPANS:
                some.append((kind, line, hit))
        place = (line.into is None, line.op)
        per_op[place] += 1
        if per_op[place] <= PER_OP:
            (found.dropped if line.into is None else found.repaired).append(line)
    found.spans = _in_turn([_in_turn([*by_op.values()]) for by_op in spans.values()])[:MAX_SPANS]
    return found


def _in_turn(lists: Sequence[Sequence[T]]) -> list[T]:
    """The first of each list, then the second ones, and so on."""
    return [some[place] for place in range(max(map(len, lists), default=0)) for some in lists if place < len(some)]


def texts(found: Sequence[Exhibit], facts: Facts, root: Path) -> dict[str, Example]:
    """Id -> row, for every row that is shown, repaired ones before and after."""
    rows: dict[str, Example] = {}
    wanted = {line.id for exhibit in found for line in (*exhibit.dropped, *exhibit.repaired)}
    _take(rows, wanted, root / RAW)
    for exhibit, counts in zip(found, facts.passes, strict=True):
        edited = {line.id for line in exhibit.dropped} - rows.keys()
        _take(rows, edited, root / facts.curation.passes[counts.name].prevfile)
        _take(rows, {line.into for line in exhibit.repaired if line.into}, root / f"data/curated/{counts.name}/examples.jsonl")
    return rows


def _take(rows: dict[str, Example], ids: set[str], path: Path) -> None:
    if ids:
        found: Iterator[Example] = read(path, Example)
        rows.update((row.id, row) for row in found if row.id in ids)


def lengths(root: Path) -> Lengths:
    """Count the words of every answer of the dataset, and of every raw row that a pass dropped."""
    kept, dropped = ([Counter[int]() for _ in OPS] for _ in range(2))
    for row in rows_of(root):
        kept[row.op].update(_lengths(row))
    ledger: Iterator[LedgerLine] = read(root / "data/curated/ledger.jsonl", LedgerLine)
    gone = (order(line) for line in ledger if line.into is None)
    next_gone = next(gone, None)
    raw: Iterator[Example] = read(root / RAW, Example)
    for row in raw:
        while next_gone is not None and next_gone < order(row):
            next_gone = next(gone, None)
        if next_gone == order(row):
            dropped[row.op].update(_lengths(row))
    return Lengths(kept, dropped)


def _lengths(row: Example) -> Iterator[int]:
    return (len(words(text)) for _, text in answers(row))
