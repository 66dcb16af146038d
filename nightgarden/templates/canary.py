"""A canary: four words sent through a chat template, to see where they land.

Says what a template does without knowing any list of models. Knows nothing of families and verdicts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from nightgarden.errors import UserError
from nightgarden.templates import registry, render
from nightgarden.templates.registry import ChatTemplate
from nightgarden.templates.render import Message

SYSTEM, FIRST, ANSWER, LAST = "Alpha", "Bravo", "Charlie", "Delta"
CHAT: tuple[Message, ...] = (
    {"role": "system", "content": SYSTEM},
    {"role": "user", "content": FIRST},
    {"role": "assistant", "content": ANSWER},
    {"role": "user", "content": LAST},
)
Landing = Literal["in a block of its own", "glued to the first user turn", "glued to the last user turn", "nowhere", "refused"]


@dataclass(frozen=True, kw_only=True)
class Canary:
    """What a template did with CHAT, asked for a generation prompt."""

    text: str
    """The rendered chat; without its system turn where the template refuses one."""
    system: Landing
    """Where the system text landed."""
    adds_text: bool
    """Whether a chat without system text renders longer than one with it: the template brings a default of its own."""
    asks: bool
    """Whether the generation prompt has an effect."""
    exact: bool
    """Whether the ids, made piece by piece, are those of the whole text."""

    def __str__(self) -> str:
        """One sentence, for reasons."""
        own = "a default system text of its own, " if self.adds_text else ""
        asks = "a generation prompt" if self.asks else "no generation prompt"
        return f"system text {self.system}, {own}{asks}"


def observe(template: ChatTemplate, tokenizer: Any) -> Canary:
    """Send the canary through a template."""
    spoken = _text(template, tokenizer, CHAT[1:])
    try:
        text = _text(template, tokenizer, CHAT)
        system = _landing(text)
    except UserError:
        text, system = spoken, "refused"
    chat = CHAT if system != "refused" else CHAT[1:]
    return Canary(
        text=text,
        system=system,
        adds_text=len(spoken) > len(text),
        asks=text != _text(template, tokenizer, chat, generation_prompt=False),
        exact=_exact(template, tokenizer, chat, text),
    )


def _text(template: ChatTemplate, tokenizer: Any, chat: tuple[Message, ...], *, generation_prompt: bool = True) -> str:
    return render.plain(registry.render_text(template, tokenizer, chat, generation_prompt=generation_prompt))


def _landing(text: str) -> Landing:
    places = {word: text.find(word) for word in (SYSTEM, FIRST, LAST)}
    if places[SYSTEM] < 0:
        return "nowhere"
    after = text[places[SYSTEM] + len(SYSTEM) :].lstrip()
    if after.startswith(FIRST):
        return "glued to the first user turn"
    if after.startswith(LAST):
        return "glued to the last user turn"
    return "in a block of its own"


def _exact(template: ChatTemplate, tokenizer: Any, chat: tuple[Message, ...], text: str) -> bool:
    pieces = registry.encode(template, tokenizer, chat, generation_prompt=True).ids
    whole: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return pieces == whole
