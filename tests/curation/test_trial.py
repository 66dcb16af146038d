"""`nightgarden curation try` tells what would happen to a file, and changes nothing."""

import json
from pathlib import Path

import pytest

from nightgarden.curation.trial import try_file
from nightgarden.errors import UserError
from nightgarden.rule_params import RULES as NAMES
from tests.curation.rows import PARAMS, ROOT, example, files_below, ours, write_lines


def test_each_rule_counts_the_rows_that_it_would_take_alone(seed_root: Path) -> None:
    rows: list[object] = [
        {"instruction": "Water it how?", "output": "From below, and not too often."},
        {"instruction": "Water it how?", "output": "From below, and not too often."},
        {"instruction": "Feed it?", "output": "Certainly! Feed it in May!"},
        {"instruction": "Cut it?", "output": "Yes! Above a pair of leaves."},
        {"instruction": "Who are you?", "output": "I am {{name}}."},
        {"instruction": "no answer"},
    ]
    before = files_below(seed_root)
    found = try_file(write_lines(seed_root / "mine.jsonl", rows), PARAMS, seed_root)
    assert {key: found[key] for key in ("rows", "quarantined", "merged", "kept")} == {
        "rows": 6,
        "quarantined": 1,
        "merged": 1,
        "kept": 1,
    }
    assert list(found["rules"]) == list(NAMES)
    assert {rule: n for rule, n in found["rules"].items() if n} == {"placeholder": 1, "instruct_isms": 1, "exclamation": 2}
    assert files_below(seed_root) == before
    json.dumps(found)


def test_of_near_copies_one_is_kept_also_where_another_rule_takes_the_smaller(seed_root: Path) -> None:
    text = "Bake it first, let it go cold, cut it into squares and wrap each one by itself"
    pair = sorted((example(f"{text}{end}") for end in (". Now", " now!")), key=lambda row: row.id)
    found = try_file(write_lines(seed_root / "mine.jsonl", [ours(row) for row in pair]), PARAMS, seed_root)
    assert (found["rules"]["duplicate"], found["rules"]["exclamation"], found["kept"]) == (1, 1, 1)


def test_seed_files_can_be_tried_and_keep_their_ops() -> None:
    found = try_file(ROOT / "data/seed/examples/op3_memory_channels.jsonl", PARAMS, ROOT)
    assert found["quarantined"] == 0
    assert found["rules"]["memory_narration"] >= 3
    assert found["rules"]["schema"] < 10


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf", b"[]"], ids=["no byte", "a byte order mark", "an empty array"])
def test_a_file_without_a_row_is_refused_with_what_is_needed(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "mine.json"
    path.write_bytes(content)
    with pytest.raises(UserError, match="holds no row; give a file with at least one"):
        try_file(path, PARAMS, ROOT)
