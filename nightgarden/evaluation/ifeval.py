"""Suites in IFEval's format: 25 kinds of instruction that a rule can check, each strict and loose.

Zhou et al. 2023, arXiv 2311.07911. A check answers None or one sentence, as in `constraints.py`. Deterministic and
offline: no random letter where a row names none that is a letter (keys 1122 and 1129), no sentence splitter that
downloads. tests/evaluation/test_ifeval_peer.py holds every check against lm-evaluation-harness. Knows no model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nightgarden import jsonl
from nightgarden.errors import UserError
from nightgarden.evaluation.language import language_of
from nightgarden.evaluation.segments import sentences, words
from nightgarden.records import Record

RELATIONS = ("less than", "at least")
OPTIONS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
"""What `constrained_response` allows; a prompt names them, its arguments do not."""


class Args(Record, frozen=True, kw_only=True):
    """Arguments of an instruction; each kind needs some of them, see `CHECKS`."""

    capital_frequency: int | None = None
    capital_relation: str | None = None
    end_phrase: str | None = None
    first_word: str | None = None
    forbidden_words: tuple[str, ...] | None = None
    frequency: int | None = None
    keyword: str | None = None
    keywords: tuple[str, ...] | None = None
    language: str | None = None
    let_frequency: int | None = None
    let_relation: str | None = None
    letter: str | None = None
    nth_paragraph: int | None = None
    num_bullets: int | None = None
    num_highlights: int | None = None
    num_paragraphs: int | None = None
    num_placeholders: int | None = None
    num_sections: int | None = None
    num_sentences: int | None = None
    num_words: int | None = None
    postscript_marker: str | None = None
    prompt_to_repeat: str | None = None
    relation: str | None = None
    section_spliter: str | None = None
    """Spelt so in the published file."""


class Item(Record, frozen=True, kw_only=True):
    """A line of an IFEval file."""

    key: int
    prompt: str
    instruction_id_list: tuple[str, ...]
    kwargs: tuple[Args, ...]


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What each instruction of an item says of a reply: None where it is followed, else how it is broken."""

    strict: tuple[str | None, ...]
    loose: tuple[str | None, ...]


Check = Callable[[str, Args], str | None]


def _related(found: int, relation: str | None, wanted: int | None, what: str) -> str | None:
    held = found < (wanted or 0) if relation == "less than" else found >= (wanted or 0)
    return None if held else f"{found} {what}, {relation} {wanted} asked for"


def _exactly(found: int, wanted: int | None, what: str) -> str | None:
    return None if found == wanted else f"{found} {what}, {wanted} asked for"


def keywords_existence(text: str, args: Args) -> str | None:
    """Every keyword, also inside a longer word."""
    absent = [word for word in args.keywords or () if word.casefold() not in text.casefold()]
    return f"without {', '.join(absent)}" if absent else None


def keyword_frequency(text: str, args: Args) -> str | None:
    """A keyword so often, also inside a longer word."""
    found = text.casefold().count((args.keyword or "").casefold())
    return _related(found, args.relation, args.frequency, f"times {args.keyword!r}")


def forbidden_words(text: str, args: Args) -> str | None:
    """None of the words, whole."""
    found = [word for word in args.forbidden_words or () if re.search(rf"\b{re.escape(word)}\b", text, re.IGNORECASE)]
    return f"contains {', '.join(found)}" if found else None


def letter_frequency(text: str, args: Args) -> str | None:
    """A character so often, whatever its case; `#` and `!` are counted as they stand."""
    found = text.lower().count((args.letter or "").lower())
    return _related(found, args.let_relation, args.let_frequency, f"times {args.letter!r}")


def response_language(text: str, args: Args) -> str | None:
    """All in one language; a text without letters has none and passes."""
    found = language_of(text)
    return None if found in (None, args.language) else f"reads as {found}, {args.language} asked for"


def number_sentences(text: str, args: Args) -> str | None:
    """So many sentences."""
    return _related(len(sentences(text)), args.relation, args.num_sentences, "sentences")


def number_paragraphs(text: str, args: Args) -> str | None:
    """Exactly so many paragraphs between lines of three asterisks, none of them empty."""
    parts = [part.strip() for part in re.split(r"\s?\*\*\*\s?", text)]
    inner = parts[1:-1] if len(parts) > 1 else []
    if not all(inner):
        return "an empty paragraph between two dividers"
    return _exactly(sum(map(bool, parts)), args.num_paragraphs, "paragraphs")


def number_words(text: str, args: Args) -> str | None:
    """So many words, as runs of letters and digits: `don't` counts two."""
    return _related(len(re.findall(r"\w+", text)), args.relation, args.num_words, "words")


