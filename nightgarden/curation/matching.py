"""Matching on a folded copy of a text, with spans mapped back to the original.

"I'd be happy to" also stands in real data with a typographic apostrophe, a no-break space or a
zero-width character inside; a plain regex misses all of these. The folded copy undoes them. One
engine, RE2, decides everywhere: `\\b`, `\\w` and `$` differ between engines. Knows no rule.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Set
from functools import cached_property, lru_cache
from importlib.metadata import version
from operator import itemgetter
from typing import NamedTuple

import re2

from nightgarden.digests import content_id
from nightgarden.errors import UserError
from nightgarden.records import Example, Hit

ROW = -1
"""`Hit.turn` of a hit on the row as a whole."""

_LOOKALIKES = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛ʼʹ′´＇", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("‐‑‒−", "-"),  # hyphens and the minus; dashes stay: they open list lines
        "؟": "?",
    }
)


class _Folds(dict[int, str]):
    """Code point -> its folded text, filled as characters turn up: `str.translate` then runs at C speed."""

    def __missing__(self, code: int) -> str:
        self[code] = folded = _fold_character(chr(code))
        return folded


def _fold_character(character: str) -> str:
    """NFKC's compatibility forms without accents; lookalike quotes straight, blanks plain, invisible characters gone.

    Accents go because NFKC composes across characters and would break the map of spans. What comes out folds to itself:
    lookalikes are replaced before (the acute accent is a blank with a mark to NFKD) and behind (it takes an apostrophe apart).
    """
    if character == "\n":
        return character
    if character.isspace():
        return " "
    plain = unicodedata.normalize("NFKD", character.translate(_LOOKALIKES)).translate(_LOOKALIKES)
    return "".join(c for c in plain if unicodedata.category(c) not in {"Cf", "Mn"})


_FOLDS = _Folds()
_QUOTES = frozenset("'\"")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_BLANKS = "\t\r\x0b\x0c\x1c\x1d\x1e\x1f"
"""The ASCII characters that fold to something else."""
FEW = 32
"""Different characters up to which replacing one after the other is quicker than looking every character up."""


class Folded:
    """A text beside its folded copy, in which letters keep their case."""

    def __init__(self, original: str) -> None:
        there = set() if original.isascii() else set(_NOT_ASCII.findall(original))
        changing = [c for c in there if _FOLDS[ord(c)] != c] + [c for c in _BLANKS if c in original]
        text = original.translate(_FOLDS) if len(changing) > FEW else original
        if text is original:
            for character in changing:
                text = text.replace(character, _FOLDS[ord(character)])
        self.original, self.text, self._changing = original, text, changing

    def lost_a_sign(self) -> bool:
        """Whether something else than letters, blanks and quotation marks was folded: a picture, a circled or a wide number."""
        return any(not (c.isalpha() or c.isspace() or _FOLDS[ord(c)] in _QUOTES) for c in self._changing)

    @cached_property
    def _is_even(self) -> bool:
        """Whether every character folds to one."""
        return all(len(_FOLDS[ord(c)]) == 1 for c in self._changing)

    @cached_property
    def _stretches(self) -> list[tuple[int, int, bool]]:
        """Where stretches begin, in the folded text and in the original, and whether one folds one to one.

        A stretch that does not is one character, which becomes several or none. The last entry is the end.
        """
        found = [(0, 0, True)]
        at = shift = 0
        for match in _NOT_ASCII.finditer(self.original):
            at = match.start()
            if (size := len(_FOLDS[ord(match[0])])) != 1:
                found += [(at + shift, at, False), (at + shift + size, at + 1, True)]
                shift += size - 1
        end = len(self.original)
        return [*found, (end + shift, end, False)]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Span [start, end) of the folded text as the smallest span of the original that covers it."""
        if self._is_even:
            return start, end
        stretches = self._stretches
        folded, original, is_even = stretches[bisect_right(stretches, start, key=itemgetter(0)) - 1]
        first = original + start - folded if is_even else original
        place = bisect_left(stretches, end, key=itemgetter(0))
        folded, original, is_even = stretches[place - 1]
        return first, original + end - folded if is_even else stretches[place][1]


@lru_cache(maxsize=64)
def fold(text: str) -> Folded:
    """The text beside its folded copy; the rules ask for the texts of one row many times over."""
    return Folded(text)


class Found(NamedTuple):
    """A named pattern at a span of the original text."""

    name: str
    start: int
    end: int


class Scan:
    """Which of several named patterns occur in a text, found in one pass.

    An `re2.Set` whose automaton outgrows its memory answers "nothing found". The first pattern here occurs in
    every text: an answer without it is none, and then every name counts as found.
    """

    def __init__(self, named: Mapping[str, str], max_mem: int = 256 << 20) -> None:
        options = re2.Options()
        options.max_mem = max_mem
        options.log_errors = False
        self._all = frozenset(named)
        self._names = ["", *named]
        self._set = re2.Set.SearchSet(options)
        for pattern in ("", *named.values()):
            self._set.Add(pattern)
        self._set.Compile()

    def find(self, text: str | bytes) -> Set[str]:
        """Names of the patterns that occur in a text or its UTF-8, or all of them where that cannot be told."""
        found: list[int] = self._set.Match(text) or []
        if found == [0]:
            return _NONE
        return {self._names[place] for place in found} - {""} if 0 in found else self._all


