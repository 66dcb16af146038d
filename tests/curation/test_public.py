"""Numbers on public files that nobody of this project wrote; `make test-public` runs them."""

import json
import os
import random
from pathlib import Path

import pytest

from nightgarden.curation.annotate import read_prompts
from nightgarden.curation.ingest import Intake, Source
from nightgarden.curation.rules import contamination
from nightgarden.curation.sources.reading import read_rows
from nightgarden.curation.trial import try_file
from tests.curation.rows import PARAMS, ROOT, example
from tests.curation.test_arrays import KINDS, damaged, is_open

pytestmark = pytest.mark.public
FOLDER = Path(os.environ.get("NIGHTGARDEN_PUBLIC_DATA", ".")) / "curation"


def test_alpaca_rows_are_all_read_and_lose_their_lists_and_marks() -> None:
    found = try_file(FOLDER / "alpaca_en_demo.json", PARAMS, ROOT)
    assert (found["rows"], found["quarantined"], found["merged"]) == (999, 0, 14)
    assert found["rules"]["secrets"] == found["rules"]["residue"] == found["rules"]["contamination"] == 0
    assert found["rules"]["exclamation"] == 61
    assert found["rules"]["bullets"] > 200


def test_of_identity_the_85_rows_with_open_slots_go_and_the_other_6_do_not() -> None:
    found = try_file(FOLDER / "identity.json", PARAMS, ROOT)
    assert (found["rows"], found["quarantined"], found["merged"]) == (91, 0, 0)
    assert found["rules"]["placeholder"] == 85
    assert found["kept"] <= 6


BREAK = {
    10: lambda text: text.replace('"output": "', '"output": ', 1),
    25: lambda text: text.rstrip().removesuffix("}"),
    40: lambda text: text.replace('"instruction"', '"instructoin"', 1),
    60: lambda text: text.replace('"input": ""', '"input": 7'),
    90: lambda text: text[: len(text) // 2],
}


def test_five_broken_rows_are_five_in_quarantine_and_cost_no_other(tmp_path: Path) -> None:
    rows = [json.dumps(row, indent=4, ensure_ascii=False) for row in json.loads((FOLDER / "identity.json").read_text())]
    for number, damage in BREAK.items():
        rows[number] = damage(rows[number])
    path = tmp_path / "identity.json"
    path.write_text("[\n" + ",\n".join(rows) + "\n]\n")
    found = try_file(path, PARAMS, ROOT)
    assert (found["rows"], found["quarantined"]) == (91, 5)


@pytest.mark.parametrize("name", ["identity.json", "alpaca_en_demo.json"])
@pytest.mark.parametrize("indent", [None, 2, 4])
def test_any_five_broken_rows_of_a_public_file_are_five_in_quarantine(tmp_path: Path, indent: int | None, name: str) -> None:
    rows = json.loads((FOLDER / name).read_text())[:91]
    path = tmp_path / name
    for seed in range(100):
        kinds = five_kinds(random.Random(seed), len(rows))
        if is_open(kinds, indent):
            continue
        path.write_text(damaged(kinds, indent, rows))
        intake = Intake(tmp_path)
        intake.read(Source(name, "public", 0), read_rows(path))
        report, _ = intake.write(tmp_path / "raw")
        assert (report["rows_in"], report["quarantined"]) == (91, 5), f"seed {seed}: {kinds}"


def five_kinds(chance: random.Random, num_rows: int) -> dict[int, str]:
    """Kinds of damage for the first row, the last one, two neighbours and one more."""
    neighbour = chance.randrange(2, num_rows - 20)
    places = (0, neighbour, neighbour + 1, chance.randrange(num_rows - 15, num_rows - 2), num_rows - 1)
    return dict(zip(places, chance.sample(sorted(KINDS), len(places)), strict=True))


def test_rejected_kto_answers_are_quarantined_and_the_preferred_taken() -> None:
    found = try_file(FOLDER / "kto_en_demo.json", PARAMS, ROOT)
    labels = [row["label"] for row in json.loads((FOLDER / "kto_en_demo.json").read_text())]
    assert found["quarantined"] == labels.count(False)
    assert found["rows"] == 300


def test_every_prompt_of_ifeval_is_known_again_and_no_alpaca_row_is_taken_for_one(tmp_path: Path) -> None:
    for name in ("data/seed/evaluation_prompts.jsonl", "data/contamination/ifeval.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "data/seed/evaluation_prompts.jsonl").write_bytes((ROOT / "data/seed/evaluation_prompts.jsonl").read_bytes())
    source = FOLDER.parent / "evaluation/ifeval_prompts.jsonl"
    (tmp_path / "data/contamination/ifeval.jsonl").write_bytes(source.read_bytes())
    prompts = read_prompts(tmp_path)
    judge = contamination.judge(PARAMS.curation.rules.contamination, prompts)
    asked = [json.loads(line)["prompt"] for line in source.read_text().splitlines()]
    assert len(asked) == 541
    assert all(judge(example("Eight.", ask=f"Tell me. {text}")) for text in asked)
    rows = json.loads((FOLDER / "alpaca_en_demo.json").read_text())
    assert not [row for row in rows if judge(example(row["output"], ask=f"{row['instruction']}\n{row['input']}"))]
