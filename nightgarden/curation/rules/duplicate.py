"""duplicate: near-copies among rows; of two, the one that is needed more stays. And stock answers, of which none stays.

Compared are user and assistant turns of all ops (`likeness.py`). Rows are taken by quota, quality and id,
never by position: the op with the fewest rows first, the seed's before a user's, unrepaired before repaired,
then by content id. A row goes when one that was taken before it is too much like it; so no two near-copies
remain, and every row that goes has a copy that stays. An op 1 pair is one row: it goes or stays whole.
An answer that stands under many different prompts word for word was written by no one who read them (the
apology of a server that was down, a hundred times): all its rows go.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from nightgarden.curation import likeness
from nightgarden.curation.accounts import is_outside
from nightgarden.curation.canaries import PREFIX, Canaries, clean_rows, row
from nightgarden.curation.likeness import EXACT_ROWS, Rows, Twin
from nightgarden.curation.matching import ROW, words
from nightgarden.curation.rowfile import RowFile
from nightgarden.records import Example, Hit, Turn
from nightgarden.rule_params import DuplicateRule

ENGINE = "python/jaccard-3"
STOCK_WORDS = 3
"""Words from which on an answer can be a stock answer: "No." is right under many prompts."""
CANARY_BAD = ("bad", "close")
"""Names of two pairs made to the settings: one just at the threshold, and (clean) one just below."""


def canaries(settings: DuplicateRule) -> Canaries:
    """A pair just similar enough, of which one is kept, a pair that just is not, and an answer once too often."""
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
    stock = tuple(_stock(number) for number in range(settings.max_same_answer + 1))
    return Canaries(bad=(*bad, *stock), clean=(*clean_rows(), *close), keepers=frozenset({bad[0].id}))


def _stock(number: int) -> Example:
    """The same answer under a prompt of its own."""
    ask, reply = (
        Turn(role="user", content=_text(f"ask{number}", 9, 0)),
        Turn(role="assistant", content="The wall is stocktaking."),
    )
    return row(f"duplicate:stock:{number}", op=0, turns=(ask, reply))


def _text(name: str, num_words: int, num_changed: int) -> str:
    """Distinct words, the last `num_changed` of them others: each costs one shared gram and adds one."""
    same = num_words - num_changed
    return " ".join([f"{name}{n}" for n in range(same)] + [f"{name}other{n}" for n in range(num_changed)])


def losers_of(path: Path, settings: DuplicateRule, ahead: Sequence[Example] = ()) -> dict[str, tuple[Hit, ...]]:
    """As `losers`, among the rows of a file and those given beside it."""
    with RowFile(path, ahead) as rows:
        return losers(rows, settings)


def losers(rows: Rows, settings: DuplicateRule, exact_rows: int = EXACT_ROWS) -> dict[str, tuple[Hit, ...]]:
    """Id of every row that goes -> a hit that names the copy that stays. Canaries and real rows do not see each other.

    Args:
        rows: a list, or a `RowFile`.
        settings: n-gram and threshold.
        exact_rows: up to so many rows no pair is missed, see `likeness.py`.
    """
    seen = _Seen(rows)
    near = likeness.near(seen, settings.ngram, settings.min_jaccard, exact_rows)
    ids, found = seen.ids, seen.stock_answers(settings.max_same_answer)
    for place in seen.by_rank():
        if ids[place] in found:
            continue
        twin = near.twin(place)
        if twin is None or ids[twin.place].startswith(PREFIX) != ids[place].startswith(PREFIX):
            near.keep(place)
        else:
            found[ids[place]] = (_hit(ids[twin.place], settings.ngram, twin),)
    return found


class _Seen:
    """Rows that are read once, by whoever compares them, and what else of them is needed."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self.ids: list[str] = []
        self._ranks: list[tuple[int, bool, int]] = []
        self._answers: list[tuple[bytes, int]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: int) -> Example:
        return self._rows[place]

    def __iter__(self) -> Iterator[Example]:
        self.ids, self._ranks, self._answers = [], [], []
        for example in self._rows:
            self.ids.append(example.id)
            self._ranks.append((example.op, is_outside(example), len(example.meta.get("edits", ()))))
            self._answers.append((_answer(example), len(example.turns) - 1))
            yield example

    def by_rank(self) -> list[int]:
        """Places of the rows in the order in which they are taken."""
        counts = Counter(op for (op, *_), id_ in zip(self._ranks, self.ids, strict=True) if not id_.startswith(PREFIX))
        return sorted(
            range(len(self.ids)), key=lambda place: (counts[self._ranks[place][0]], *self._ranks[place], self.ids[place])
        )

    def stock_answers(self, most: int) -> dict[str, tuple[Hit, ...]]:
        """Rows whose last answer stands in more than `most` rows, word for word."""
        times = Counter(answer for answer, _ in self._answers)
        return {
            id_: (Hit(turn=turn, start=0, end=0, reason=f"a stock answer: it stands in {times[answer]} rows"),)
            for id_, (answer, turn) in zip(self.ids, self._answers, strict=True)
            if answer and times[answer] > most
        }


def _answer(row: Example) -> bytes:
    """A hash of the words of the last answer; nothing where it is too short to count."""
    last = row.turns[-1] if row.turns else None
    if last is None or last.role != "assistant" or len(tokens := words(last.content)) < STOCK_WORDS:
        return b""
    return hashlib.blake2b(" ".join(tokens).encode(), digest_size=8).digest()


def _hit(twin_id: str, ngram: int, twin: Twin) -> Hit:
    return Hit(turn=ROW, start=0, end=0, reason=f"{twin.similarity:.3f} of the {ngram}-grams in common with {twin_id}")


def twin_of(hit: Hit) -> str | None:
    """Id of the copy that stays, as a hit of this rule names it; None for a stock answer, of which none stays."""
    return hit.reason.rsplit(" ", 1)[1] if hit.turn == ROW else None
