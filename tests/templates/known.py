"""Models in miniature: control ids, config and native template of every family, as published; vocabularies are bytes or letters.

Ids and numbers marked `recalled` could not be read in a model's own file.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from nightgarden.templates.canary import Landing

SPM = {"<unk>": 0, "<s>": 1, "</s>": 2}
MISTRAL = SPM | {"[INST]": 3, "[/INST]": 4}
TEKKEN = MISTRAL | {"[SYSTEM_PROMPT]": 17, "[/SYSTEM_PROMPT]": 18}
V7_SPM = MISTRAL | {"[SYSTEM_PROMPT]": 16, "[/SYSTEM_PROMPT]": 17}
LLAMA3 = {"<|begin_of_text|>": 128000, "<|start_header_id|>": 128006, "<|end_header_id|>": 128007, "<|eot_id|>": 128009}
QWEN = {"<|endoftext|>": 151643, "<|im_start|>": 151644, "<|im_end|>": 151645}  # recalled
GEMMA_IDS = {"<pad>": 0, "<eos>": 1, "<bos>": 2, "<unk>": 3, "<start_of_turn>": 106, "<end_of_turn>": 107}  # recalled
GEMMA3_IDS = GEMMA_IDS | {"<start_of_turn>": 105, "<end_of_turn>": 106}  # recalled
# Recalled.
PHI_IDS = SPM | {
    "<|endoftext|>": 32000,
    "<|assistant|>": 32001,
    "<|system|>": 32006,
    "<|end|>": 32007,
    "<|user|>": 32010,
}  # recalled

SYSTEM_APART = (
    "{%- if messages[0]['role'] == 'system' %}{%- set system = messages[0]['content'] %}{%- set turns = messages[1:] %}"
    "{%- else %}{%- set turns = messages %}{%- endif %}"
)
# As published, tool use left out. The stock v3 template asks whether the LAST MESSAGE is the user's.
V1_STOCK = SYSTEM_APART + (
    "{{- bos_token }}{%- for m in turns %}{%- if m['role'] == 'user' %}"
    "{{- ' [INST] ' + (system + '\\n\\n' if loop.first and system is defined else '') + m['content'] + ' [/INST]' }}"
    "{%- else %}{{- ' ' + m['content'] + eos_token }}{%- endif %}{%- endfor %}"
)
V3_STOCK = SYSTEM_APART + (
    "{{- bos_token }}{%- for m in turns %}{%- if m['role'] == 'user' %}"
    "{%- if loop.last and system is defined %}{{- '[INST] ' + system + '\\n\\n' + m['content'] + '[/INST]' }}"
    "{%- else %}{{- '[INST] ' + m['content'] + '[/INST]' }}{%- endif %}"
    "{%- else %}{{- ' ' + m['content']|trim + eos_token }}{%- endif %}{%- endfor %}"
)
NEMO = V3_STOCK.replace("'[INST] '", "'[INST]'").replace("' ' + m['content']|trim", "m['content']")
V7_SPM_STOCK = SYSTEM_APART + (
    "{{- bos_token }}{%- if system is defined %}{{- '[SYSTEM_PROMPT] ' + system + '[/SYSTEM_PROMPT]' }}{%- endif %}"
    "{%- for m in turns %}{%- if m['role'] == 'user' %}{{- '[INST] ' + m['content'] + '[/INST]' }}"
    "{%- else %}{{- ' ' + m['content'] + eos_token }}{%- endif %}{%- endfor %}"
)
V7_STOCK = (
    "{%- set today = strftime_now('%Y-%m-%d') %}{{- bos_token }}{%- if messages[0]['role'] == 'system' %}"
    "{%- set system = messages[0]['content'] %}{%- set turns = messages[1:] %}{%- else %}"
    "{%- set system = 'You are Mistral Small 3. The current date is ' + today + '.' %}{%- set turns = messages %}{%- endif %}"
    "{{- '[SYSTEM_PROMPT]' + system + '[/SYSTEM_PROMPT]' }}{%- for m in turns %}{%- if m['role'] == 'user' %}"
    "{{- '[INST]' + m['content'] + '[/INST]' }}{%- else %}{{- m['content'] + eos_token }}{%- endif %}{%- endfor %}"
)
LLAMA2_STOCK = SYSTEM_APART + (
    "{%- for m in turns %}{%- if m['role'] == 'user' %}"
    "{{- bos_token + '[INST] ' + ('<<SYS>>\\n' + system + '\\n<</SYS>>\\n\\n' if loop.first and system is defined else '') }}"
    "{{- m['content']|trim + ' [/INST]' }}{%- else %}{{- ' ' + m['content']|trim + ' ' + eos_token }}{%- endif %}{%- endfor %}"
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
QWEN25_STOCK = (
    "{%- if messages[0]['role'] != 'system' %}{{- '<|im_start|>system\\nYou are Qwen, created by Alibaba Cloud. "
    "You are a helpful assistant.<|im_end|>\\n' }}{%- endif %}"
) + CHATML
GEMMA_TURNS = (
    "{%- for m in turns %}{{- '<start_of_turn>' + ('model' if m['role'] == 'assistant' else m['role']) + '\\n' }}"
    "{{- (system + '\\n\\n' if loop.first and system is defined else '') + m['content']|trim + '<end_of_turn>\\n' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<start_of_turn>model\\n' }}{%- endif %}"
)
GEMMA_STOCK = (
    "{{- bos_token }}{%- if messages[0]['role'] == 'system' %}{{- raise_exception('System role not supported') }}{%- endif %}"
    "{%- set turns = messages %}"
) + GEMMA_TURNS
GEMMA3_STOCK = SYSTEM_APART + "{{- bos_token }}" + GEMMA_TURNS
PHI_STOCK = (
    "{%- for m in messages %}{{- '<|' + m['role'] + '|>\\n' + m['content'] + '<|end|>\\n' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|assistant|>\\n' }}{%- endif %}"
)


def shape(model_type: str, layers: int, hidden: int, ffn: int, vocab: int, rope: float) -> dict[str, Any]:
    """The part of a config.json that tells models apart."""
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
NEMO_CONFIG = shape("mistral", 40, 5120, 14336, 131072, 1e6)
SMALL_31_CONFIG = {"model_type": "mistral3", "text_config": V7_CONFIG}


Prefix = Literal["first", "each", "none"]
"""`first`: only the very start of a text (Mistral v2 on); `each`: every piece between control tokens (Llama-2 and its kin)."""


@dataclass(frozen=True, kw_only=True)
class Known:
    """What a model's folder holds, and what its native template does."""

    control: dict[str, int]
    bos: str | None = "<s>"
    eos: str = "</s>"
    template: str | None
    config: dict[str, Any] = field(repr=False)
    letters: Prefix | None = None
    """Letters as sentencepiece has them, and which pieces of a text get a space in front; None: bytes."""
    family: str | None = None
    """The family of ours that it is."""
    system: Landing = "in a block of its own"
    adds_text: bool = False
    asks: bool = False


