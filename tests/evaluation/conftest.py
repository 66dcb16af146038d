"""A workshop with the real embedded model, the real prompts and a tiny adapter with random weights."""

import shutil
from pathlib import Path

import pytest

from nightgarden import params as params_module
from nightgarden.params import Params
from nightgarden.stage import Place


@pytest.fixture(scope="session")
def params(repository: Path) -> Params:
    """The project's params with a short evaluation: 4 prompts, one seed, 5 tokens, two batches a side."""
    whole = params_module.load(repository / "params.yaml")
    short = whole.evaluation.model_copy(update={"prompts": 4, "seeds": 1, "max_new_tokens": 5, "batch_size": 2})
    return whole.model_copy(update={"evaluation": short})


@pytest.fixture(scope="session")
def workshop(repository: Path, base_model: Path, params: Params, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root that holds the base, the prompts and a candidate; tests copy it."""
    root = tmp_path_factory.mktemp("workshop")
    (root / "models").mkdir()
    (root / "models/base").symlink_to(base_model.parent)
    (root / "data/seed").mkdir(parents=True)
    for name in ("evaluation_prompts.jsonl", "rater_anchors.jsonl"):
        shutil.copy(repository / "data/seed" / name, root / "data/seed")
    random_adapter(params, root)
    return root


def random_adapter(params: Params, root: Path) -> None:
    """An adapter whose B matrices are small random numbers: it changes what the model says, and says nothing useful."""
    import torch

    from nightgarden.models import load, specs
    from nightgarden.templates import registry
    from nightgarden.training import adapter, card

    tokenizer = load.load_tokenizer(specs.folder(params.base_spec, root))
    model = adapter.fresh(load.load_model(params.base_spec, root), params.training)
    generator = torch.Generator().manual_seed(1)
    for name, value in model.named_parameters():
        if "lora_B" in name:
            value.data = torch.randn(value.shape, generator=generator) * 0.05
    identity = card.identity(params, root, registry.get(params.base_spec.template), tokenizer, "a test's")
    adapter.write(model, identity, root / "models/adapters/candidate")


@pytest.fixture
def root(workshop: Path, tmp_path: Path) -> Path:
    """A copy of the workshop that a test may break."""
    return Path(shutil.copytree(workshop, tmp_path / "root", symlinks=True))


@pytest.fixture
def place(root: Path) -> Place:
    return Place(root=root, state=root / ".nightgarden", tracking_uri="")
