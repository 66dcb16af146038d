"""Chat templates rendered in a sandbox, with the assistant's text and the control tokens marked apart.

A template's own control tokens become ids; the same characters inside a turn stay text. To tell them
apart, a turn's text is broken by a noncharacter inside every control token that it spells, and the
break is taken out again after the cut. Knows Jinja and strings; no tokenizer, no model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from jinja2 import Template, TemplateError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from nightgarden.errors import UserError

BREAK, START, END = "\ufdd0", "\ufdd1", "\ufdd2"
"""Unicode noncharacters, reserved for a program's own use: BREAK splits a control token that a turn spells,
START and END stand around what the assistant says."""
MARKS = re.compile(f"[{BREAK}{START}{END}]")
TODAY = "2026-09-07"
"""The day that a template gets which prints today's date: a fixed one, or its token ids would change at midnight."""

Message = Mapping[str, str]
"""{"role", "content"}, as chat templates expect it."""


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A piece of a rendered chat that is tokenised alone."""

    text: str
    kind: Literal["control", "text"]
    spoken: bool
    """True inside a `{% generation %}` block: what the assistant says and its stop token."""


class Generation(Extension):
    """`{% generation %}` ... `{% endgeneration %}`: its body between START and END."""

    tags = {"generation"}

    def parse(self, parser: Parser) -> nodes.Node:
        """The block as a call that wraps its body."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_marked"), [], [], body).set_lineno(line)

    def _marked(self, caller: Callable[[], str]) -> str:
        return f"{START}{caller()}{END}"


def _raise(message: str) -> None:
    raise TemplateError(message)


def _strftime_now(style: str) -> str:
    from datetime import date

    return date.fromisoformat(TODAY).strftime(style)


@cache
def compiled(text: str) -> Template:
    """A template compiled once, in the environment that transformers gives to chat templates."""
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
    environment.filters["tojson"] = lambda value, indent=None: json.dumps(value, ensure_ascii=False, indent=indent)
    environment.globals.update(raise_exception=_raise, strftime_now=_strftime_now)
    return environment.from_string(text)


def render(text: str, messages: Sequence[Message], *, generation_prompt: bool, **names: Any) -> str:
    """A chat as marked text; `names` are further variables, such as bos_token.

    Raises:
        UserError: the template refuses the chat or is broken.
    """
    try:
        return compiled(text).render(messages=messages, add_generation_prompt=generation_prompt, **names)
    except TemplateError as error:
        raise UserError(f"the chat template refuses this chat: {error}. Use another template or order of turns.") from error


def harmless(text: str, control: Collection[str]) -> str:
    """`text` with BREAK inside every control token that it spells.

    Raises:
        UserError: the text holds one of our marks; Unicode keeps them for use inside programs.
    """
    if MARKS.search(text):
        raise UserError(f"a turn holds one of the noncharacters U+FDD0 to U+FDD2: {text[:80]!r}. Remove it from the turn.")
    while spelt := next((token for token in control if token in text), None):
        text = text.replace(spelt, spelt[0] + BREAK + spelt[1:])
    return text


def plain(marked: str) -> str:
    """Rendered text without our marks: what a person reads."""
    return MARKS.sub("", marked)


def segments(marked: str, control: Collection[str]) -> list[Segment]:
    """Marked text cut at control tokens and where the assistant begins and ends to speak.

    Text between two control tokens stays whole, so its tokens are those of the whole text; the only
    further cut is where the assistant begins, which is where a model begins when it replies.
    """
    tokens = sorted(control, key=len, reverse=True)
    cut = re.compile("(" + "|".join([START, END, *map(re.escape, tokens)]) + ")")
    found: list[Segment] = []
    spoken = False
    for piece in filter(None, cut.split(marked)):
        if piece in (START, END):
            spoken = piece == START
        else:
            found.append(Segment(text=piece.replace(BREAK, ""), kind="control" if piece in control else "text", spoken=spoken))
    return found
