"""placeholder: unfilled slots, the marks of a dry run, and answers that are none: empty, a stub, a bare refusal.

A dry run's rows once passed every later step and nearly reached training. Slots in double braces are
sought everywhere, op 1's contrast included; the other forms in all but user turns, where a person may
well ask about a template. Code is left alone but for slots that speak to a reader (`[Your Name]`), and
so are braces that a user quotes. A stub or a refusal counts as the whole of an answer only, and not
where the prompt asks for these very words. Not sought: a bare `{name}` (it is code), refusals in other
languages than English, German, French and Spanish, an answer that many rows share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain

import re2

from nightgarden.curation.canaries import Canaries, bad_row, clean_rows, of_answers, row
from nightgarden.curation.matching import CODE, ROW, Folded, Patterns, Triggers, answers, code_spans, engine, fold, phrase_pattern
from nightgarden.records import Example, Hit, Turn
from nightgarden.rule_params import PlaceholderRule

_BRACES = {"slot in double braces": r"\{\{\s*[^\s{}0-9\\][^{}\n]{0,60}\}\}"}
_SLOTS = {
    "slot in capitals": r"\[[A-Z]{2,}(?:[ _'/&-]+[A-Z0-9]+)*\]",
    "slot to be filled": r"(?i)\[(?:your|insert|fill in|name|date|recipient|company)\b[^\[\]\n]{0,60}\]",
    "slot to be entered": r"(?i)\[(?:enter|add|specify) (?:your|the|an?|name|date|text)\b[^\[\]\n]{0,60}\]",
    "slot with a name": r"(?i)\[[^\[\]\n]{1,40}\b(?:name|number|date|address|title|company|amount|e-?mail)s?(?: here)?\]",
    "slot in another language": r"(?i)\[(?:[^\[\]\n]{0,50}\b(?:einfugen|einsetzen|eintragen|inserer|insertar|inserire|inserir)"
    r"|(?:ihre?|deine?|votre|ton|ta|tu|su) (?:name|nom|nombre|adresse|direccion|firma|entreprise|empresa))\b[^\[\]\n]{0,20}\]",
    "slot in angle brackets": r"(?i)<(?:insert|enter|add|fill in|your)\b[^<>\n]{0,60}>",
    "slot of a shell": r"\$\{[A-Za-z_][A-Za-z0-9_ ]{0,40}\}",
    "slot in single braces": r"(?:^|[\s(])\{[a-z]{2,}(?:_[a-z]{2,})+\}",
    "slot in percent signs": r"%[A-Z]+(?:_[A-Z]+)+%",
    "open TODO": r"\b(?:TODO|FIXME|TBD)\b",
}
_CONTROL = {"INST", "SYS", "SYSTEM_PROMPT", "AVAILABLE_TOOLS", "TOOL_CALLS", "TOOL_RESULTS", "TOOL_CONTENT", "IMG", "IMG_END"}
"""Capitals in brackets that are control tokens: the residue rule's."""
_DONE = {"REDACTED", "SIC", "OK"}
"""Capitals in brackets that stand for something else than a slot."""
_TO_A_READER = r"(?i)^\[(?:your|insert|fill in|enter) "
"""A slot that no programming language reads: it counts inside code too, where letters are sometimes put."""
_QUOTED = r"\"[^\"\n]*\"|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»"

