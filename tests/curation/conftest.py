"""The project's own seed rows, curated once for all tests that only look."""

import shutil
from pathlib import Path

import pytest

from tests.curation.rows import PARAMS, ROOT, curate


@pytest.fixture
def seed_root(tmp_path: Path) -> Path:
    """A folder that holds the seed rows and the evaluation's prompts."""
    shutil.copytree(ROOT / "data/seed", tmp_path / "data/seed", ignore=shutil.ignore_patterns("days", "labels"))
    return tmp_path


@pytest.fixture(scope="session")
def curated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The seed rows taken through every stage with params.yaml as it is; read only."""
    root = tmp_path_factory.mktemp("curated")
    shutil.copytree(ROOT / "data/seed", root / "data/seed", ignore=shutil.ignore_patterns("days", "labels"))
    curate(PARAMS.curation, root)
    return root
