"""One question to a judge: what was asked, one answer without a name, the rubric; and what may be read from its reply.

The judge is a chat model too, so its own template is checked: a server that reads other tokens than our template
gives for the same turns is refused. Knows neither anchors nor sides; what cannot be read is missing, never a number.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from nightgarden.chat import Chat, Declined
from nightgarden.errors import Refusal
from nightgarden.models.load import load_tokenizer
from nightgarden.records import Prompt, Turn
from nightgarden.templates import passport, registry
from nightgarden.templates.registry import ChatTemplate

log = logging.getLogger(__name__)

RUBRIC, PERSONA = (Path(__file__).with_name(name) for name in ("rubric.md", "persona.md"))
MAX_TOKENS = 160
"""Three times a well-formed reply; a longer one is cut, which counts as missing."""
MAX_COMMENT = 240
"""Characters. A small model's comment has no end of its own: the schema gives it one before MAX_TOKENS does."""
RETRY_WARMER = 0.3
"""Temperature of the one retry: at 0 the same words would come again."""
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "score": {"type": "integer", "minimum": 1, "maximum": 5},
        "comment": {"type": "string", "maxLength": MAX_COMMENT},
    },
    "required": ["score", "comment"],
    "additionalProperties": False,
}
"""The score comes first: a comment that is written before it would be written for its sound, and the score after the comment."""


class Reading(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a reply must be, to the letter: no 4.0, no "4", no 7."""

    score: Annotated[int, Meta(ge=1, le=5)]
    comment: str


@dataclass(frozen=True, kw_only=True)
class Given:
    """What a judge gave to one answer."""

    score: int | None
    """None where its reply could not be read."""
    comment: str
    counted: bool
    """Whether the server read as many tokens as our own template gives."""


@dataclass(frozen=True, kw_only=True)
class Own:
    """Our template for the judge's model, to count with."""

    template: ChatTemplate
    tokenizer: Any
    agreed: bool
    """Whether every witness of the passport agrees; a model of no known family is counted with the template it brought."""

    @classmethod
    def of(cls, folder: Path) -> Own | None:
        """The template of a model folder; None where the model is unknown and brings none.

        Raises:
            Refusal: a witness disagrees.
        """
        proof = passport.inspect(folder)
        passport.require(proof)
        if proof.template is None:
            return None
        return cls(template=proof.template, tokenizer=load_tokenizer(folder), agreed=proof.verdict == "agree")

    def count(self, turns: Sequence[Turn]) -> int:
        """Prompt tokens of a question."""
        return len(registry.encode_prompt(self.template, self.tokenizer, turns))

    def spelt(self, turns: Sequence[Turn]) -> list[str]:
        """Control tokens that a question spells as text; a server that renders turns may take them for its own."""
        return [token for token in registry.specials(self.tokenizer) if any(token in turn.content for turn in turns)]


@dataclass(frozen=True, kw_only=True)
class Judge:
    """A chat model with its rubric."""

    chat: Chat
    system: str
    """Rubric and persona."""
    own: Own | None
    """None where the judge's model folder is unknown."""

    def ask(self, prompt: Prompt, text: str) -> Given:
        """Score of one answer to one prompt.

        Raises:
            UserError: the judge cannot be reached.
            Refusal: its server read other tokens than our template gives.
        """
        turns = (Turn(role="system", content=self.system), Turn(role="user", content=question(prompt, text)))
        counted = False
        for temperature in (0.0, RETRY_WARMER):
            try:
                answer = self.chat.answer(turns, temperature=temperature, max_tokens=MAX_TOKENS, schema=SCHEMA)
            except Declined as error:
                log.warning("%s: no score: %s", self.chat.name, error)
                break
            counting = self._counting(turns, answer.prompt_tokens)
            if counting == "spelt":
                break
            counted = counting == "equal"
            found = None if answer.cut else read(answer.text)
            if found is not None:
                return Given(score=found.score, comment=found.comment, counted=counted)
        return Given(score=None, comment="", counted=counted)

    def _counting(self, turns: Sequence[Turn], told: int | None) -> Literal["equal", "unknown", "spelt"]:
        """How the tokens that a server read compare with ours.

        Raises:
            Refusal: they are other ones, and no control token that the question spells explains it.
        """
        if self.own is None or told is None:
            return "unknown"
        if (needed := self.own.count(turns)) == told:
            return "equal"
        if spelt := self.own.spelt(turns):
            log.warning("%s: no score: its server takes %s in the question for its own", self.chat.name, ", ".join(spelt))
            return "spelt"
        raise Refusal(
            f"the judge {self.chat.name} read {told} prompt tokens where our template {self.own.template.name} gives {needed} "
            "for the same turns: its server renders them with another template. Nothing was rated; give the server the model's "
            "right template, or name the folder of the model that it serves."
        )


def system_text(*, persona_first: bool = False) -> str:
    """The judge's system text: the rubric, then the persona; or the other way round."""
    rubric, persona = (path.read_text(encoding="utf-8").strip() for path in (RUBRIC, PERSONA))
    return f"{persona}\n\n{rubric}" if persona_first else f"{rubric}\n\n{persona}"


def question(prompt: Prompt, text: str) -> str:
    """What the judge sees of one answer: system text as the companion had it, the conversation, the answer, and no name."""
    chat = registry.messages(prompt.turns, prompt.memories, prompt.directives)
    told = "\n\n".join(f"{message['role']}: {message['content']}" for message in chat)
    return f"<conversation>\n{told}\n</conversation>\n\n<answer>\n{text}\n</answer>"


def read(text: str) -> Reading | None:
    """The score and comment in a judge's reply; None where it is not exactly what was asked for, never a guess."""
    try:
        return msgspec.json.decode(text, type=Reading)
    except msgspec.DecodeError:  # a wrong type or range is one too: ValidationError is its subclass
        return None
