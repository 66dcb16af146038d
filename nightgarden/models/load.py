"""Loading a base model and its tokenizer from a folder, with every silent choice made explicit.

Offline, safetensors only, no code from the folder, dtype asked for and checked, no weight left at
its random start, tied weights tied. Knows nothing of adapters and templates.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from nightgarden.errors import Refusal, UserError
from nightgarden.models import specs
from nightgarden.params import ModelSpec

log = logging.getLogger(__name__)


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer that the folder's tokenizer.json is, whatever else lies there or is installed.

    Not through AutoTokenizer: with the package mistral-common installed, transformers 5.24 makes of a folder that
    holds a tekken.json a tokenizer without a chat template, whose control tokens become text. `mistral_format=False`
    opts out of that, but not where tokenizer_config.json names the class (MistralCommonBackend).

    Raises:
        UserError: no tokenizer.json.
    """
    from transformers import PreTrainedTokenizerFast

    if not (folder / "tokenizer.json").is_file():
        raise UserError(f"{folder} has no tokenizer.json. Run `nightgarden fetch`, or check the model's folder in params.yaml.")
    return PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)


def load_model(spec: ModelSpec, root: Path) -> Any:
    """The causal language model of a spec, in evaluation mode, on the CPU.

    Raises:
        UserError: the folder is missing or not whole.
        Refusal: the loaded parameters are not what the spec asks for.
    """
    import torch
    from transformers import AutoModelForCausalLM

    folder = specs.folder(spec, root)
    if not any(name.endswith(".safetensors") for name in specs.digests(folder)):
        raise UserError(f"{folder} has no .safetensors file, and pickled weights are not read. Convert them to safetensors.")
    log.info("loading %s in %s", folder, spec.dtype)
    model, info = AutoModelForCausalLM.from_pretrained(
        folder,
        dtype=getattr(torch, spec.dtype),
        local_files_only=True,
        trust_remote_code=False,
        use_safetensors=True,
        output_loading_info=True,
    )
    require_whole(info, folder)
    require_dtype(model, spec.dtype)
    require_tied(model)
    return model.eval()


def machine_of(model: Any) -> str:
    """Kind of device and number of threads: on others, sums run in another order and round otherwise."""
    import torch

    return f"{model.device.type}, {torch.get_num_threads()} threads"


def require_whole(info: dict[str, Any], folder: Path) -> None:
    """Refuse a model some of whose weights were not in the folder: they would be random numbers."""
    faults = {kind: sorted(map(str, info.get(kind) or ())) for kind in ("missing_keys", "unexpected_keys", "mismatched_keys")}
    found = [f"{kind.replace('_', ' ')}: {', '.join(names[:5])} ({len(names)} in all)" for kind, names in faults.items() if names]
    if found:
        raise Refusal(
            f"the weights in {folder} do not fit its config.json. {'; '.join(found)}. "
            "Fetch the model again, or correct its config.json."
        )


def require_dtype(model: Any, dtype: str) -> None:
    """Refuse a model with a parameter in another dtype than asked for; one typo once doubled the memory in silence."""
    came = sorted({str(p.dtype).removeprefix("torch.") for p in model.parameters()})
    if came != [dtype]:
        raise Refusal(
            f"the model's parameters are {', '.join(came)}; params.yaml asks for {dtype}. "
            "Set the model's `dtype` in params.yaml to what is wanted and check the folder's config.json."
        )


def require_tied(model: Any) -> None:
    """Refuse a model whose config ties head and embedding but whose two weights are two tensors."""
    head, embedding = model.get_output_embeddings(), model.get_input_embeddings()
    if model.config.tie_word_embeddings and (head is None or head.weight is not embedding.weight):
        raise Refusal(
            "config.json says tie_word_embeddings, but the head and the embedding are two tensors. "
            "Training would move one and not the other; fetch the model again."
        )
