"""A trained adapter as it lies in a folder: its card read, its weights named, put on its own base only.

Evaluation and chat meet an adapter here; how one is made is training's affair.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nightgarden import digests, jsonl
from nightgarden.errors import Refusal, UserError
from nightgarden.models import specs

CARD = "card.json"
WEIGHTS = "adapter_model.safetensors"
CONFIG = "adapter_config.json"


def read_card(folder: Path) -> dict[str, Any]:
    """The card of an adapter; it is written last, so a folder without one holds no whole adapter.

    Raises:
        UserError: no card, or one that lacks what every card names.
    """
    path = folder / CARD
    if not path.is_file():
        raise UserError(f"no whole adapter at {folder}: {CARD} is missing. Run `dvc repro train`, or give another folder.")
    card: dict[str, Any] = jsonl.read_json(path, dict[str, Any])
    if lacking := {"adapter", "base", "template"} - set(card):
        raise UserError(f"{path} lacks {', '.join(sorted(lacking))}; it is not a card of ours. Train the adapter again.")
    return card


def weights_digest(folder: Path) -> str:
    """sha256 of an adapter's weights: what caches of its replies are keyed by.

    Raises:
        UserError: no adapter there.
    """
    if not (folder / WEIGHTS).is_file():
        raise UserError(f"no adapter at {folder}: {WEIGHTS} is missing. Run `dvc repro train`.")
    return digests.sha256_file(folder / WEIGHTS)


def attach(model: Any, folder: Path) -> Any:
    """A base model with a trained adapter on it, in evaluation mode; `disable_adapter()` gives back the base.

    Args:
        model: as `models.load.load_model` returns it; the adapter's layers are put into it.
        folder: the adapter's, with its card.

    Raises:
        UserError: the folder holds no whole adapter.
        Refusal: the card names another base or other adapter weights.
    """
    from peft import PeftModel

    card = read_card(folder)
    if (came := weights_digest(folder)) != card["adapter"]:
        raise Refusal(
            f"{folder / WEIGHTS} has sha256 {came}; its card names {card['adapter']}. Run `dvc checkout` or train again."
        )
    base = specs.weights_digest(Path(model.name_or_path))
    if base != card["base"]["weights"]:
        raise Refusal(
            f"the adapter at {folder} was trained on {card['base']['name']} with weights {card['base']['weights']}; "
            f"this base, {model.name_or_path}, has {base}. Load the base that the card names, or train again."
        )
    return PeftModel.from_pretrained(model, folder, is_trainable=False).eval()
