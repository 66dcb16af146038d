"""What a teacher is asked: written by hand, no prompt twice, none of the evaluation's."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from nightgarden.curation import inputs
from nightgarden.curation.annotate import find
from nightgarden.curation.inputs import Input, read_inputs
from nightgarden.curation.synthesise import synthesise
from nightgarden.errors import UserError
from tests.curation.rows import ROOT, RULES, example, place, read_lines, write_lines
from tests.curation.stand_in import fresh, wanting


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Six ingested rows and the inputs of the seed."""
    return fresh(tmp_path / "root")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"op": 0, "messages": [{"role": "user", "content": "Why?"}]}, r"a.jsonl:1: op is 0; rows are made of ops 1, 2, 3"),
        ({"op": 2, "messages": [{"role": "user", "content": "Why?"}]}, "op 2 without a system turn"),
        ({"op": 3, "messages": [{"role": "user", "content": "Why?"}]}, "op 3 without memories"),
        ({"op": 1, "messages": [{"role": "assistant", "content": "No."}]}, "the last turn must be the user's"),
        ({"op": 1, "messages": [{"role": "user", "content": "Why?"}] * 2}, "the turns are: user, user; needed"),
        ({"op": 1, "mesages": []}, "a.jsonl:1: "),
    ],
)
def test_an_input_of_which_no_row_can_come_is_named_with_its_place(root: Path, line: dict[str, Any], reason: str) -> None:
    write_lines(root / inputs.SEEDS / "a.jsonl", [line])
    with pytest.raises(UserError, match=reason):
        synthesise(wanting(1, 0, 0), root, place(root))


def test_an_input_that_stands_twice_and_too_few_of_them_are_named(root: Path) -> None:
    with pytest.raises(UserError, match="wants 99 rows of op 3, and data/seed/synthesis holds 36 prompts for it"):
        synthesise(wanting(0, 0, 99), root, place(root))
    shutil.copy(root / inputs.SEEDS / "op2_context_supremacy.jsonl", root / inputs.SEEDS / "z.jsonl")
    with pytest.raises(UserError, match=r"z.jsonl:1 is the same prompt as .*op2_context_supremacy.jsonl:1"):
        synthesise(wanting(0, 1, 0), root, place(root))


def test_each_op_has_at_least_thirty_inputs_that_read_like_different_people() -> None:
    found = read_inputs(ROOT)
    for op in inputs.OPS_MADE:
        mine = [item for item in found if item.op == op]
        openings = {tuple(_first_user(item).lower().split()[:5]) for item in mine}
        assert len(mine) >= 30 and len(openings) == len(mine)


def _first_user(item: Input) -> str:
    return next(turn.content for turn in item.messages if turn.role == "user")


def test_no_input_is_an_evaluation_prompt_or_a_prompt_of_the_seed_rows() -> None:
    from nightgarden.curation.annotate import read_prompts

    items = read_inputs(ROOT)
    rows = [
        example("Yes.", ask=_first_user(item), system=item.messages[0].content if item.messages[0].role == "system" else None)
        for item in items
    ]
    assert find("contamination", rows, RULES.contamination, read_prompts(ROOT)) == {}
    seeds = [line for path in (ROOT / "data/seed/examples").glob("*.jsonl") for line in read_lines(path)]
    asked = {turn["content"] for line in seeds for turn in line["messages"] if turn["role"] == "user"}
    assert not asked & {_first_user(item) for item in items}
