"""The joined ledger and the picture."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

from nightgarden.curation.report import draw
from tests.curation.rows import read_lines


def test_sole_says_whether_any_other_rule_hits_the_row(curated: Path) -> None:
    hit_by: dict[str, set[str]] = {}
    for path in (curated / "data/annotations").glob("*.jsonl"):
        for line in read_lines(path):
            hit_by.setdefault(line["id"], set()).add(path.stem)
    ledger = read_lines(curated / "data/curated/ledger.jsonl")
    assert {line["sole"] for line in ledger} == {True, False}
    assert all(line["sole"] == (hit_by[line["id"]] == {line["rule"]}) for line in ledger)


def test_the_funnel_chains_from_pass_to_pass_and_counts_sole_reasons(curated: Path) -> None:
    table = json.loads((curated / "reports/funnel.json").read_text())
    ledger = read_lines(curated / "data/curated/ledger.jsonl")
    assert table[0]["rows"] == len(read_lines(curated / "data/raw/examples.jsonl"))
    for row, following in zip(table, table[1:], strict=False):
        assert row["kept"] == row["rows"] - row["dropped"] == following["rows"]
    assert all(row["sole"] == sum(line["rule"] == row["pass"] and line["sole"] for line in ledger) for row in table)
    assert len(ledger) == sum(row["dropped"] for row in table)
    assert [(line["op"], line["id"]) for line in ledger] == sorted((line["op"], line["id"]) for line in ledger)


def test_the_overlap_counts_the_rows_that_two_rules_share(curated: Path) -> None:
    overlap = json.loads((curated / "reports/overlap.json").read_text())
    order = overlap["rules"]
    hit = {rule: {line["id"] for line in read_lines(curated / f"data/annotations/{rule}.jsonl")} for rule in order}
    assert overlap["rows"] == [[len(hit[one] & hit[two]) for two in order] for one in order]
    alone = [len(hit[one] - set().union(*(hit[two] for two in order if two != one))) for one in order]
    assert overlap["sole"] == alone
    assert any(overlap["rows"][i][j] for i in range(len(order)) for j in range(i))


def test_the_waterfall_is_a_picture_with_its_words_and_without_a_date(curated: Path) -> None:
    svg = (curated / "reports/waterfall.svg").read_text()
    words = " ".join(text for text in ET.fromstring(svg).itertext())  # noqa: S314 - our own file
    assert all(word in words for word in ("rows in", "exclamation", "question cascade", "rows kept", "op 3 memory channels"))
    assert "<dc:date>" not in svg


def test_the_same_counts_draw_the_same_bytes(tmp_path: Path) -> None:
    count = {"rows_in": 9, "kept": 7, "dropped": 2, "repaired": 0, "merged": 0} | {f"op{op}_in": 9 * (op == 0) for op in range(4)}
    count |= {f"op{op}_dropped": 2 * (op == 0) for op in range(4)}
    for name in ("one", "two"):
        draw(["schema"], [count], tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
