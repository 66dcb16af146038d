"""A LoRA adapter: fresh on a base model, and written canonically (`models/adapters.py` puts it back on).

Plain LoRA on all linear layers with alpha/r scaling: the one form that vLLM, llama.cpp and PEFT apply
alike (llama.cpp takes alpha/r whatever the config says; DoRA and saved heads are refused by both).
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Any

from nightgarden import jsonl
from nightgarden.models.adapters import CARD, CONFIG, WEIGHTS, weights_digest
from nightgarden.params import Training
from nightgarden.training import card


def fresh(model: Any, settings: Training) -> Any:
    """The model with a new adapter; its A matrices are drawn from the seed, its B matrices are zero."""
    import torch
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(settings.seed)
    config = LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules="all-linear",
        bias="none",
        task_type="CAUSAL_LM",
    )
    return get_peft_model(model, config)


def write(model: Any, identity: card.Card, folder: Path) -> None:
    """Write weights, config and, last, the card, which names the weights: without it the folder is no adapter.

    PEFT's own `save_pretrained` writes the target modules in the order of a set, which differs in every
    process, and the absolute path of the base.

    Args:
        model: the adapted model.
        identity: what the adapter was made from.
        folder: of the adapter; made if need be.
    """
    import safetensors.torch
    from peft import get_peft_model_state_dict

    (folder / CARD).unlink(missing_ok=True)
    state = get_peft_model_state_dict(model, save_embedding_layers=False)  # "auto" may ask the hub
    weights = {name: value.detach().cpu().contiguous() for name, value in state.items()}
    with jsonl.whole_file(folder / WEIGHTS) as file:
        file.write(safetensors.torch.save(weights, metadata={"format": "pt"}))
    jsonl.write_json(folder / CONFIG, _canonical(model.peft_config["default"], identity["base"]["name"]))
    card.write(identity, weights_digest(folder), folder)


def _canonical(config: Any, base: str) -> dict[str, Any]:
    """A PEFT config as plain values: sets sorted, the base by name and not by path."""
    plain = {
        key: sorted(value) if isinstance(value, set) else value.value if isinstance(value, Enum) else value
        for key, value in config.to_dict().items()
    }
    return plain | {"base_model_name_or_path": base, "inference_mode": True}
