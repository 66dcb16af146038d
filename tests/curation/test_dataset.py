"""From the last pass to the gate: the mix, the held-out part, and the verdict."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nightgarden.curation.accounts import order
from nightgarden.curation.dataset import dataset_digest
from nightgarden.curation.gate import gate
from nightgarden.curation.rebalance import apportion, choose, quotas
from nightgarden.curation.split import held_out_ids
from nightgarden.errors import Refusal
from nightgarden.params import Curation, RebalanceSettings, SplitSettings
from nightgarden.records import Example, LedgerLine
from tests.curation.rows import PARAMS, curate, example, read_lines, render_as_trained, settings, write_lines

MIX = PARAMS.curation.rebalance
HELD_OUT = SplitSettings(held_out=0.1)


def rows_of(*counts: int) -> list[Example]:
    """Rows with as many of each op as given; only ids and ops matter here."""
    return [example(f"Answer {n}.", op=op) for op, count in enumerate(counts) for n in range(count)]


@given(available=st.tuples(*[st.integers(1, 400)] * 4), rows=st.none() | st.integers(4, 300))
def test_the_mix_is_as_large_as_its_scarcest_op_allows(available: tuple[int, ...], rows: int | None) -> None:
    limits = MIX.model_copy(update={"rows": rows})
    kept = quotas(available, limits)
    total = sum(kept)
    assume(total > 0)
    assert all(want <= have for want, have in zip(kept, available, strict=True))
    assert all(abs(want - total * share) < 1 for want, share in zip(kept, MIX.shares, strict=True))
    if rows is None or total < rows:
        assert any(want > have for want, have in zip(apportion(total + 1, MIX.shares), available, strict=True))
    else:
        assert total == rows


def test_rows_are_chosen_by_content_id_and_the_others_are_in_the_ledger() -> None:
    fates = list(choose(sorted(rows_of(40, 12, 10, 8), key=order), [40, 12, 10, 8], MIX))
    kept, dropped = ([fate for fate in fates if isinstance(fate, kind)] for kind in (Example, LedgerLine))
    assert len(kept) == 40 and len(dropped) == 30
    assert max(row.id for row in kept if row.op == 0) < min(line.id for line in dropped if line.op == 0)
    assert dropped[0].hits[0].reason == "the mix takes 10 of 40 rows of op 0, in order of content id"


def test_an_op_without_rows_is_refused_by_name() -> None:
    with pytest.raises(Refusal, match=r"no rows left of op 2 \(context supremacy\)"):
        quotas([5, 5, 0, 5], MIX)
    assert quotas([5, 5, 0, 5], RebalanceSettings(shares=(0.5, 0.25, 0, 0.25), tolerance=0.01)) == [5, 3, 0, 3]


def test_a_row_stays_on_its_side_when_others_come() -> None:
    before, after = rows_of(200), rows_of(260)
    held_before, held_after = (held_out_ids(map(order, rows), HELD_OUT) for rows in (before, after))
    assert held_before == held_after & {row.id for row in before}
    assert 10 <= len(held_before) <= 32


@pytest.mark.parametrize(("num_rows", "least"), [(20, 2), (30, 2), (5, 1), (19, 1)])
def test_every_op_has_rows_to_be_measured_on(num_rows: int, least: int) -> None:
    held = held_out_ids(map(order, rows_of(num_rows, num_rows)), SplitSettings(held_out=0.001))
    assert sum(row.id in held for row in rows_of(num_rows)) == least
    assert len(held) == 2 * least


def test_split_shares_out_every_row_and_sorts_both_sides(curated: Path) -> None:
    both = {name: read_lines(curated / f"data/dataset/{name}.jsonl") for name in ("train", "held_out")}
    ids = {name: [row["id"] for row in rows] for name, rows in both.items()}
    assert not set(ids["train"]) & set(ids["held_out"])
    rebalanced = read_lines(curated / "data/curated/rebalance/examples.jsonl")
    assert sorted(ids["train"] + ids["held_out"]) == sorted(row["id"] for row in rebalanced)
    assert all(rows == sorted(rows, key=lambda row: (row["op"], row["id"])) for rows in both.values())
    assert len(both["held_out"]) == pytest.approx(0.1 * len(rebalanced), rel=0.35)


@pytest.fixture
def dataset(curated: Path, tmp_path: Path) -> Path:
    """A copy of the curated seed rows that a test may damage."""
    return Path(shutil.copytree(curated, tmp_path / "copy"))


def refusal(root: Path, curation: Curation) -> tuple[str, dict[str, Any]]:
    """What the gate says, and its report; no passing verdict may lie about."""
    with pytest.raises(Refusal) as error:
        gate(curation, root)
    assert not (root / "data/dataset/gate.json").exists()
    return str(error.value), json.loads((root / "reports/gate.json").read_text())


def test_a_good_dataset_passes_under_its_digest(dataset: Path) -> None:
    report = gate(PARAMS.curation, dataset)
    verdict = json.loads((dataset / "data/dataset/gate.json").read_text())
    files = (dataset / "data/dataset/train.jsonl").read_bytes() + (dataset / "data/dataset/held_out.jsonl").read_bytes()
    assert verdict["digest"] == report["digest"] == hashlib.sha256(files).hexdigest() == dataset_digest(dataset)
    assert json.loads((dataset / "reports/gate.json").read_text())["passed"] is True


def _append(root: Path, row: dict[str, Any]) -> None:
    with (root / "data/dataset/train.jsonl").open("a") as file:
        file.write(json.dumps(row) + "\n")


def _line(row: Example) -> dict[str, Any]:
    return {"id": row.id, "op": row.op, "turns": [{"role": turn.role, "content": turn.content} for turn in row.turns]}


def test_guard_in_a_row_that_slipped_past_the_passes_is_caught_by_the_gate(dataset: Path) -> None:
    _append(dataset, _line(example("Certainly, basil likes light.")))
    message, _ = refusal(dataset, PARAMS.curation)
    assert "1 rows still break the rule instruct_isms" in message
    page = (dataset / "reports/refused/gate.html").read_text()
    assert "instruct-ism: certainly" in page and "Certainly, basil likes light." in page


def test_guard_out_without_its_rule_that_row_would_be_trained_on(dataset: Path) -> None:
    _append(dataset, _line(example("Certainly, basil likes light.")))
    render_as_trained(dataset)
    gate(settings(rules={"instruct_isms": {"enabled": False, "phrases": []}}), dataset)
    assert "Certainly" in (dataset / "data/dataset/train.jsonl").read_text()


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (_line(example("Yes.")) | {"id": "canary:clean:0"}, "1 canaries were not taken out again"),
        (_line(example("Yes.")) | {"id": "0" * 20}, "1 rows are not what their id says"),
        (_line(example("Eight.", ask="Why do cats knead a blanket before they lie down?")), "break the rule contamination"),
    ],
)
def test_rows_that_no_dataset_may_hold_are_refused(dataset: Path, row: dict[str, Any], says: str) -> None:
    _append(dataset, row)
    assert says in refusal(dataset, settings(rules={"contamination": {"ngram": 8, "min_share": 0.5, "enabled": False}}))[0]


def test_near_copies_on_both_sides_of_the_split_are_refused(dataset: Path) -> None:
    held_out = read_lines(dataset / "data/dataset/held_out.jsonl")[0]
    answer = held_out["turns"][-1]["content"] + " So it is."
    _append(dataset, _line(example(answer, ask=held_out["turns"][-2]["content"])))
    assert "still break the rule duplicate" in refusal(dataset, PARAMS.curation)[0]


def test_a_mix_off_its_shares_and_a_dataset_too_small_are_refused_with_their_numbers(dataset: Path) -> None:
    train = dataset / "data/dataset/train.jsonl"
    write_lines(train, [row for row in read_lines(train) if row["op"] != 3])
    message, report = refusal(dataset, settings(gate={"min_rows": 5000}))
    assert "fewer than curation.gate.min_rows 5000" in message
    assert "op 3 is 2." in message and "its share is 20.0%" in message
    assert not report["passed"]


SHOUTS = [{"instruction": f"Say {n}, slowly.", "input": "", "output": f"{n} it is, as you asked for {n * 7}!"} for n in range(90)]
CALM = [
    {"instruction": f"What is {n} plus {n}?", "output": f"It is {2 * n}, or {n} taken {'twice' * (n + 1)}."} for n in range(9)
]


def test_a_file_of_the_user_joins_op_0_without_a_budget_and_on_equal_terms(seed_root: Path) -> None:
    """What `make demo INPUT=FILE` does: the file is one more source beside the seed."""
    write_lines(seed_root / "data/inbox/visitor.jsonl", [*SHOUTS, *CALM])
    sources = PARAMS.model_dump(mode="json", by_alias=True)["curation"]["sources"]
    curate(settings(sources=sources | {"visitor": {"path": "data/inbox/visitor.jsonl", "op": 0}}), seed_root)
    counts = json.loads((seed_root / "reports/passes/exclamation.json").read_text())
    assert counts["op0_dropped"] == counts["op0_seed_dropped"] + len(SHOUTS)
    rebalanced = json.loads((seed_root / "reports/passes/rebalance.json").read_text())
    assert rebalanced["op0_in"] == rebalanced["op0_seed_in"] + len(CALM)
    assert rebalanced["op0_dropped"] == rebalanced["op0_seed_dropped"] + rebalanced["op0_outside_dropped"] > 0