def nth_paragraph_first_word(text: str, args: Args) -> str | None:
    """Exactly so many paragraphs between blank lines, and the nth begins with a word."""
    parts = text.split("\n\n")
    full, nth = sum(bool(part.strip()) for part in parts), args.nth_paragraph or 1
    if wrong := _exactly(full, args.num_paragraphs, "paragraphs"):
        return wrong
    if nth > full or not parts[nth - 1].strip():
        return f"paragraph {nth} is empty"
    first = re.split(r"[.,?!'\"]", parts[nth - 1].split()[0].lstrip("'").lstrip('"'))[0].lower()
    return None if first == (args.first_word or "").lower() else f"paragraph {nth} begins with {first!r}"


def number_placeholders(text: str, args: Args) -> str | None:
    """At least so many square brackets."""
    return _related(len(re.findall(r"\[.*?\]", text)), "at least", args.num_placeholders, "placeholders")


POSTSCRIPTS = {"p.p.s": r"p\.\s?p\.\s?s", "p.s.": r"p\.\s?s\."}
"""Markers that may be spaced."""


def postscript(text: str, args: Args) -> str | None:
    """The marker stands somewhere, whatever its case."""
    marker = (args.postscript_marker or "").strip().lower()
    found = re.search(POSTSCRIPTS.get(marker, re.escape(marker)), text.lower())
    return None if found else f"without {args.postscript_marker}"


def number_bullet_lists(text: str, args: Args) -> str | None:
    """Exactly so many lines that begin with one asterisk or a hyphen."""
    found = len(re.findall(r"^\s*\*[^\*].*$", text, re.MULTILINE)) + len(re.findall(r"^\s*-.*$", text, re.MULTILINE))
    return _exactly(found, args.num_bullets, "bullets")


def constrained_response(text: str, args: Args) -> str | None:
    """One of three sentences stands in it."""
    return None if any(option in text for option in OPTIONS) else f"none of {', '.join(OPTIONS)}"


def number_highlighted_sections(text: str, args: Args) -> str | None:
    """At least so many spans between asterisks."""
    single = sum(bool(span.strip("*").strip()) for span in re.findall(r"\*[^\n\*]*\*", text))
    double = sum(bool(span[2:-2].strip()) for span in re.findall(r"\*\*[^\n\*]*\*\*", text))
    return _related(single + double, "at least", args.num_highlights, "highlighted spans")


def multiple_sections(text: str, args: Args) -> str | None:
    """At least so many numbered section marks."""
    mark = re.escape((args.section_spliter or "").strip())
    return _related(len(re.findall(rf"{mark}\s?\d+", text)), "at least", args.num_sections, "sections")


def json_format(text: str, args: Args) -> str | None:
    """The whole reply is JSON; a code fence may stand around it."""
    bare = re.sub(r"\A```(?:json|Json|JSON)?|```\Z", "", text.strip()).strip()
    try:
        json.loads(bare)
    except (ValueError, RecursionError) as error:  # a reply of 1,000 brackets, or of 5,000 digits, is no JSON either
        return f"not JSON: {error}"
    return None


def title(text: str, args: Args) -> str | None:
    """A title in double angular brackets."""
    return None if any(span.lstrip("<").rstrip(">").strip() for span in re.findall(r"<<[^\n]+>>", text)) else "no <<title>>"


def two_responses(text: str, args: Args) -> str | None:
    """Two different answers with six asterisks between them."""
    parts = [part.strip() for part in text.split("******")]
    if not all(parts[1:-1]):
        return "an empty answer between two dividers"
    answers = [part for part in parts if part]
    if len(answers) != 2:
        return f"{len(answers)} answers, 2 asked for"
    return "both answers are the same" if answers[0] == answers[1] else None


def repeat_prompt(text: str, args: Args) -> str | None:
    """Begins with the request, word for word."""
    wanted = (args.prompt_to_repeat or "").strip().lower()
    return None if text.strip().lower().startswith(wanted) else "does not begin with the request"


def end_checker(text: str, args: Args) -> str | None:
    """Ends with a phrase; quotes behind it do not count."""
    wanted = (args.end_phrase or "").strip()
    return None if text.strip().strip('"').lower().endswith(wanted.lower()) else f"does not end with {wanted!r}"


def capital_word_frequency(text: str, args: Args) -> str | None:
    """So many words all in capitals: `I` is one, `STATE-OF-THE-ART` is one, `DON'T` is two."""
    found = sum(word.isupper() for word in words(text))
    return _related(found, args.capital_relation, args.capital_frequency, "words in capitals")


def english_capital(text: str, args: Args) -> str | None:
    """English, without a small letter."""
    return _cased(text, str.isupper, "a small letter")


def english_lowercase(text: str, args: Args) -> str | None:
    """English, without a capital letter."""
    return _cased(text, str.islower, "a capital letter")


def _cased(text: str, held: Callable[[str], bool], otherwise: str) -> str | None:
    if not held(text):
        return f"no letter, or {otherwise}"
    found = language_of(text)
    return None if found in (None, "en") else f"reads as {found}, en asked for"


