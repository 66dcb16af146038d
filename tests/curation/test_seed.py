"""The project's own rows: every planted fault falls where it must, every clean row stays, every pass has work."""

import json
from collections import Counter, defaultdict
from pathlib import Path

from nightgarden.curation.accounts import pass_order
from nightgarden.curation.rules import secrets
from nightgarden.rule_params import RULES as NAMES
from tests.curation.rows import PARAMS, ROOT, curate, files_below, read_lines, settings


def first_pass(root: Path) -> dict[str, str]:
    """Row id -> the pass that took it."""
    return {line["id"]: line["rule"] for line in read_lines(root / "data/curated/ledger.jsonl")}


def raw(root: Path) -> dict[str, dict[str, object]]:
    """Row id -> its meta."""
    return {row["id"]: row["meta"] for row in read_lines(root / "data/raw/examples.jsonl")}


def confusion(root: Path) -> dict[str, Counter[str]]:
    """Planted fault -> first pass that took its rows, counted."""
    taken = first_pass(root)
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for id_, meta in raw(root).items():
        table[str(meta.get("plant", "clean"))][taken.get(id_, "kept")] += 1
    return table


def test_every_planted_row_falls_by_its_rule_or_by_an_earlier_one_that_it_also_breaks(curated: Path) -> None:
    order = pass_order(PARAMS.curation)
    for plant, row in confusion(curated).items():
        print(f"{plant:18}", dict(row))  # noqa: T201 - the table is worth reading: pytest -s
        if plant not in {"clean", "duplicate"}:
            assert "kept" not in row, plant
            assert all(order.index(rule) <= order.index(plant) for rule in row), plant
            assert row[plant] >= 0.85 * row.total(), plant


def test_no_clean_row_falls_but_the_twins_of_planted_copies(curated: Path) -> None:
    table = confusion(curated)
    twins = table["clean"].pop("duplicate", 0)
    assert set(table["clean"]) == {"kept"}
    assert twins == table["duplicate"]["kept"], "of a planted pair exactly one goes: the larger content id"


def test_each_pass_drops_at_least_three_rows(curated: Path) -> None:
    dropped = {row["pass"]: row["dropped"] for row in json.loads((curated / "reports/funnel.json").read_text())}
    assert list(dropped) == list(NAMES)
    assert min(dropped.values()) >= 3, dropped


def test_at_least_480_rows_remain_in_the_mix(curated: Path) -> None:
    verdict = json.loads((curated / "data/dataset/gate.json").read_text())
    assert verdict["passed"] and verdict["rows"] >= 480
    assert all(abs(share - target) <= 0.01 for share, target in zip(verdict["mix"], (0.25, 0.30, 0.25, 0.20), strict=True))


def test_the_same_rows_in_any_order_give_the_same_bytes_in_every_file_but_the_positions(seed_root: Path, curated: Path) -> None:
    for path in (seed_root / "data/seed/examples").glob("*.jsonl"):
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(sorted(lines, key=lambda line: line[::-1])))
    curate(PARAMS.curation, seed_root)
    once, again = files_below(curated), files_below(seed_root)
    assert once.keys() == again.keys()
    assert {name for name in once if once[name] != again[name]} == {"data/raw/positions.jsonl"}


def planted_keys() -> set[str]:
    """Every secret of the seed's source files."""
    texts = [
        text
        for path in (ROOT / "data/seed/examples").glob("*.jsonl")
        for row in read_lines(path)
        for text in [*(turn["content"] for turn in row["messages"]), json.dumps(row.get("meta", {}))]
    ]
    return {text[found.start : found.end] for text in texts for found in secrets._find(text)}


def test_planted_keys_stand_in_no_file_that_a_stage_writes(curated: Path) -> None:
    keys = planted_keys()
    assert len(keys) >= 12
    assert len(read_lines(curated / "data/curated/secrets/ledger.jsonl")) >= 12
    for name, content in files_below(curated).items():
        for key in keys:
            for form in (key, json.dumps(key)[1:-1], key[-16:]):
                assert form.encode() not in content, name


def test_a_small_dataset_is_the_same_mix_of_rows_with_held_out_rows_of_every_op(seed_root: Path) -> None:
    curate(settings(rebalance={"rows": 64}), seed_root)
    train = Counter(row["op"] for row in read_lines(seed_root / "data/dataset/train.jsonl"))
    held_out = Counter(row["op"] for row in read_lines(seed_root / "data/dataset/held_out.jsonl"))
    assert train + held_out == Counter({0: 16, 1: 19, 2: 16, 3: 13})
    assert min(held_out[op] for op in range(4)) >= 1
