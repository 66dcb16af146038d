"""Wrong templates, asked on purpose, so that a reader knows a template error when it comes."""

from pathlib import Path
from typing import Any

import pytest

from nightgarden.evaluation import prompts
from nightgarden.evaluation.prompts import Tokenised
from nightgarden.evaluation.treatment import as_text, run, treatments
from nightgarden.models import load
from nightgarden.params import Params
from nightgarden.templates import registry


@pytest.fixture(scope="module")
def tokenizer(base_model: Path) -> Any:
    return load.load_tokenizer(base_model)


@pytest.fixture(scope="module")
def chosen(workshop: Path, tokenizer: Any) -> list[Tokenised]:
    return prompts.tokenise(prompts.load(workshop / prompts.FILE, 8), registry.get("smollm2"), tokenizer)


def test_two_errors_that_happened_stand_beside_the_right_template(chosen: list[Tokenised], tokenizer: Any) -> None:
    right, foreign, unasked = treatments(chosen, registry.get("smollm2"), tokenizer)
    assert right.ids == tuple(item.ids for item in chosen)
    assert "[INST]" in tokenizer.decode(list(foreign.ids[0])) and "<|im_start|>" not in tokenizer.decode(list(foreign.ids[0]))
    assert all(ids + (1, 520, 9531, 198) == whole for ids, whole in zip(unasked.ids, right.ids, strict=True))


def test_every_wrong_template_would_be_refused_by_the_checks_that_it_goes_round(chosen: list[Tokenised], tokenizer: Any) -> None:
    template = registry.get("smollm2")
    right, *wrong = treatments(chosen, template, tokenizer)
    assert [prompts.ids_fault(ids, item.prompt, template, tokenizer) for ids, item in zip(right.ids, chosen, strict=True)] == [
        None
    ] * len(chosen)
    for treated in wrong:
        assert all(
            prompts.ids_fault(ids, item.prompt, template, tokenizer) for ids, item in zip(treated.ids, chosen, strict=True)
        )


def test_the_table_has_a_column_for_each_template_and_no_style_score_without_its_denominator(
    workshop: Path, params: Params, tmp_path: Path
) -> None:
    rows = run(params, workshop, tmp_path)
    assert [row.replies for row in rows] == [8, 8, 8]
    for row in rows:
        assert all(fails <= of <= row.replies for fails, of in row.failing.values())
        assert row.failing["instruct_isms"][1] <= row.replies - row.void
    text = as_text(rows)
    assert text.splitlines()[0].split("  ")[-1].strip() == "smollm2 without its generation prompt"
    assert "void" in text and "comply" in text
