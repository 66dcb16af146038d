"""A chat model in this process: transformers, our own template, and an adapter if one is given.

An adapter is used only after the passport agreed with its card and its base is the one that it was trained on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nightgarden.chat import Answer, Chat
from nightgarden.errors import UserError
from nightgarden.models import adapters, champion, specs
from nightgarden.models.load import load_model, load_tokenizer
from nightgarden.params import ModelSpec, Params
from nightgarden.records import Turn
from nightgarden.templates import passport, registry
from nightgarden.templates.registry import ChatTemplate


class Local(Chat):
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
        card = None if adapter is None else adapters.read_card(adapter)
        proof = passport.inspect(folder, card, registry.get(spec.template))
        passport.require(proof)
        model = load_model(spec, root)
        name = folder.name
        if adapter is not None:
            model = adapters.attach(model, adapter)
            name += f"+{adapters.read_card(adapter)['adapter'][:12]}"
        return cls(name, model, load_tokenizer(folder), registry.get(spec.template), seed=seed)

    @classmethod
    def companion(cls, params: Params, root: Path, *, seed: int) -> Local:
        """The model that people talk to: the base with the champion adapter on it, or alone where there is none.

        Raises:
            UserError, Refusal: as `load`.
        """
        pointer = champion.read(root)
        return cls.load(params.base_spec, root, None if pointer is None else root / pointer.folder, seed=seed)

    def answer(
        self,
        turns: Sequence[Turn],
        *,
        temperature: float,
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,
    ) -> Answer:
        """The model's answer; see `Chat.answer`. Equal calls give equal answers.

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
            said = self._model.generate(
                input_ids=inputs,
                attention_mask=torch.ones_like(inputs),
                max_new_tokens=max_tokens,
                eos_token_id=stop,
                pad_token_id=stop,
                **how,
            )[0, len(ids) :].tolist()
        cut = stop not in said
        text: str = self._tokenizer.decode(said if cut else said[: said.index(stop)], skip_special_tokens=True)
        return Answer(text=text, cut=cut, prompt_tokens=len(ids), completion_tokens=len(said))
