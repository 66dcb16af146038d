"""Sentences and words as NLTK cuts them, offline: IFEval was published with counts of these two.

`punkt` brings the rules and the English model that NLTK downloads, but deliberately counts otherwise in three places
(12 of 10,156 public texts); its parts are joined here as NLTK joins them. Knows no instruction.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

CLOSING = re.compile(r"[\"')\]}‘’“”«»]+?(?:\s+|(?=--)|$)", re.MULTILINE)
"""What a sentence takes over from the head of the next. `punkt` leaves opening curly quotes to the next."""


def sentences(text: str) -> list[str]:
    """The sentences, as NLTK's `sent_tokenize` returns them."""
    breaks = _breaks()(text)
    starts = [0, *(following for _, following in breaks)]
    stops = [*(stop for stop, _ in breaks), len(text.rstrip())]
    for number in range(len(breaks)):
        after = starts[number + 1]
        if closing := CLOSING.match(text[after : stops[number + 1]]):
            stops[number] = after + len(closing.group().rstrip())
            starts[number + 1] = after + closing.end()
    return [text[start:stop] for start, stop in zip(starts, stops, strict=True) if text[start:stop]]


@cache
def _breaks() -> Callable[[str], list[tuple[int, int]]]:
    """Finds where a sentence ends and the next begins. Loads the model: 0.2 s."""
    import punkt

    rules, model = punkt.DEFAULT_LANGUAGE_VARS, punkt.load_model("english")
    cut = punkt.PunktWordTokenizer(rules).tokenize_annotated
    # `punkt` holds `. . .` for one mark: to NLTK its stops are three.
    detect = punkt.PunktBoundaryDetector(replace(rules, multi_char_punct_pattern=r"(?!)")).detect

    def ends(context: str) -> bool:
        # The last token has nothing behind it that could tell an abbreviation from an end.
        return any(token.sentbreak for token in list(punkt.annotate_tokens(cut(context), model, rules))[:-1])

    def breaks(text: str) -> list[tuple[int, int]]:
        return [(found.end, found.next_tok_start or found.end) for found in detect(text) if ends(found.context)]

    return breaks


CUTS = [
    (re.compile(pattern), spaced)
    for pattern, spaced in (
        (r"([«“‘„]|[`]+)", r" \1 "),
        (r"^\"", r"``"),
        (r"(``)", r" \1 "),
        (r"([ \(\[{<])(\"|\'{2})", r"\1 `` "),
        (r"(?i)(?<!\w)(\')(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)", r"\1 "),
        (r'([^\.])(\.)([\]\)}>"\'»”’ ]*+)\s*$', r"\1 \2 \3 "),
        (r"([:,])([^\d])", r" \1 \2"),
        (r"([:,])$", r" \1 "),
        (r"\.{2,}", r" \g<0> "),
        (r"[;@#$%&]", r" \g<0> "),
        (r"[\u2012-\u2015]", r" \g<0> "),
        (r'([^\.])(\.)([\]\)}>"\']*)\s*$', r"\1 \2\3 "),
        (r"[?!]", r" \g<0> "),
        (r"([^'])' ", r"\1 ' "),
        (r"[*]", r" \g<0> "),
        (r"[\]\[\(\)\{\}\<\>]", r" \g<0> "),
        (r"--", r" -- "),
        (r"\A(?s:(.*))\Z", r" \1 "),
        (r"([»”’])", r" \1 "),
        (r"''", " '' "),
        (r'"', " '' "),
        (r"\s+", " "),
        (r"([^' ])('[sS]|'[mM]|'[dD]|') ", r"\1 \2 "),
        (r"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", r"\1 \2 "),
        (r"(?i)\b(can)(not)\b", r" \1 \2 "),
        (r"(?i)\b(d)('ye)\b", r" \1 \2 "),
        (r"(?i)\b(gim|lem)(me)\b", r" \1 \2 "),
        (r"(?i)\b(gon)(na)\b", r" \1 \2 "),
        (r"(?i)\b(got)(ta)\b", r" \1 \2 "),
        (r"(?i)\b(more)('n)\b", r" \1 \2 "),
        (r"(?i)\b(wan)(na)(?=\s)", r" \1 \2 "),
        (r"(?i) ('t)(is|was)\b", r" \1 \2 "),
    )
]
"""The substitutions of NLTK's word tokenizer (3.10.4, Apache-2.0) in its order: blanks are set, then it is split."""


def words(text: str) -> list[str]:
    """The words and marks, as NLTK's `word_tokenize` returns them: DON'T is two."""
    return [word for sentence in sentences(text) for word in _spaced(sentence).split()]


def _spaced(sentence: str) -> str:
    for pattern, spaced in CUTS:
        sentence = pattern.sub(spaced, sentence)
    return sentence
