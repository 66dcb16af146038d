"""The chat templates by name, and turns to token ids with them.

The one place where a chat becomes ids, for training, evaluation and chat alike. Text is data: a
control token that a turn spells is tokenised as text, never as the control id (refusing it would let
one pasted `<|im_end|>` stop a conversation). Knows tokenizers; opens no weights and no files but the templates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from nightgarden.errors import Refusal, UserError
from nightgarden.records import MemoryLine, Turn
from nightgarden.templates import render
from nightgarden.templates.render import Message

IGNORED = -100
"""Label of a token that the loss leaves out; the number that torch's cross_entropy ignores."""


@dataclass(frozen=True, kw_only=True)
class ChatTemplate:
    """A chat template and what must hold of its tokens."""

    name: str
    family: str | None
    """Family of models that speak it (`families.py`); None for a template that came with a model."""
    text: str
    """Jinja source."""
    stop: str
    """Control token that ends an answer."""
    bos: str | None
    """Control token that the template itself writes first, or None; tokenizers add none."""
    control: tuple[str, ...]
    """Control tokens that the template writes; each must be one id in the tokenizer."""


@dataclass(frozen=True, kw_only=True)
class Encoded:
    """An example as token ids, with a label a token."""

    ids: list[int]
    labels: list[int]
    """The id itself on assistant text and its stop token, IGNORED elsewhere."""


_CONTROL: dict[str, tuple[str, ...]] = {
    "smollm2": ("<|im_start|>", "<|im_end|>"),
    "mistral_v3": ("<s>", "</s>", "[INST]", "[/INST]"),
    "mistral_v7_tekken": ("<s>", "</s>", "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"),
}
NAMES: tuple[str, ...] = tuple(_CONTROL)


def source(file: str) -> str:
    """Text of a template file of this folder."""
    return (files("nightgarden.templates") / file).read_text(encoding="utf-8")


@cache
def get(name: str) -> ChatTemplate:
    """One of our own templates.

    Raises:
        UserError: no template of that name.
    """
    if name not in _CONTROL:
        raise UserError(f"no chat template {name!r}; there are {', '.join(NAMES)}. Correct `template` in params.yaml.")
    control = _CONTROL[name]
    bos = "<s>" if "<s>" in control else None
    stop = "</s>" if "</s>" in control else "<|im_end|>"
    return ChatTemplate(name=name, family=name, text=source(f"{name}.jinja"), stop=stop, bos=bos, control=control)


def native(tokenizer: Any) -> ChatTemplate:
    """The template that came with a model, for models that we do not know.

    Raises:
        UserError: the tokenizer has no template.
    """
    text = tokenizer.chat_template
    if isinstance(text, dict):
        text = text.get("default")
    if not isinstance(text, str):
        raise UserError(
            f"{tokenizer.name_or_path} has no chat template of its own and none of ours fits. "
            f"Name one of {', '.join(NAMES)} as its `template` in params.yaml if you know that it fits."
        )
    return ChatTemplate(name="native", family=None, text=text, stop=tokenizer.eos_token, bos=None, control=())


def system_text(system: str, directives: Sequence[str], memories: Sequence[MemoryLine]) -> str:
    """System prompt, then directives, then memories, as `memory_block.jinja` places them; empty if all three are."""
    template = render.compiled(source("memory_block.jinja"))
    return template.render(system=system, directives=list(directives), memories=list(memories))


def messages(turns: Sequence[Turn], memories: Sequence[MemoryLine] = (), directives: Sequence[str] = ()) -> list[Message]:
    """Turns as role and content, with directives and memories in the system text; no system message where that is empty.

    Raises:
        UserError: the turns are not an optional system turn, then user and assistant in turn.
    """
    given = turns[0].content if turns and turns[0].role == "system" else ""
    spoken = turns[1:] if turns and turns[0].role == "system" else turns
    roles = [turn.role for turn in spoken]
    if roles != (["user", "assistant"] * len(roles))[: len(roles)] or not roles:
        came = ", ".join(turn.role for turn in turns) or "none"
        raise UserError(f"the turns are: {came}; needed: an optional system turn, then user and assistant in turn.")
    system = system_text(given, directives, memories)
    head: list[Message] = [{"role": "system", "content": system}] if system else []
    return head + [{"role": turn.role, "content": turn.content} for turn in spoken]


