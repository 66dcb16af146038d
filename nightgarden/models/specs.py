"""Where a model spec's files lie and what they are, by digest.

Knows folders and digests; opens no weights. A folder is whole if and only if `digests.json`,
which is written last, is there and names files that are there.
"""

from __future__ import annotations

from pathlib import Path

from nightgarden import jsonl
from nightgarden.errors import UserError
from nightgarden.params import ModelSpec

BASE = Path("models/base")
"""Every fetched model is a folder under this one."""
EMBEDDED_LM = BASE / "smollm2-135m"
"""SmolLM2-135M-Instruct: safetensors, tokenizer and the GGUF that the embedded server reads."""
EMBEDDER = BASE / "minilm"
"""all-MiniLM-L6-v2 as a sentence-transformers folder."""
DIGESTS = "digests.json"
"""{relative file: sha256} of every other file of the folder."""


def folder(spec: ModelSpec, root: Path) -> Path:
    """The folder of a spec below `root`."""
    return root / spec.folder


def digests(model_folder: Path) -> dict[str, str]:
    """sha256 by relative file name, as written when the folder was made.

    Raises:
        UserError: no digests.json, or a file that it names is missing: the model is not here or not whole.
    """
    path = model_folder / DIGESTS
    if not path.is_file():
        raise UserError(f"no whole model at {model_folder}: {DIGESTS} is missing. Run `nightgarden fetch {model_folder.name}`.")
    known: dict[str, str] = jsonl.read_json(path, dict[str, str])
    missing = sorted(name for name in known if not (model_folder / name).is_file())
    if missing:
        raise UserError(
            f"the model at {model_folder} lacks {', '.join(missing)}. "
            f"Delete the folder and run `nightgarden fetch {model_folder.name}`."
        )
    return known


def weights_digest(model_folder: Path) -> dict[str, str]:
    """The part of `digests` that covers weight files: what an adapter's card names as its base."""
    return {name: value for name, value in digests(model_folder).items() if name.endswith(".safetensors")}
