"""Small model folders with the control ids, configs and native templates of real families."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nightgarden.models import specs
from nightgarden.models.load import load_tokenizer
from tests.templates import folders, mistral

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


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> mistral.Folders:
    """Model folders with mistral-common's whole vocabularies."""
    assert mistral.PYTHON.is_file(), "the oracle's environment is missing; run `make test-oracle`"
    home = tmp_path_factory.mktemp("whole")
    for family in mistral.FAMILIES:
        (home / family).mkdir()
        mistral.ask("vocabulary", family, str(home / family))
        vocabulary = json.loads((home / family / "vocabulary.json").read_text())
        mistral.folder(home / family, vocabulary, *mistral.STOCK[family])
    return {family: home / family for family in mistral.FAMILIES}
