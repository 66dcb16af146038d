"""What the trainer would lose of a row that every rule let pass."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from nightgarden.curation.gate import gate
from nightgarden.curation.render import render, row_faults
from nightgarden.errors import Refusal
from nightgarden.models.load import load_tokenizer
from nightgarden.records import Example, MemoryLine, Turn
from nightgarden.stage import Place
from nightgarden.templates import registry
from tests.curation.rows import PARAMS, ROOT, example, render_as_trained

TEMPLATE = registry.get("smollm2")
MEMORIES = (MemoryLine(type="episodic", text="Rain on the hut road.", date="2026-02-11"),)
ROW = example("Wool, and the grey boots.", system="You are a ferry.", op=3, memories=MEMORIES, directives=("One sentence.",))


@pytest.fixture(scope="module")
def tokenizer() -> object:
    return load_tokenizer(ROOT / PARAMS.base_spec.folder)


def faults(row: Example, tokenizer: object, template: registry.ChatTemplate = TEMPLATE, max_length: int = 768) -> list[str]:
    encoded = registry.encode_example(template, tokenizer, row.turns, row.memories, row.directives)
    return list(row_faults(row, encoded, template, tokenizer, max_length))


def test_a_sound_row_is_whole(tokenizer: object) -> None:
    assert faults(ROW, tokenizer) == []
    assert faults(example("Naïve café: 你好 🙂 <b>x</b>\n\n  indented"), tokenizer) == []


def test_a_template_that_loses_the_system_text_is_found(tokenizer: object) -> None:
    text = TEMPLATE.text.replace("message.content", "('' if message.role == 'system' else message.content)")
    assert text != TEMPLATE.text
    found = faults(ROW, tokenizer, replace(TEMPLATE, text=text))
    assert "the system text is not in what is rendered" in found


def test_a_row_over_the_length_is_found_and_one_at_the_length_is_not(tokenizer: object) -> None:
    length = len(registry.encode_example(TEMPLATE, tokenizer, ROW.turns, ROW.memories, ROW.directives).ids)
    assert faults(ROW, tokenizer, max_length=length) == []
    assert faults(ROW, tokenizer, max_length=length - 1) == ["more tokens than training.max_length"]


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_memory_tag_outside_the_system_text_is_found(role: str, tokenizer: object) -> None:
    turns = (Turn(role="user", content="Hm?"), Turn(role="assistant", content="Yes."))
    turns = tuple(msgspec.structs.replace(t, content=f"<memory>\n{t.content}</memory>") if t.role == role else t for t in turns)
    row = Example(id="x", op=0, turns=turns)
    assert faults(row, tokenizer) == ["<memory>, </memory> where no memory block stands"]


def test_labels_that_leave_an_answer_out_are_found(tokenizer: object) -> None:
    encoded = registry.encode_example(TEMPLATE, tokenizer, ROW.turns, ROW.memories, ROW.directives)
    blank = replace(encoded, labels=[registry.IGNORED] * len(encoded.labels))
    assert list(row_faults(ROW, blank, TEMPLATE, tokenizer, 768)) == [
        "no trainable token",
        "a turn of the assistant did not survive in its role",
    ]


@pytest.fixture
def dataset(curated: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(curated, tmp_path / "copy", symlinks=True))


def test_the_stage_refuses_with_a_page_and_the_gate_then_has_no_view_of_these_rows(dataset: Path) -> None:
    tight = PARAMS.model_copy(update={"training": PARAMS.training.model_copy(update={"max_length": 200})})
    with pytest.raises(Refusal, match=r"the trainer would lose rows, .* more tokens than training.max_length"):
        render(tight, dataset, Place(root=dataset, state=dataset, tracking_uri=""))
    assert "more tokens than training.max_length" in (dataset / "reports/refused/render.html").read_text()
    render_as_trained(dataset)
    assert not (dataset / "reports/refused/render.html").exists()
    gate(PARAMS.curation, dataset)
    lines = (dataset / "data/dataset/train.jsonl").read_text().splitlines(keepends=True)
    (dataset / "data/dataset/train.jsonl").write_text("".join(lines[1:]))
    with pytest.raises(Refusal, match="were not rendered as the trainer will see them"):
        gate(PARAMS.curation, dataset)


def test_the_report_counts_trainable_tokens_of_every_op(curated: Path) -> None:
    report = json.loads((curated / "reports/render.json").read_text())
    assert all(report[f"op{op}_labelled"] > 1000 and 50 < report[f"op{op}_longest"] <= 768 for op in range(4))
