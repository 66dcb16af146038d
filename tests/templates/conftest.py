"""Small model folders with the control ids, configs and native templates of real families."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from nightgarden.models import specs
from nightgarden.models.load import load_tokenizer
from tests.templates.known import BASES, KNOWN, Known

ROOT = Path(__file__).parents[2]
FIRST_LETTER = 300
"""Id of the first letter: behind every control id of the sentencepiece models."""


def _tokenizer(known: Known) -> Tokenizer:
    printable = [*map(chr, range(32, 127)), "▁", "é", "\n"]
    alphabet = printable if known.letters else sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = known.control | {letter: FIRST_LETTER + place for place, letter in enumerate(alphabet)}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[], unk_token="<unk>" if "<unk>" in vocab else None))
    if known.letters == "each":
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
        tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    elif known.letters:
        scheme = "first" if known.letters == "first" else "never"
        tokenizer.normalizer = normalizers.Replace(" ", "▁")
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=False)
        tokenizer.decoder = decoders.Metaspace(prepend_scheme=scheme)
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(sorted(known.control))
    return tokenizer


@pytest.fixture
def model_folder(tmp_path: Path) -> Callable[[str], Path]:
    """Makes the folder of one of KNOWN or BASES, or a copy of the embedded model's small files."""

    def make(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        if name == "smollm2":
            for file in ("config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
                shutil.copy(ROOT / specs.EMBEDDED_LM / file, folder / file)
            return folder
        known = (KNOWN | BASES)[name]
        fast = PreTrainedTokenizerFast(tokenizer_object=_tokenizer(known), bos_token=known.bos, eos_token=known.eos)
        fast.chat_template = known.template
        fast.save_pretrained(folder)
        (folder / "config.json").write_text(json.dumps(known.config))
        return folder

    return make


@pytest.fixture(scope="session")
def smollm2() -> Any:
    """The embedded model's tokenizer."""
    return load_tokenizer(ROOT / specs.EMBEDDED_LM)