_STUBS = {
    "empty answer": r"^[\s\"'`]*$",
    "answer of dots": r"^\s*\.[\s.]*$",
    "answer that is a stub": r"^\W*(?:n/a|N/A|[nN]\.\s?[aA]\.)\W*$|^\s*(?:null|NULL|NaN|undefined)\s*$"
    r"|(?i)^\s*[\[(<](?:empty|blank|none|null|n/a|(?:no )?(?:answer|response|reply|output|content|text))[\])>]\.?\s*$",
}
_SORRY = (
    r"(?:(?:(?:i'?m|i am|we'?re|we are) )?(?:so |very |really )*(?:sorry|afraid)|(?:my )?apologies|i apologi[sz]e|unfortunately)"
)
_CANNOT = (
    r"(?:(?:i|we) (?:simply |really |just )?(?:can'?t|cannot|can not|could not|couldn't|won't|will not|must decline to)"
    r"|(?:i'm|i am|we're|we are) (?:simply |currently )?(?:not able|unable|not allowed|not permitted) to)"
)
_DO = r"(?:help|assist|answer|respond|comply|do|fulfil?l|complete|provide|give|process|discuss|continue|generate|create|write)"
_EMPTY_WORD = (
    r"(?: (?:you|to|with|on|about|for|in|of|at|any|further|more|anything|it|that|this|these|those|such|your|the|an?|specific|"
    r"particular|kind|type|sort|requests?|questions?|query|prompt|task|topic|subject|matter|information|content|assistance|help|"
    r"advice|answers?|response|instructions?|conversation|time|moment|now|here|please))"
)
_OFFER = r"(?:is there anything|(?:please )?let me|feel free|how else|if you have any|please (?:try|ask|rephrase))[^.!?\n]{0,100}"
_REFUSALS = {
    "English": rf"(?:{_SORRY}[,.;:]? ?(?:but |that )?)?(?:as an? (?:ai|language model)[^.,\n]{{0,40}}, )?"
    rf"{_CANNOT} {_DO}{_EMPTY_WORD}{{0,9}}(?:[.!]\s+{_OFFER})?",
    "German": r"(?:(?:es )?tut mir leid,? (?:aber )?)?(?:(?:leider )?(?:(?:dabei|damit|da|hierbei) )?kann ich|ich kann) "
    r"(?:dir |ihnen |euch )?(?:(?:dabei|damit|hierbei) )?(?:leider )?nicht (?:weiter)?helfen",
    "French": r"(?:(?:je suis )?desolee?,? (?:mais )?)?je ne peux pas (?:vous |t'|te )?aider(?: avec (?:cela|ca)| a ce sujet)?",
    "Spanish": r"(?:lo siento,? (?:pero )?)?no puedo ayudar(?:te|le|les|os)?(?: con (?:eso|esto|esa solicitud))?",
}
"""A refusal without a word on the matter: after the verb only words that fit any question. Folded text has no accents."""
_BARES = _STUBS | {"answer that only refuses": rf"(?i)^[\s\"'*_]*(?:{'|'.join(_REFUSALS.values())})[\s.!?\"'*_]*$"}
_BARE = Patterns(_BARES)
_STUB = Patterns(_STUBS)
LONGEST_BARE = 500
"""Characters: the parts of a bare refusal add up to fewer; what is longer is not looked at."""
_READER, _QUOTATION, _EDGES = re2.compile(_TO_A_READER), re2.compile(_QUOTED), " \n.!\"'*_"

ENGINE = engine(
    *_BRACES.values(),
    *_SLOTS.values(),
    *_STUBS.values(),
    *_REFUSALS.values(),
    *sorted(_CONTROL | _DONE),
    *(_TO_A_READER, _QUOTED, CODE),
)
CANARY_BAD = (
    "I am {{name}}, an AI assistant developed by {{author}}.",
    "Dear [LANDLORD NAME], the fan is broken. Yours, [Your Name]",
    "Ask <insert name> for the key.",
    "Closed on Monday. TODO: add the new hours.",
    "Your parcel ${TRACKING_NUMBER} is at the kiosk.",
    "Your parcel is at the kiosk, {first_name}.",
    "Your parcel is with %SHOP_OWNER%.",
    "Sehr geehrte Frau [Nachname einfügen], die Uhr steht.",
    "```\nDear [Your Landlord], the fan is broken.\n```",
    "I’m sorry, but I can’t assist with that request.",
    "Dabei kann ich Ihnen leider nicht helfen.",
    "N/A",
    "null",
    "…",
    '""',
)
CANARY_CLEAN = (
    "Loop over them:\n```jinja\n{% for g in guests %}{{ g.name }}{% endfor %}\n```\nThen `rsync --dry-run` shows it.",
    "I can't help with that from here, but the desk upstairs can, and they close at six.",
)
"""Code, and a refusal that goes on to help."""


def canaries(settings: PlaceholderRule) -> Canaries:
    """The forms of a slot and of no answer, every mark of the settings, and a slot in op 1's contrast."""
    texts = of_answers("placeholder", [*CANARY_BAD, *(f"This answer is {marker}." for marker in settings.markers)])
    clean = clean_rows()
    contrast = row("placeholder:contrast", op=1, turns=clean[1].turns, meta={"contrast": CANARY_BAD[0]})
    prompt = row("placeholder:prompt", op=0, turns=(Turn(role="user", content="What is {{topic}}?"), clean[0].turns[1]))
    dry = row("placeholder:dry_run", op=0, turns=clean[0].turns, meta={"dry_run": True})
    told = bad_row("placeholder:told", 0, "That column is empty.", prompt='Why does it say "Dear {{name}}"?')
    spared = tuple(bad_row("placeholder:spared", number, text) for number, text in enumerate(CANARY_CLEAN))
    return Canaries(bad=(*texts.bad, contrast, prompt, dry), clean=(*clean, *spared, told))