def no_comma(text: str, args: Args) -> str | None:
    """No comma."""
    return _exactly(text.count(","), 0, "commas")


def quotation(text: str, args: Args) -> str | None:
    """The whole reply between double quotes."""
    bare = text.strip()
    return None if len(bare) > 1 and bare[0] == bare[-1] == '"' else "not between double quotes"


CHECKS: dict[str, tuple[Check, tuple[str, ...]]] = {
    "change_case:capital_word_frequency": (capital_word_frequency, ("capital_frequency", "capital_relation")),
    "change_case:english_capital": (english_capital, ()),
    "change_case:english_lowercase": (english_lowercase, ()),
    "combination:repeat_prompt": (repeat_prompt, ("prompt_to_repeat",)),
    "combination:two_responses": (two_responses, ()),
    "detectable_content:number_placeholders": (number_placeholders, ("num_placeholders",)),
    "detectable_content:postscript": (postscript, ("postscript_marker",)),
    "detectable_format:constrained_response": (constrained_response, ()),
    "detectable_format:json_format": (json_format, ()),
    "detectable_format:multiple_sections": (multiple_sections, ("num_sections", "section_spliter")),
    "detectable_format:number_bullet_lists": (number_bullet_lists, ("num_bullets",)),
    "detectable_format:number_highlighted_sections": (number_highlighted_sections, ("num_highlights",)),
    "detectable_format:title": (title, ()),
    "keywords:existence": (keywords_existence, ("keywords",)),
    "keywords:forbidden_words": (forbidden_words, ("forbidden_words",)),
    "keywords:frequency": (keyword_frequency, ("frequency", "keyword", "relation")),
    "keywords:letter_frequency": (letter_frequency, ("let_frequency", "let_relation", "letter")),
    "language:response_language": (response_language, ("language",)),
    "length_constraints:nth_paragraph_first_word": (
        nth_paragraph_first_word,
        ("first_word", "nth_paragraph", "num_paragraphs"),
    ),
    "length_constraints:number_paragraphs": (number_paragraphs, ("num_paragraphs",)),
    "length_constraints:number_sentences": (number_sentences, ("num_sentences", "relation")),
    "length_constraints:number_words": (number_words, ("num_words", "relation")),
    "punctuation:no_comma": (no_comma, ()),
    "startend:end_checker": (end_checker, ("end_phrase",)),
    "startend:quotation": (quotation, ()),
}
"""Every kind: its check, and the arguments that it needs."""


def load(path: Path) -> list[Item]:
    """The items of a file, checked.

    Raises:
        UserError: a line that is no item, an unknown kind, an argument that is missing or has no known relation.
    """
    items: list[Item] = list(jsonl.read(path, Item))
    keys: set[int] = set()
    for number, item in enumerate(items, 1):
        if fault := "this key stands twice" if item.key in keys else _fault(item):
            raise UserError(f"{path}:{number}: key {item.key}: {fault}. Correct the line.")
        keys.add(item.key)
    return items


def _fault(item: Item) -> str | None:
    if len(item.instruction_id_list) != len(item.kwargs) or not item.kwargs:
        return f"{len(item.instruction_id_list)} instructions with {len(item.kwargs)} sets of arguments"
    faults = (args_fault(kind, args) for kind, args in zip(item.instruction_id_list, item.kwargs, strict=True))
    return next((fault for fault in faults if fault), None)


def args_fault(kind: str, args: Args) -> str | None:
    """What is wrong with an instruction as it is written, or None."""
    if kind not in CHECKS:
        return f"unknown instruction {kind!r}; the 25 are {', '.join(CHECKS)}"
    for name in CHECKS[kind][1]:
        value = getattr(args, name)
        if value is None:
            return f"{kind} needs {name}"
        if name.endswith("relation") and value not in RELATIONS:
            return f"{kind}: relation {value!r}; {' or '.join(RELATIONS)} is needed"
    return None


def judge(item: Item, reply: str) -> Judged:
    """What every instruction says of a reply; an empty reply follows none."""
    pairs = list(zip(item.instruction_id_list, item.kwargs, strict=True))
    return Judged(
        strict=tuple(broken(kind, args, (reply,)) for kind, args in pairs),
        loose=tuple(broken(kind, args, loosened(reply)) for kind, args in pairs),
    )


def loosened(reply: str) -> tuple[str, ...]:
    """The reply and its seven edits: without first line, last line or both, and all four without asterisks."""
    lines = reply.split("\n")
    cut = (reply, *("\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1])))
    return cut + tuple(text.replace("*", "") for text in cut)


def broken(kind: str, args: Args, texts: Sequence[str]) -> str | None:
    """None if any of the texts follows the instruction, else what is wrong with the first."""
    check, _ = CHECKS[kind]
    reasons = [check(text, args) if text.strip() else "empty" for text in texts]
    return None if None in reasons else f"{kind}: {reasons[0]}"
