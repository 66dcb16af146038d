"""Text as the scorers read it: folded marks, words with their spans, sentences, phrases.

Knows no score.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

FOLD = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"', "‐": "-", "‑": "-", "–": "-", "\u00a0": " "})
"""One character for one character, so that spans in folded text are spans in the text."""
WORD = re.compile(r"\w+(?:['.:-]\w+)*")
"""A word with what it holds inside: don't, 7.30, Caro-Kann."""
ABBREVIATION = "".join(rf"(?<!\b{name})" for name in ("Mr", "Ms", "Dr", "St", "Mrs", r"e\.g", r"i\.e", r"a\.m", r"p\.m"))
SENTENCE_END = re.compile(rf"{ABBREVIATION}[.!?…]+[\"')\]]*(?=\s|\Z)")


def fold(text: str) -> str:
    """Curly quotes, hyphen cousins and hard spaces as their plain forms; length and positions stay."""
    return text.translate(FOLD)


def words(text: str) -> list[re.Match[str]]:
    """Words with their spans."""
    return list(WORD.finditer(fold(text)))


def sentences(text: str) -> int:
    """Number of sentences; a last one without its full stop counts, as long as it has a word."""
    pieces = SENTENCE_END.split(fold(text))
    return sum(1 for piece in pieces if re.search(r"\w", piece))


def find_phrases(text: str, phrases: Iterable[str]) -> list[tuple[int, int]]:
    """Spans of whole-word, case-blind matches of any phrase; the longest phrase wins, none overlap."""
    ordered = sorted((fold(phrase) for phrase in phrases), key=len, reverse=True)
    joined = "|".join(re.escape(phrase).replace(r"\ ", r"\s+") for phrase in ordered)
    return [match.span() for match in re.finditer(rf"(?<!\w)(?:{joined})(?!\w)", fold(text), re.IGNORECASE)]