def specials(tokenizer: Any) -> list[str]:
    """The tokenizer's control tokens: added tokens that are marked special."""
    return sorted({str(token) for token in tokenizer.added_tokens_decoder.values() if token.special})


def render_text(template: ChatTemplate, tokenizer: Any, chat: Sequence[Message], *, generation_prompt: bool) -> str:
    """A chat as marked text (see `render.py`), its turns made harmless."""
    control = specials(tokenizer)
    safe = [{"role": item["role"], "content": render.harmless(item["content"], control)} for item in chat]
    names = {"bos_token": tokenizer.bos_token, "eos_token": tokenizer.eos_token}
    return render.render(template.text, safe, generation_prompt=generation_prompt, **names)


def encode(template: ChatTemplate, tokenizer: Any, chat: Sequence[Message], *, generation_prompt: bool) -> Encoded:
    """A chat as ids and labels, piece by piece.

    Raises:
        Refusal: a control token of the template is not one in this tokenizer, or BOS stands twice.
        UserError: the template refuses the chat.
    """
    control = specials(tokenizer)
    require_control(template, control)
    ids: list[int] = []
    labels: list[int] = []
    for segment in render.segments(render_text(template, tokenizer, chat, generation_prompt=generation_prompt), control):
        if segment.kind == "control":
            new = [tokenizer.convert_tokens_to_ids(segment.text)]
        else:
            new = tokenizer(segment.text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        ids += new
        labels += new if segment.spoken else [IGNORED] * len(new)
    if template.bos is not None and ids[:2] == [tokenizer.convert_tokens_to_ids(template.bos)] * 2:
        raise Refusal(f"template {template.name} begins with {template.bos} twice. Take one out of the template.")
    return Encoded(ids=ids, labels=labels)


def require_control(template: ChatTemplate, control: Sequence[str]) -> None:
    """Refuse a template whose control tokens would be spelt out as text."""
    spelt = [token for token in template.control if token not in control]
    if spelt:
        raise Refusal(
            f"template {template.name} writes {', '.join(spelt)}, which this tokenizer has as text and not as control tokens. "
            "Name the model's right template in params.yaml (`nightgarden template inspect FOLDER` tells it)."
        )


def encode_prompt(
    template: ChatTemplate,
    tokenizer: Any,
    turns: Sequence[Turn],
    memories: Sequence[MemoryLine] = (),
    directives: Sequence[str] = (),
) -> list[int]:
    """Token ids of a chat that waits for its answer; they end with the generation prompt.

    Raises:
        UserError: the last turn is not the user's.
        Refusal: the template does not fit the tokenizer.
    """
    if not turns or turns[-1].role != "user":
        raise UserError(f"the last turn is {turns[-1].role if turns else 'missing'}; a prompt ends with a user turn.")
    return encode(template, tokenizer, messages(turns, memories, directives), generation_prompt=True).ids


def encode_example(
    template: ChatTemplate,
    tokenizer: Any,
    turns: Sequence[Turn],
    memories: Sequence[MemoryLine] = (),
    directives: Sequence[str] = (),
) -> Encoded:
    """Token ids and labels of a whole chat; every assistant turn is labelled, with its stop token.

    Raises:
        UserError: the last turn is not the assistant's, or the template does not mark what the assistant says.
        Refusal: the template does not fit the tokenizer.
    """
    if not turns or turns[-1].role != "assistant":
        raise UserError(f"the last turn is {turns[-1].role if turns else 'missing'}; an example ends with an assistant turn.")
    encoded = encode(template, tokenizer, messages(turns, memories, directives), generation_prompt=False)
    labelled = [label for label in encoded.labels if label != IGNORED]
    if not labelled or labelled[-1] != tokenizer.convert_tokens_to_ids(template.stop):
        raise UserError(
            f"template {template.name} does not mark the answer with its stop token {template.stop} as generation, "
            f"so there is nothing to train on. Use one of {', '.join(NAMES)}."
        )
    return encoded
