"""duplicate: near-copies among rows, by exact Jaccard similarity of word n-grams.

Compared are user and assistant turns of all ops; system texts come from small fixed sets and would
make strangers alike. Every pair is found, none by chance: a pair at or above the threshold must share
a gram among the rarest few of both rows (prefix filtering, Bayardo et al. 2007), and each candidate
is then compared in full. Annotated are all rows of a pair; the pass decides among those still there.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from nightgarden.curation.canaries import PREFIX, Canaries, clean_rows, row
from nightgarden.curation.matching import ROW, words
from nightgarden.params import DuplicateRule
from nightgarden.records import Example, Hit, Turn

ENGINE = "python/exact-jaccard-1"
CANARY_BAD = ("bad", "close")
"""Names of two pairs made to the settings: one just at the threshold, and (clean) one just below."""
_PARTNER = re.compile(r"(\S+)$")

Gram = tuple[str, ...]


def canaries(settings: DuplicateRule, prompts: Sequence[object] = ()) -> Canaries:
    """A pair just similar enough, of which the pass keeps one, and a pair that just is not."""
    num_grams = 200
    most = max(k for k in range(num_grams) if (num_grams - k) / (num_grams + k) >= settings.min_jaccard)
    num_words = num_grams + settings.ngram - 1
    bad, close = (
        tuple(
            row(
                f"duplicate:{name}:{number}",
                op=0,
                turns=(Turn(role="assistant", content=_text(name, num_words, number * changed)),),
            )
            for number in (0, 1)
        )
        for name, changed in zip(CANARY_BAD, (most, most + 1), strict=True)
    )
    return Canaries(bad=bad, clean=(*clean_rows(), *close), keepers=frozenset({bad[0].id}))


def _text(name: str, num_words: int, num_changed: int) -> str:
    """Distinct words, the last `num_changed` of them others: each costs one shared gram and adds one."""
    same = num_words - num_changed
    return " ".join([f"{name}{n}" for n in range(same)] + [f"{name}other{n}" for n in range(num_changed)])


def all_hits(examples: Sequence[Example], settings: DuplicateRule, prompts: Sequence[object] = ()) -> dict[str, tuple[Hit, ...]]:
    """Row id -> its near-copies, by id. Canaries and real rows do not see each other."""
    found: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for one, two, similarity in _pairs(examples, settings):
        if one.startswith(PREFIX) == two.startswith(PREFIX):
            found[one].append((two, similarity))
            found[two].append((one, similarity))
    return {id_: tuple(_hit(partner, settings.ngram, share) for partner, share in sorted(found[id_])) for id_ in sorted(found)}


def losers(ids: Collection[str], hits: Mapping[str, tuple[Hit, ...]], outside: Collection[str]) -> set[str]:
    """Of the rows still there, those that go: the seed's first and then by content id, a row with a near-copy already kept.

    So of a pair the seed's row stays, as of equal rows in `ingest`, else the smallest id, wherever its row
    stood; no two near-copies remain, and every row that goes has a copy that stays. By id alone, a user's
    file of lightly edited seed rows took about half of them, and the gate refused it for the seed's loss.
    """
    kept: set[str] = set()
    for id_ in sorted(ids, key=lambda id_: (id_ in outside, id_)):
        if kept.isdisjoint(_partner(hit) for hit in hits.get(id_, ())):
            kept.add(id_)
    return set(ids) - kept


def _hit(partner: str, ngram: int, similarity: float) -> Hit:
    return Hit(turn=ROW, start=0, end=0, reason=f"{similarity:.3f} of the {ngram}-grams in common with {partner}")


def _partner(hit: Hit) -> str:
    found = _PARTNER.search(hit.reason)
    return found[1] if found else ""


def _grams(example: Example, n: int) -> frozenset[Gram]:
    """Word n-grams of the user and assistant turns; a turn shorter than n is one gram."""
    grams: set[Gram] = set()
    for turn in example.turns:
        if turn.role != "system" and (tokens := words(turn.content)):
            grams.update(tuple(tokens[i : i + n]) for i in range(max(1, len(tokens) - n + 1)))
    return frozenset(grams)


def _pairs(examples: Sequence[Example], settings: DuplicateRule) -> Iterator[tuple[str, str, float]]:
    """Every pair of rows at or above the threshold, once, with its similarity."""
    rows = [(example.id, grams) for example in examples if (grams := _grams(example, settings.ngram))]
    spread = Counter(gram for _, grams in rows for gram in grams)
    seen: dict[Gram, list[int]] = defaultdict(list)
    for place, (id_, grams) in enumerate(rows):
        # A pair shares at least ceil(t * size) grams, so it shares one of the others plus one; 1e-9 guards the float product.
        rarest = sorted(grams, key=lambda gram: (spread[gram], gram))
        rarest = rarest[: len(grams) - math.ceil(settings.min_jaccard * len(grams) - 1e-9) + 1]
        for other in sorted({candidate for gram in rarest for candidate in seen[gram]}):
            other_id, other_grams = rows[other]
            shared = len(grams & other_grams)
            if (similarity := shared / (len(grams) + len(other_grams) - shared)) >= settings.min_jaccard:
                yield other_id, id_, similarity
        for gram in rarest:
            seen[gram].append(place)
