"""The checkable demands of a prompt: one function a kind, each telling what is wrong.

A check answers None or one sentence. A kind with a colon is one of IFEval's and is judged in `ifeval.py`, as published:
there a reply that was cut off is judged by what it has. Knows nothing of scores or models.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import msgspec

from nightgarden.evaluation import ifeval
from nightgarden.evaluation.wording import find_phrases, fold, sentences, words
from nightgarden.records import Constraint

Check = Callable[[str, Constraint], str | None]
CONTENT = ("must_contain", "must_not_contain")
"""Kinds about what a reply says; all others are about its form."""
LASTING = ("must_contain", "min_words", "starts_with")
"""Kinds that more text cannot undo: the only ones that a reply which was cut off can satisfy."""


def max_words(text: str, constraint: Constraint) -> str | None:
    """At most n words."""
    found = len(words(text))
    return f"{found} words, at most {constraint.n} asked for" if found > (constraint.n or 0) else None


def min_words(text: str, constraint: Constraint) -> str | None:
    """At least n words."""
    found = len(words(text))
    return f"{found} words, at least {constraint.n} asked for" if found < (constraint.n or 0) else None


def num_lines(text: str, constraint: Constraint) -> str | None:
    """Exactly n lines that are not blank."""
    found = sum(1 for line in text.splitlines() if line.strip())
    return f"{found} lines, {constraint.n} asked for" if found != constraint.n else None


def num_sentences(text: str, constraint: Constraint) -> str | None:
    """Exactly n sentences."""
    found = sentences(text)
    return f"{found} sentences, {constraint.n} asked for" if found != constraint.n else None


def must_contain(text: str, constraint: Constraint) -> str | None:
    """At least one of the words, whole and without regard to case."""
    return None if find_phrases(text, constraint.any) else f"none of {_listed(constraint.any)}"


def must_not_contain(text: str, constraint: Constraint) -> str | None:
    """None of the words, whole and without regard to case."""
    found = sorted({text[start:end] for start, end in find_phrases(text, constraint.any)})
    return f"contains {_listed(found)}" if found else None


def starts_with(text: str, constraint: Constraint) -> str | None:
    """Begins so, letter for letter; white space and opening quotes before it do not count."""
    wanted = fold(constraint.text or "")
    return None if fold(text).lstrip(" \t\n\"'").startswith(wanted) else f"does not begin with {wanted!r}"


def ends_with(text: str, constraint: Constraint) -> str | None:
    """Ends so, letter for letter; a full stop, quotes and white space after it do not count."""
    wanted = fold(constraint.text or "")
    tail = fold(text).rstrip(" \t\n\"'")
    return None if tail.endswith(wanted) or tail.rstrip(".").endswith(wanted) else f"does not end with {wanted!r}"


def all_lowercase(text: str, constraint: Constraint) -> str | None:
    """No capital letter."""
    capital = sum(char.isupper() for char in text)
    return f"{capital} capital letters" if capital else None


def all_uppercase(text: str, constraint: Constraint) -> str | None:
    """No small letter."""
    small = sum(char.islower() for char in text)
    return f"{small} small letters" if small else None


def json_keys(text: str, constraint: Constraint) -> str | None:
    """The whole reply is one JSON object with exactly these keys; no code fence around it."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        return f"not JSON: {error.msg} at character {error.pos}"
    if not isinstance(value, dict) or set(value) != set(constraint.keys):
        came = sorted(value) if isinstance(value, dict) else type(value).__name__
        return f"keys {came}, {sorted(constraint.keys)} asked for"
    return None


def no_digits(text: str, constraint: Constraint) -> str | None:
    """No digit of any script."""
    found = sum(char.isdigit() for char in text)
    return f"{found} digits" if found else None


def no_commas(text: str, constraint: Constraint) -> str | None:
    """No comma of any script."""
    found = sum(char in ",，、،" for char in text)
    return f"{found} commas" if found else None


def one_of(text: str, constraint: Constraint) -> str | None:
    """The whole reply is one of these, without regard to case and punctuation."""
    said = " ".join(match.group() for match in words(text)).casefold()
    return None if said in {option.casefold() for option in constraint.any} else f"is not one of {_listed(constraint.any)}"


def _listed(items: tuple[str, ...] | list[str]) -> str:
    return ", ".join(f"“{item}”" for item in items)


CHECKS: dict[str, tuple[Check, str]] = {
    "max_words": (max_words, "n"),
    "min_words": (min_words, "n"),
    "num_lines": (num_lines, "n"),
    "num_sentences": (num_sentences, "n"),
    "must_contain": (must_contain, "any"),
    "must_not_contain": (must_not_contain, "any"),
    "starts_with": (starts_with, "text"),
    "ends_with": (ends_with, "text"),
    "all_lowercase": (all_lowercase, ""),
    "all_uppercase": (all_uppercase, ""),
    "json_keys": (json_keys, "keys"),
    "no_digits": (no_digits, ""),
    "no_commas": (no_commas, ""),
    "one_of": (one_of, "any"),
}
"""Every kind: its check, and the field that it needs (`` = none)."""


def instruction_args(constraint: Constraint) -> ifeval.Args:
    """Arguments of a constraint whose kind is one of IFEval's.

    Raises:
        msgspec.ValidationError: an argument that no instruction has, or of another type.
    """
    return msgspec.convert(constraint.args, ifeval.Args)


def _args_fault(constraint: Constraint) -> str | None:
    if constraint != Constraint(kind=constraint.kind, args=constraint.args):
        return f"{constraint.kind} takes its arguments in `args`"
    try:
        args = instruction_args(constraint)
    except msgspec.ValidationError as error:
        return f"{constraint.kind}: {error}"
    return ifeval.args_fault(constraint.kind, args)


def fault(constraint: Constraint) -> str | None:
    """What is wrong with a constraint as it is written, or None."""
    if constraint.kind in ifeval.CHECKS:
        return _args_fault(constraint)
    if constraint.kind not in CHECKS:
        return f"unknown kind {constraint.kind!r}; kinds are {', '.join((*CHECKS, *ifeval.CHECKS))}"
    needed = CHECKS[constraint.kind][1]
    given = {name for name in ("n", "any", "text", "keys", "args") if getattr(constraint, name)}
    if given != ({needed} if needed else set()):
        return f"{constraint.kind} needs {needed or 'no field'}; it has {', '.join(sorted(given)) or 'none'}"
    return None


def broken(text: str, constraint: Constraint, *, truncated: bool) -> str | None:
    """How a reply breaks a constraint, or None; a reply that was cut off satisfies lasting kinds only."""
    if constraint.kind in ifeval.CHECKS:
        return ifeval.broken(constraint.kind, instruction_args(constraint), (text,))
    check, _ = CHECKS[constraint.kind]
    reason = check(text, constraint)
    if reason is None and truncated and constraint.kind not in LASTING:
        reason = "cut off before it could be satisfied"
    return f"{constraint.kind}: {reason}" if reason else None