_NONE: frozenset[str] = frozenset()
NEVER = r"[^\s\S]"
"""A pattern that matches nothing."""


class Patterns:
    """Named RE2 patterns: one scan tells which of them occur, then each of those is sought by itself."""

    def __init__(self, named: Mapping[str, str]) -> None:
        options = re2.Options()
        options.max_mem = 64 << 20
        options.log_errors = False
        self._each = {name: re2.compile(pattern, options) for name, pattern in named.items()}
        self._scan = Scan(named)

    def occur_in(self, text: str) -> bool:
        """Whether one of them may stand in a folded text."""
        return bool(self._scan.find(text))

    def find(self, folded: Folded) -> list[Found]:
        """Every match of every pattern, by position."""
        names = self._scan.find(folded.text)
        if not names:
            return []
        text = folded.text.encode() if folded.text.isascii() else folded.text  # of bytes, RE2's wrapper need not count characters
        found = (Found(name, *folded.span(*match.span())) for name in names for match in self._each[name].finditer(text))
        return sorted(found, key=lambda f: (f.start, f.end, f.name))


class Triggers(NamedTuple):
    """What must stand in a row before a rule can hit it, as RE2 patterns over folded text; None where it never looks."""

    answers: str | None = None
    others: str | None = None
    """In user and system turns, memories, directives, and `meta` as JSON."""
    answers_as_written: str | None = None
    """Sought in answers as they stand as well, where folding took a sign away."""


def engine(*patterns: str) -> str:
    """What decides: RE2 with its version and a hash of the patterns, such as `re2-1.1.20251105/3fa2b1c4`."""
    return f"re2-{version('google-re2')}/{content_id(patterns)[:8]}"


@lru_cache(maxsize=32)
def phrase_patterns(phrases: tuple[str, ...]) -> Patterns:
    """Phrases as whole words, any case, any blanks between their words."""
    return Patterns({phrase: phrase_pattern(phrase) for phrase in phrases})


def phrase_pattern(phrase: str) -> str:
    """RE2 pattern of one phrase; word borders only at ASCII ends, since RE2's `\\b` knows no other letters.

    Markdown's emphasis may stand at either end and between words: `_` is a letter to `\\b`, so `_Certainly_` has no border.

    Raises:
        UserError: the phrase is blank; it would match everywhere.
    """
    words = fold(phrase).text.split()
    if not words:
        raise UserError(f"got the blank phrase {phrase!r} in curation.rules of params.yaml; write words, or take the line out.")
    body = r"[*_]{0,3}\s+[*_]{0,3}".join(re2.escape(word) for word in words)
    first, last = words[0][0], words[-1][-1]
    before = r"(?:\b|_)" if first.isascii() and first.isalnum() else ""
    after = r"(?:\b|_)" if last.isascii() and last.isalnum() else ""
    return f"(?i){before}{body}{after}"


def phrase_hits(example: Example, phrases: tuple[str, ...], what: str) -> tuple[Hit, ...]:
    """A hit for every phrase in an answer; the reason names the phrase as the settings spell it."""
    patterns = phrase_patterns(phrases)
    return tuple(
        Hit(turn=index, start=found.start, end=found.end, reason=f"{what}: {found.name}")
        for index, text in answers(example)
        for found in patterns.find(fold(text))
    )


CODE = r"(?sm)```.*?(?:```|\z)|^\s*~~~.*?(?:^\s*~~~|\z)|`[^`\n]+`"
"""Markdown code: fences of backticks or tildes, a last one that never closes, and code within a line."""
_CODE = re2.compile(CODE)


def code_spans(text: str) -> list[tuple[int, int]]:
    """Spans of Markdown code."""
    return [match.span() for match in _CODE.finditer(text)]


def answers(example: Example) -> Iterator[tuple[int, str]]:
    """Index and text of every assistant turn: what is trained on."""
    return ((index, turn.content) for index, turn in enumerate(example.turns) if turn.role == "assistant")


IDEOGRAMS = "\u3041-\u3096\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
"""Kana and Han, as a part of a character class: written without blanks, so each counts as a word, as word processors count."""
_WORD = re.compile(rf"[^\W_{IDEOGRAMS}]+(?:'[^\W_{IDEOGRAMS}]+)*|[{IDEOGRAMS}]")
"""Python's own engine: words are counted and compared, nothing is decided by a match; RE2's wrapper takes 3 us a word."""
_ASCII_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
"""The same for a text without ideograms: the wider class takes 2.5 times as long."""


@lru_cache(maxsize=64)
def words(text: str) -> tuple[str, ...]:
    """Lower-case words of the folded text; a contraction is one word, and so is each sign of Chinese and Japanese.

    Other scripts without blanks, such as Thai, give long words.
    """
    folded = fold(text).text.lower()
    return tuple((_ASCII_WORD if folded.isascii() else _WORD).findall(folded))


def word_spans(text: str) -> list[tuple[int, int]]:
    """Spans of the words that `words` gives, in the text as it stands."""
    folded = fold(text)
    # Lower case keeps the number of characters but for a few letters (the dotted capital I); words never join or part by it.
    pattern = _ASCII_WORD if folded.text.isascii() else _WORD
    return [folded.span(*match.span()) for match in pattern.finditer(folded.text)]