LAST: Landing = "glued to the last user turn"
FIRST: Landing = "glued to the first user turn"
KNOWN = {
    "mistral-7b-v0.1": Known(
        control=SPM, template=V1_STOCK, config=shape("mistral", 32, 4096, 14336, 32000, 1e4), letters="each", system=FIRST
    ),
    "mistral-7b-v0.3": Known(
        control=MISTRAL, template=V3_STOCK, config=V3_CONFIG, letters="first", family="mistral_v3", system=LAST
    ),
    "nemo-12b": Known(control=TEKKEN, template=NEMO, config=NEMO_CONFIG, system=LAST),
    "large-2411": Known(
        control=V7_SPM, template=V7_SPM_STOCK, config=shape("mistral", 88, 12288, 28672, 32768, 1e6), letters="first"
    ),
    "mistral-small-24b": Known(control=TEKKEN, template=V7_STOCK, config=V7_CONFIG, family="mistral_v7_tekken", adds_text=True),
    "small-3.1": Known(control=TEKKEN, template=V7_STOCK, config=SMALL_31_CONFIG, adds_text=True),
    "llama-2-7b": Known(control=SPM, template=LLAMA2_STOCK, config=shape("llama", 32, 4096, 11008, 32000, 1e4), letters="each"),
    "llama-3-8b": Known(
        control=LLAMA3,
        bos="<|begin_of_text|>",
        eos="<|eot_id|>",
        template=LLAMA3_STOCK,
        config=shape("llama", 32, 4096, 14336, 128256, 5e5),
        asks=True,
    ),
    "qwen2.5-7b": Known(
        control=QWEN,
        bos=None,
        eos="<|im_end|>",
        template=QWEN25_STOCK,
        config=shape("qwen2", 28, 3584, 18944, 152064, 1e6),
        adds_text=True,
        asks=True,
    ),
    "qwen3-14b": Known(
        control=QWEN, bos=None, eos="<|im_end|>", template=CHATML, config=shape("qwen3", 40, 5120, 17408, 151936, 1e6), asks=True
    ),
    "gemma-2b": Known(
        control=GEMMA_IDS,
        bos="<bos>",
        eos="<end_of_turn>",
        template=GEMMA_STOCK,
        config=shape("gemma", 18, 2048, 16384, 256000, 1e4),
        letters="none",
        system="refused",
        asks=True,
    ),
    "gemma-3-4b": Known(
        control=GEMMA3_IDS,
        bos="<bos>",
        eos="<end_of_turn>",
        template=GEMMA3_STOCK,
        config={"model_type": "gemma3", "text_config": shape("gemma3_text", 34, 2560, 10240, 262208, 1e6)},
        letters="none",
        system=FIRST,
        asks=True,
    ),
    "phi-3-mini": Known(
        control=PHI_IDS,
        eos="<|end|>",
        template=PHI_STOCK,
        config=shape("phi3", 32, 3072, 8192, 32064, 1e4),
        letters="each",
        asks=True,
    ),
}
"""The models that bring a template of their own."""
BASES = {
    "mistral-small-24b-base": Known(control=TEKKEN, template=None, config=V7_CONFIG, family="mistral_v7_tekken"),
    "nemo-12b-base": Known(control=TEKKEN, template=None, config=NEMO_CONFIG),
}
"""The models that bring none."""
