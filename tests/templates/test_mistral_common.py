"""A tokenizer must not change because somebody installed mistral-common (vLLM brings it along).

transformers decides while it is imported, so each test asks a process of its own: the folder of a Mistral Small with
its tekken.json, loaded by us and by AutoTokenizer. The stand-in has the package's name and version and nothing else;
the tests marked `oracle` put the real one on the path.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from nightgarden.models.load import load_tokenizer
from nightgarden.templates import registry
from nightgarden.templates.fingerprint import fingerprint
from tests.templates import folders
from tests.templates.mistral import ROOT, SITE, Folders
from tests.templates.standin import mistral_common

ASK = """
import json, logging, sys
from pathlib import Path
sys.path.extend(sys.argv[3:])
from transformers import AutoTokenizer
from nightgarden.models.load import load_tokenizer
from nightgarden.records import Turn
from nightgarden.templates import registry
folder, how = sys.argv[1:3]
tokenizer = load_tokenizer(Path(folder)) if how == "ours" else AutoTokenizer.from_pretrained(folder)
told = {"class": type(tokenizer).__name__, "template": tokenizer.chat_template is not None}
chat = [{"role": "user", "content": "Hi"}]
if how == "ours":
    template = registry.get("mistral_v7_tekken")
    told["ids"] = registry.encode_prompt(template, tokenizer, [Turn(role="user", content="Hi")])
else:
    text = tokenizer.apply_chat_template(chat, tokenize=False)
    told["ids"] = tokenizer(text, add_special_tokens=False)["input_ids"]
print(json.dumps(told))
"""


def ask(folder: Path, how: str, *sites: Path) -> subprocess.CompletedProcess[str]:
    """A tokenizer with more folders on the path, as JSON."""
    command = [sys.executable, "-c", ASK, str(folder), how, *map(str, sites)]
    return subprocess.run(command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=False)


def told(folder: Path, how: str, *sites: Path) -> dict[str, Any]:
    answer = ask(folder, how, *sites)
    assert answer.returncode == 0, answer.stderr
    found: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    return found


@pytest.fixture
def small_24b(tmp_path: Path) -> Path:
    """Its miniature as a download of the hub's folder lies there: a tekken.json beside the tokenizer."""
    folder = folders.make("mistral-small-24b", tmp_path / "small-24b")
    (folder / "tekken.json").write_text(json.dumps({"config": {"version": "v7"}}))
    return folder


def test_our_tokenizer_is_the_same_with_the_package_on_the_path(small_24b: Path, tmp_path: Path) -> None:
    without = told(small_24b, "ours")
    assert without == told(small_24b, "ours", mistral_common(tmp_path / "site"))
    assert without["ids"][:2] == [1, 3] and without["ids"][-1] == 4


def test_a_folder_that_names_mistral_commons_class_loads_as_its_tokenizer_json(model_folder: Callable[[str], Path]) -> None:
    folder = model_folder("smollm2")
    plain = fingerprint(registry.get("smollm2"), load_tokenizer(folder))
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"tokenizer_class": "MistralCommonBackend"}))
    assert fingerprint(registry.get("smollm2"), load_tokenizer(folder)) == plain
    with pytest.raises(ImportError, match="requires the mistral-common library"):
        AutoTokenizer.from_pretrained(folder, mistral_format=False)


def test_without_that_guard_the_package_takes_the_tokenizers_place(small_24b: Path, tmp_path: Path) -> None:
    assert told(small_24b, "theirs")["template"]
    answer = ask(small_24b, "theirs", mistral_common(tmp_path / "site"))
    assert answer.returncode == 1
    assert "mistral_common" in answer.stderr.splitlines()[-1], (
        "transformers reaches for the package, of which there is only a name"
    )


@pytest.mark.oracle
def test_with_the_real_package_our_ids_stay_and_theirs_lose_template_and_control_tokens(whole: Folders) -> None:
    folder = whole["mistral_v7_tekken"]
    ours = told(folder, "ours")
    assert ours == told(folder, "ours", SITE)
    assert ours["ids"] == [1, 3, 37133, 4]
    theirs = told(folder, "theirs", SITE)
    assert (theirs["class"], theirs["template"]) == ("MistralCommonBackend", False)
    assert not set(theirs["ids"]) & {3, 4}
    assert len(theirs["ids"]) > len(ours["ids"])
