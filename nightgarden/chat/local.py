"""A chat model in this process: transformers, our own template, and an adapter if one is given.

An adapter is used only after the passport agreed with its card and its base is the one that it was trained on.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nightgarden import digests, jsonl
from nightgarden.errors import Refusal, UserError
from nightgarden.models import specs
from nightgarden.models.load import load_model, load_tokenizer
from nightgarden.params import ModelSpec
from nightgarden.records import Turn
from nightgarden.templates import passport, registry
from nightgarden.templates.registry import ChatTemplate

log = logging.getLogger(__name__)

CARD = "card.json"
WEIGHTS = "adapter_model.safetensors"


class Local:
    """A loaded model that answers."""

    def __init__(self, name: str, model: Any, tokenizer: Any, template: ChatTemplate, *, seed: int) -> None:
        self.name = name
        self._model, self._tokenizer, self._template, self._seed = model, tokenizer, template, seed

    @classmethod
    def load(cls, spec: ModelSpec, root: Path, adapter: Path | None = None, *, seed: int) -> Local:
        """Load a base model and, if given, an adapter on it.

        Raises:
            UserError: the model or the adapter is missing or not whole.
            Refusal: a witness of the template disagrees, or the adapter belongs to another base.
        """
        folder = specs.folder(spec, root)
        card = None if adapter is None else _card(adapter)
        proof = passport.inspect(folder, card, registry.get(spec.template))
        passport.require(proof)
        name = folder.name
        if card is not None and adapter is not None:
            _require_same(card, adapter, folder)
            name += f"+{adapter.name}"
        model = load_model(spec, root)
        if adapter is not None:
            from peft import PeftModel

            model = PeftModel.from_pretrained(model, adapter, is_trainable=False).eval()
        return cls(name, model, load_tokenizer(folder), registry.get(spec.template), seed=seed)

    def reply(
        self,
        turns: Sequence[Turn],
        *,
        temperature: float,
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,
    ) -> str:
        """The model's answer; see `Chat.reply`. Equal calls give equal answers.

        Raises:
            UserError: a schema is given; nothing here can hold a model to one.
        """
        import torch

        if schema is not None:
            raise UserError("this chat cannot hold a model to a JSON schema. Use the embedded or a served model for that.")
        ids = registry.encode_prompt(self._template, self._tokenizer, turns)
        inputs = torch.tensor([ids], device=self._model.device)
        stop = self._tokenizer.convert_tokens_to_ids(self._template.stop)
        # transformers' own defaults would cut (top_k 50); temperature must not be given when nothing is drawn
        drawn = {"do_sample": True, "temperature": temperature, "top_p": 1.0, "top_k": 0}
        how = drawn if temperature > 0 else {"do_sample": False}
        with torch.random.fork_rng(), torch.inference_mode():
            torch.manual_seed(self._seed)
            answer = self._model.generate(
                input_ids=inputs,
                attention_mask=torch.ones_like(inputs),
                max_new_tokens=max_tokens,
                eos_token_id=stop,
                pad_token_id=stop,
                **how,
            )[0, len(ids) :].tolist()
        if stop in answer:
            answer = answer[: answer.index(stop)]
        else:
            log.warning("an answer was cut at %d tokens", max_tokens)
        text: str = self._tokenizer.decode(answer, skip_special_tokens=True)
        return text


def _card(adapter: Path) -> dict[str, Any]:
    if not (adapter / CARD).is_file():
        raise UserError(f"no whole adapter at {adapter}: {CARD} is missing. Run `dvc repro train`, or give another folder.")
    card: dict[str, Any] = jsonl.read_json(adapter / CARD, dict[str, Any])
    return card


def _require_same(card: Mapping[str, Any], adapter: Path, folder: Path) -> None:
    """Refuse an adapter whose weights or whose base are not those that its card names."""
    if digests.sha256_file(adapter / WEIGHTS) != card.get("adapter"):
        raise Refusal(f"{adapter / WEIGHTS} is not the file that its card names. Run `dvc checkout`, or train again.")
    base = card.get("base") or {}
    if base.get("weights") != specs.weights_digest(folder):
        raise Refusal(
            f"the adapter at {adapter} was trained on {base.get('name')}, whose weights are not those in {folder}. "
            "Name the base that the card names in params.yaml, or train again."
        )
