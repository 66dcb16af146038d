"""Shared fixtures: the repository's root and the embedded models."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def repository() -> Path:
    """The checkout that is tested."""
    return ROOT


@pytest.fixture(scope="session")
def base_model(repository: Path) -> Path:
    """Folder of the embedded language model; `make setup` puts it there."""
    folder = repository / "models/base/smollm2-135m"
    assert (folder / "digests.json").is_file(), "the embedded model is missing; run `make setup`"
    return folder


@pytest.fixture(scope="session")
def embedder_model(repository: Path) -> Path:
    """Folder of the embedded sentence embedder; `make setup` puts it there."""
    folder = repository / "models/base/minilm"
    assert (folder / "digests.json").is_file(), "the embedder is missing; run `make setup`"
    return folder
