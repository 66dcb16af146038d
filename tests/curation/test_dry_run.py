"""Rows of a dry run once passed every step and nearly reached training: three later stages refuse them, each by itself."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from nightgarden.curation.gate import gate
from nightgarden.errors import Refusal
from nightgarden.models.load import load_tokenizer
from nightgarden.records import Example
from nightgarden.templates import registry
from nightgarden.training import preflight
from tests.curation.rows import PARAMS, ROOT, RULES, divide, example, render_as_trained, settings

ROW = example("The window faces north, so move it.", meta={"dry_run": True})
"""A dry run's row whose text gives nothing away: only its mark does."""


def line(row: Example) -> str:
    turns = [{"role": turn.role, "content": turn.content} for turn in row.turns]
    return json.dumps({"id": row.id, "op": row.op, "turns": turns, "meta": row.meta}) + "\n"


@pytest.fixture
def dataset(curated: Path, tmp_path: Path) -> Path:
    """A gated dataset into which the row slipped."""
    root = Path(shutil.copytree(curated, tmp_path / "copy", symlinks=True))
    with (root / "data/dataset/train.jsonl").open("a") as file:
        file.write(line(ROW))
    render_as_trained(root)
    return root


def test_the_placeholder_pass_takes_it() -> None:
    from nightgarden.curation.annotate import find

    hits = find("placeholder", [ROW], RULES.placeholder)
    kept, (gone,) = divide("placeholder", [ROW], hits, RULES.placeholder)
    assert (kept, gone.hits[0].reason) == ([], "made by a dry run of the synthesis")


OFF: dict[str, Any] = {"rules": {"placeholder": {"enabled": False, "markers": []}}}


def test_with_that_pass_switched_off_the_gate_refuses(dataset: Path) -> None:
    kept, gone = divide("placeholder", [ROW], {}, settings(**OFF).rules.placeholder)
    assert (kept, gone) == ([ROW], [])
    with pytest.raises(Refusal, match="1 rows were made by a dry run"):
        gate(settings(**OFF), dataset)


def test_with_the_gates_check_taken_out_as_well_the_preflight_refuses(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nightgarden.curation.gate.row_faults", lambda rows: [])
    monkeypatch.setattr("nightgarden.curation.gate.ZERO_TOLERANCE", ())
    gate(settings(**OFF), dataset)
    assert json.loads((dataset / "data/dataset/gate.json").read_text())["passed"] is True
    report = preflight.check("train", [ROW], registry.get("smollm2"), tokenizer(), PARAMS.training)
    with pytest.raises(Refusal, match="made by a dry run of the synthesis: nobody wrote it"):
        preflight.require(report)


def test_the_same_row_without_the_mark_passes_all_three() -> None:
    clean = example("The window faces north, so move it.")
    assert divide("placeholder", [clean], {}, RULES.placeholder) == ([clean], [])
    preflight.require(preflight.check("train", [clean], registry.get("smollm2"), tokenizer(), PARAMS.training))


def tokenizer() -> object:
    return load_tokenizer(ROOT / PARAMS.base_spec.folder)
