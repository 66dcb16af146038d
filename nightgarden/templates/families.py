"""What is known of each family of models that one of our templates serves.

Numbers come from the models' own files: SmolLM2-135M-Instruct's GGUF; for Mistral the published
params.json and the vocabularies in mistral-common 1.13.1, whose ids our templates give to the letter
(chats with and without system text, training rows). The hub's own Mistral folders could not be seen.
A family is chosen by its tokenizer and its template; its config can only veto, since base, instruct and
every fine-tune share one config. Adding a model: its shape here; a format: a family and a template file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The numbers of a config that tell models apart."""

    model_type: str
    layers: int | None
    hidden: int | None
    ffn: int | None
    """intermediate_size: with rope_theta the only number that splits Nemo-12B from Small-24B."""
    vocab: int | None
    rope_theta: float | None

    def __str__(self) -> str:
        """Readable, for reasons."""
        return (
            f"{self.model_type}, {self.layers} layers, hidden {self.hidden}, ffn {self.ffn}, "
            f"vocabulary {self.vocab}, rope {self.rope_theta and int(self.rope_theta)}"
        )


def shape_of(config: Mapping[str, Any]) -> Shape:
    """The shape that a config.json tells; what it does not tell is None.

    A model that wraps a text model (mistral3) has its numbers in `text_config` and keeps its own type.
    """
    text: Mapping[str, Any] = config.get("text_config") or config
    rope = text.get("rope_theta") or (text.get("rope_parameters") or {}).get("rope_theta")
    return Shape(
        model_type=str(config.get("model_type")),
        layers=text.get("num_hidden_layers"),
        hidden=text.get("hidden_size"),
        ffn=text.get("intermediate_size"),
        vocab=text.get("vocab_size"),
        rope_theta=None if rope is None else float(rope),
    )


@dataclass(frozen=True, kw_only=True)
class Family:
    """A family of models that share one chat format."""

    name: str
    """Also the name of its template."""
    ids: Mapping[str, int]
    """Control tokens and their ids."""
    absent: tuple[str, ...]
    """Tokens that another format has and this one must not."""
    version: str | None
    """Version that a tekken.json beside the tokenizer must name, if there is one."""
    shapes: tuple[Shape, ...]
    canary: str
    """How the format renders the chat of `canary.py`."""


FAMILIES: tuple[Family, ...] = (
    Family(
        name="smollm2",
        ids={"<|endoftext|>": 0, "<|im_start|>": 1, "<|im_end|>": 2},
        absent=("[INST]",),
        version=None,
        shapes=(Shape(model_type="llama", layers=30, hidden=576, ffn=1536, vocab=49152, rope_theta=1e5),),
        canary=(
            "<|im_start|>system\nAlpha<|im_end|>\n<|im_start|>user\nBravo<|im_end|>\n<|im_start|>assistant\nCharlie<|im_end|>\n"
            "<|im_start|>user\nDelta<|im_end|>\n<|im_start|>assistant\n"
        ),
    ),
    Family(
        name="mistral_v3",
        ids={"<s>": 1, "</s>": 2, "[INST]": 3, "[/INST]": 4},
        absent=("[SYSTEM_PROMPT]",),
        version=None,
        shapes=(Shape(model_type="mistral", layers=32, hidden=4096, ffn=14336, vocab=32768, rope_theta=1e6),),
        canary="<s>[INST] Bravo[/INST] Charlie</s>[INST] Alpha\n\nDelta[/INST]",
    ),
    Family(
        name="mistral_v7_tekken",
        ids={"<s>": 1, "</s>": 2, "[INST]": 3, "[/INST]": 4, "[SYSTEM_PROMPT]": 17, "[/SYSTEM_PROMPT]": 18},
        absent=(),
        version="v7",
        shapes=(Shape(model_type="mistral", layers=40, hidden=5120, ffn=32768, vocab=131072, rope_theta=1e8),),
        canary="<s>[SYSTEM_PROMPT]Alpha[/SYSTEM_PROMPT][INST]Bravo[/INST]Charlie</s>[INST]Delta[/INST]",
    ),
)


def named(name: str | None) -> Family | None:
    """The family of that name, if we know it."""
    return next((family for family in FAMILIES if family.name == name), None)