def triggers(settings: PlaceholderRule, prompts: object = ()) -> Triggers:
    """A slot, a mark, an answer that may be none, and the mark of a dry run in `meta`."""
    marks = (*_BRACES.values(), *_SLOTS.values(), *map(phrase_pattern, settings.markers))
    answers, others = (*marks, *_BARES.values()), (*marks, *_STUBS.values(), '"dry_run"', r'"contrast":"')
    return Triggers(answers=_any(answers), others=_any(others))


def _any(patterns: Sequence[str]) -> str:
    return "|".join(f"(?:{pattern})" for pattern in patterns)


def hits(example: Example, settings: PlaceholderRule) -> tuple[Hit, ...]:
    """Every slot and mark, then answers that are none; places outside the turns come as hits on the row that name the place."""
    braces, slots = _patterns(settings.markers)
    found = [Hit(turn=ROW, start=0, end=0, reason="made by a dry run of the synthesis")] if example.meta.get("dry_run") else []
    for turn, place, text in _texts(example):
        folded = fold(text)
        is_user = turn != ROW and example.turns[turn].role == "user"
        slots_here = (
            _located(braces, folded, spare_quoted=True) if is_user else chain(*(_located(p, folded) for p in (braces, slots)))
        )
        for name, start, end in slots_here:
            where = (0, 0) if turn == ROW else (start, end)
            found.append(Hit(turn=turn, start=where[0], end=where[1], reason=f"{name}{place}"))
    return (*found, *_bare(example))


@lru_cache(maxsize=4)
def _patterns(markers: tuple[str, ...]) -> tuple[Patterns, Patterns]:
    marks = {f"mark: {marker}": phrase_pattern(marker) for marker in markers}
    return Patterns(_BRACES), Patterns(_SLOTS | marks)


def _located(patterns: Patterns, folded: Folded, spare_quoted: bool = False) -> Iterator[tuple[str, int, int]]:
    text, found = folded.original, patterns.find(folded)
    spared = code_spans(text) if found else []
    if found and spare_quoted:
        spared += [match.span() for match in _QUOTATION.finditer(text)]
    done: set[tuple[int, int]] = set()
    for name, start, end in found:
        slot, before, behind = text[start:end], text[start - 1 : start], text[end : end + 1]
        if name == "slot in capitals" and slot[1:-1].strip("/ ") in _CONTROL | _DONE:
            continue
        if slot[0] == "[" and behind and behind in "([{+*":  # a Markdown link, a class in a regular expression
            continue
        if before and before in "$}_^" and name in _BRACES:  # a workflow's `${{ ... }}`; TeX: `\frac{1}{{n}}`, `x_{{n}}`
            continue
        if any(first <= start < last for first, last in spared) and not _READER.search(slot):
            continue
        if (start, end) in done:  # a slot known by two forms
            continue
        done.add((start, end))
        yield name, start, end


def _bare(example: Example) -> Iterator[Hit]:
    """Answers that are none, and stubs in memories and in op 1's contrast, which may refuse: it is the bad answer."""
    for index, text in answers(example):
        if len(text) > LONGEST_BARE:
            continue
        folded = fold(text)
        for name, *_ in _BARE.find(folded):
            if not _is_asked_for(folded.text, example.turns[:index]):
                yield Hit(turn=index, start=0, end=len(text), reason=name)
    for turn, place, text in _texts(example):
        if turn == ROW and text.strip():
            yield from (Hit(turn=ROW, start=0, end=0, reason=f"{name}{place}") for name, *_ in _STUB.find(fold(text)))


def _is_asked_for(answer: str, before: tuple[Turn, ...]) -> bool:
    """Whether the prompt holds the very words: "if you do not know, say N/A"."""
    words = answer.lower().strip(_EDGES)
    return bool(words) and any(words in fold(turn.content).text.lower() for turn in before if turn.role != "assistant")


def _texts(example: Example) -> Iterator[tuple[int, str, str]]:
    """Turn index, where it is said in the reason, text: everything that is rendered, and op 1's contrast."""
    for index, turn in enumerate(example.turns):
        yield index, "", turn.content
    for memory in example.memories:
        yield ROW, " in a memory", memory.text
    for directive in example.directives:
        yield ROW, " in a directive", directive
    if isinstance(contrast := example.meta.get("contrast"), str):
        yield ROW, " in meta.contrast", contrast
