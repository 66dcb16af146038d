from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nightgarden.models.load import load_tokenizer
from nightgarden.records import Turn
from nightgarden.templates import canary, registry
from tests.templates.known import KNOWN


@pytest.mark.parametrize("model", KNOWN)
def test_the_canary_tells_what_a_native_template_does(model: str, model_folder: Callable[[str], Path]) -> None:
    tokenizer = load_tokenizer(model_folder(model))
    seen = canary.observe(registry.native(tokenizer), tokenizer)
    known = KNOWN[model]
    assert (seen.system, seen.adds_text, seen.asks) == (known.system, known.adds_text, known.asks)
    assert seen.exact


def test_the_stock_smollm2_template_brings_a_system_prompt_and_ours_does_not(smollm2: Any) -> None:
    stock = canary.observe(registry.native(smollm2), smollm2)
    ours = canary.observe(registry.get("smollm2"), smollm2)
    assert stock.text == ours.text
    assert (stock.adds_text, ours.adds_text) == (True, False)
    assert str(stock) == "system text in a block of its own, a default system text of its own, a generation prompt"


def test_a_date_in_a_template_does_not_change_at_midnight(model_folder: Callable[[str], Path]) -> None:
    tokenizer = load_tokenizer(model_folder("mistral-small-24b"))
    chat = registry.messages([Turn(role="user", content="Hi")])
    text = registry.render_text(registry.native(tokenizer), tokenizer, chat, generation_prompt=True)
    assert "The current date is 2026-09-07." in text
