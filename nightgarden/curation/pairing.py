"""Which of the rows that are gone and of those that came are one row, edited.

Each row is paired at most once, by the first of these that holds:

1. the same content under another op;
2. one was repaired from the other, or both from the same row (`meta.edits`);
3. the same op, and at least MIN_SIMILARITY of their word 3-grams in common, the most similar pairs first;
4. the same op and the same first question, where no other row that is gone or came asks it.

Knows nothing of revisions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import NamedTuple

from nightgarden.curation.likeness import Gram, grams, similarity
from nightgarden.curation.matching import words
from nightgarden.digests import example_id
from nightgarden.records import Example

MIN_SIMILARITY, NGRAM = 0.6, 3
"""Jaccard of word 3-grams from which two rows are one, edited: what the duplicate pass calls a near-copy."""
MAX_SOUGHT = 20_000
"""Rows gone and come, together, up to which similarity is looked at: their grams lie in memory."""


class Pair(NamedTuple):
    """One row before and after."""

    old: Example
    new: Example
    how: str
    """By what it was known again."""


def pairs(gone: Iterable[Example], come: Iterable[Example]) -> list[Pair]:
    """Every row that was known again."""
    left, right = ({row.id: row for row in rows} for rows in (gone, come))
    found: list[Pair] = []
    for ways in (_same_content, _same_lineage, _alike, _same_question):
        for pair in ways(left, right):
            if pair.old.id in left and pair.new.id in right:
                del left[pair.old.id], right[pair.new.id]
                found.append(pair)
    return found


def lineage(row: Example) -> list[str]:
    """Ids of a row and of all that it was repaired from, itself first, the oldest last."""
    return [row.id, *(edit["parent"] for edit in reversed(row.meta.get("edits", ())))]


def _same_content(gone: Mapping[str, Example], come: Mapping[str, Example]) -> list[Pair]:
    def content(row: Example) -> Hashable:
        return example_id(0, row.turns, row.memories, row.directives)

    return [Pair(old, new, f"from op {old.op} to op {new.op}") for old, new in _sharing(gone, come, content)]


def _same_lineage(gone: Mapping[str, Example], come: Mapping[str, Example]) -> list[Pair]:
    by_id = {id_: row for row in gone.values() for id_ in lineage(row)}
    shared = ((by_id[id_], row) for row in come.values() for id_ in lineage(row) if id_ in by_id)
    return [Pair(old, new, _repairs(old, new)) for old, new in shared]


def _repairs(old: Example, new: Example) -> str:
    rules = sorted({edit["rule"] for row in (old, new) for edit in row.meta.get("edits", ())})
    return f"repaired by {', '.join(rules)}"


def _alike(gone: Mapping[str, Example], come: Mapping[str, Example]) -> list[Pair]:
    if not is_sought(len(gone) + len(come)):
        return []
    by_gram: dict[tuple[int, Gram], list[str]] = defaultdict(list)
    old_grams = {row.id: grams(row, NGRAM) for row in gone.values()}
    for row in gone.values():
        for gram in old_grams[row.id]:
            by_gram[row.op, gram].append(row.id)
    found = []
    for row in come.values():
        own = grams(row, NGRAM)
        for id_ in {id_ for gram in own for id_ in by_gram[row.op, gram]}:
            if (share := similarity(own, old_grams[id_])) >= MIN_SIMILARITY:
                found.append((-share, id_, row.id))
    return [Pair(gone[old], come[new], f"{-share:.2f} of their {NGRAM}-grams in common") for share, old, new in sorted(found)]


def is_sought(num_rows: int) -> bool:
    """Whether similarity is looked at, among so many rows that are gone or came."""
    return num_rows <= MAX_SOUGHT


def _same_question(gone: Mapping[str, Example], come: Mapping[str, Example]) -> list[Pair]:
    def question(row: Example) -> Hashable:
        asked = next((turn.content for turn in row.turns if turn.role == "user"), "")
        return (row.op, *words(asked)) if words(asked) else row.id

    return [Pair(old, new, "the same question") for old, new in _sharing(gone, come, question)]


def _sharing(
    gone: Mapping[str, Example], come: Mapping[str, Example], key: Callable[[Example], Hashable]
) -> Iterator[tuple[Example, Example]]:
    """Rows of both sides that share a key with nobody else."""
    sides = [{row.id: key(row) for row in rows.values()} for rows in (gone, come)]
    counts = [Counter(side.values()) for side in sides]
    by_key = {found: id_ for id_, found in sides[0].items()}
    for id_, found in sides[1].items():
        if counts[0][found] == counts[1][found] == 1:
            yield gone[by_key[found]], come[id_]
