"""Small model folders with the control ids, configs and native templates of real families."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nightgarden.models import specs
from nightgarden.models.load import load_tokenizer
from tests.templates import folders

ROOT = Path(__file__).parents[2]


@pytest.fixture
def model_folder(tmp_path: Path) -> Callable[[str], Path]:
    """Makes the folder of a model in `known.py`, or a copy of the embedded model's small files."""

    def make(name: str) -> Path:
        folder = tmp_path / name
        if name != "smollm2":
            return folders.make(name, folder)
        folder.mkdir()
        for file in ("config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
            shutil.copy(ROOT / specs.EMBEDDED_LM / file, folder / file)
        return folder

    return make


@pytest.fixture(scope="session")
def smollm2() -> Any:
    """The embedded model's tokenizer."""
    return load_tokenizer(ROOT / specs.EMBEDDED_LM)
