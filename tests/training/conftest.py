"""The embedded model's tokenizer and template, a few real rows, and a language model of toy size."""

from pathlib import Path
from typing import Any

import pytest

from nightgarden.models.load import load_tokenizer
from nightgarden.records import Example
from nightgarden.templates import registry
from nightgarden.templates.registry import ChatTemplate
from nightgarden.training import preflight
from nightgarden.training.batches import Row
from tests.training.rows import clean_rows, settings


@pytest.fixture(scope="session")
def tokenizer(base_model: Path) -> Any:
    return load_tokenizer(base_model)


@pytest.fixture(scope="session")
def template() -> ChatTemplate:
    return registry.get("smollm2")


@pytest.fixture(scope="session")
def examples() -> list[Example]:
    """Sixteen real rows, four of each op."""
    return clean_rows(4)


@pytest.fixture(scope="session")
def encoded_rows(examples: list[Example], template: ChatTemplate, tokenizer: Any) -> tuple[Row, ...]:
    return preflight.check("train", examples, template, tokenizer, settings().training).rows


@pytest.fixture
def toy(tokenizer: Any) -> Any:
    """A Llama of two layers with random weights and the real vocabulary."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    shape = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    return LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), **shape)).eval()
