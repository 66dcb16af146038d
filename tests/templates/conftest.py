"""Small model folders with the control ids, configs and native templates of real families.

Vocabularies are bytes or letters; ids, shapes and formats are those of the published files.
"""

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

ROOT = Path(__file__).parents[2]

MISTRAL = {"<unk>": 0, "<s>": 1, "</s>": 2, "[INST]": 3, "[/INST]": 4}
TEKKEN = MISTRAL | {"[SYSTEM_PROMPT]": 17, "[/SYSTEM_PROMPT]": 18}
LLAMA3 = {"<|begin_of_text|>": 0, "<|start_header_id|>": 6, "<|end_header_id|>": 7, "<|eot_id|>": 9}
QWEN = {"<|endoftext|>": 3, "<|im_start|>": 4, "<|im_end|>": 5}

# As published, tool use left out. The stock v3 template asks whether the LAST MESSAGE is the user's.
V3_STOCK = (
    "{%- if messages[0]['role'] == 'system' %}{%- set system = messages[0]['content'] %}{%- set turns = messages[1:] %}"
    "{%- else %}{%- set turns = messages %}{%- endif %}{{- bos_token }}{%- for m in turns %}{%- if m['role'] == 'user' %}"
    "{%- if loop.last and system is defined %}{{- '[INST] ' + system + '\\n\\n' + m['content'] + '[/INST]' }}"
    "{%- else %}{{- '[INST] ' + m['content'] + '[/INST]' }}{%- endif %}"
    "{%- else %}{{- ' ' + m['content']|trim + eos_token }}{%- endif %}{%- endfor %}"
)
NEMO = V3_STOCK.replace("'[INST] '", "'[INST]'").replace("' ' + m['content']|trim", "m['content']")
V7_STOCK = (
    "{%- set today = strftime_now('%Y-%m-%d') %}{{- bos_token }}{%- if messages[0]['role'] == 'system' %}"
    "{%- set system = messages[0]['content'] %}{%- set turns = messages[1:] %}{%- else %}"
    "{%- set system = 'You are Mistral Small 3. The current date is ' + today + '.' %}{%- set turns = messages %}{%- endif %}"
    "{{- '[SYSTEM_PROMPT]' + system + '[/SYSTEM_PROMPT]' }}{%- for m in turns %}{%- if m['role'] == 'user' %}"
    "{{- '[INST]' + m['content'] + '[/INST]' }}{%- else %}{{- m['content'] + eos_token }}{%- endif %}{%- endfor %}"
)
LLAMA3_STOCK = (
    "{{- bos_token }}{%- for m in messages %}{{- '<|start_header_id|>' + m['role'] + '<|end_header_id|>\\n\\n' }}"
    "{{- m['content']|trim + '<|eot_id|>' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{%- endif %}"
)
CHATML = (
    "{%- for m in messages %}{{- '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)
GEMMA = (
    "{%- if messages[0]['role'] == 'system' %}{{- raise_exception('System role not supported') }}{%- endif %}"
    "{%- for m in messages %}{{- '<s>' + m['role'] + '\\n' + m['content'] + '</s>\\n' }}{%- endfor %}"
)


def shape(model_type: str, layers: int, hidden: int, ffn: int, vocab: int, rope: float) -> dict[str, Any]:
    return {
        "model_type": model_type,
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "intermediate_size": ffn,
        "vocab_size": vocab,
        "rope_theta": rope,
    }


V3_CONFIG = shape("mistral", 32, 4096, 14336, 32768, 1e6)
V7_CONFIG = shape("mistral", 40, 5120, 32768, 131072, 1e8)
# name: control ids, begin and end of text, native template, config, letters as sentencepiece has them or bytes
KNOWN: dict[str, tuple[dict[str, int], str | None, str, str | None, dict[str, Any], bool]] = {
    "mistral-7b-v0.3": (MISTRAL, "<s>", "</s>", V3_STOCK, V3_CONFIG, True),
    "mistral-small-24b": (TEKKEN, "<s>", "</s>", V7_STOCK, V7_CONFIG, False),
    "mistral-small-24b-base": (TEKKEN, "<s>", "</s>", None, V7_CONFIG, False),
    "nemo-12b": (TEKKEN, "<s>", "</s>", NEMO, shape("mistral", 40, 5120, 14336, 131072, 1e6), False),
    "nemo-12b-base": (TEKKEN, "<s>", "</s>", None, shape("mistral", 40, 5120, 14336, 131072, 1e6), False),
    "llama-3-8b": (LLAMA3, "<|begin_of_text|>", "<|eot_id|>", LLAMA3_STOCK, shape("llama", 32, 4096, 14336, 128256, 5e5), False),
    "qwen3-14b": (QWEN, None, "<|im_end|>", CHATML, shape("qwen3", 40, 5120, 17408, 151936, 1e6), False),
    "small-3.1": (TEKKEN, "<s>", "</s>", V7_STOCK, {"model_type": "mistral3", "text_config": V7_CONFIG}, False),
    "gemma-like": (MISTRAL, "<s>", "</s>", GEMMA, shape("gemma", 18, 2048, 16384, 256000, 1e4), False),
}


def _tokenizer(control: dict[str, int], letters: bool) -> Tokenizer:
    names = {place: token for token, place in control.items()}
    vocab = {names.get(place, f"<filler{place}>"): place for place in range(20)}
    printable = [*map(chr, range(32, 127)), "▁", "é", "\n"]
    alphabet = printable if letters else sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab |= {letter: 20 + place for place, letter in enumerate(alphabet)}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[], unk_token="<unk>" if "<unk>" in vocab else None))
    if letters:  # as the v3 tokenizer with legacy=false: only the very start of a text gets a leading space
        tokenizer.normalizer = normalizers.Replace(" ", "▁")
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
        tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(sorted(control))
    return tokenizer


@pytest.fixture
def model_folder(tmp_path: Path) -> Callable[[str], Path]:
    """Makes the folder of one of KNOWN, or a copy of the embedded model's small files."""

    def make(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        if name == "smollm2":
            for file in ("config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
                shutil.copy(ROOT / specs.EMBEDDED_LM / file, folder / file)
            return folder
        control, bos, eos, template, config, letters = KNOWN[name]
        fast = PreTrainedTokenizerFast(tokenizer_object=_tokenizer(control, letters), bos_token=bos, eos_token=eos)
        fast.chat_template = template
        fast.save_pretrained(folder)
        (folder / "config.json").write_text(json.dumps(config))
        return folder

    return make


@pytest.fixture(scope="session")
def smollm2() -> Any:
    """The embedded model's tokenizer."""
    return load_tokenizer(ROOT / specs.EMBEDDED_LM)
