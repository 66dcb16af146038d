"""The 868 rows that one filter once took in silence: now it stops, shows them, and lets a person choose."""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from nightgarden.curation.annotate import annotate
from nightgarden.curation.filter import filter_pass
from nightgarden.curation.rebalance import rebalance
from nightgarden.curation.rules import exclamation
from nightgarden.errors import Refusal, UserError
from nightgarden.params import Curation, PassSpec
from nightgarden.records import Example, Hit
from nightgarden.rule_params import RULES as NAMES
from tests.curation.rows import ROOT, RULES, divide, example, passes, read_lines, run_passes, settings, take_in, write_lines

COUNTS = (1193, 1432, 1193, 955)
"""4,773 rows at 25/30/25/20."""
SHOUTING = {3: 584, 2: 284}
WORDS = """basil kettle ladder orchard ferry pigeon marble thimble copper lantern gravel meadow saddle cellar ribbon quarry
walnut barley chimney harbour needle pepper shovel tunnel velvet willow anchor bridge candle dagger engine feather garden
hammer island jacket lemon mirror napkin oyster parcel quilt rocket spindle teapot umbrella violin wagon yeast zipper""".split()


def answer(chance: random.Random) -> str:
    """Distinct sentences of known words: nothing for any rule to hit."""
    sentences = (" ".join(chance.choices(WORDS, k=8)).capitalize() + "." for _ in range(2))
    return " ".join(sentences)


def reference() -> list[dict[str, Any]]:
    """4,773 clean rows, some of whose users and systems exclaim, and 868 more whose answers do."""
    chance = random.Random(868)
    rows = []
    for op, count in enumerate(COUNTS):
        for number in range(count + SHOUTING.get(op, 0)):
            text = answer(chance)
            if number >= count:
                at = chance.choice([n for n, letter in enumerate(text) if letter == "."])
                text = text[:at] + "!" + text[at + 1 :]
            mark = chance.choice("!.")
            messages = [{"role": "user", "content": answer(chance)[:-1] + mark}, {"role": "assistant", "content": text}]
            if op == 2:
                messages.insert(0, {"role": "system", "content": f"Keep to the {chance.choice(WORDS)}{mark}"})
            row: dict[str, Any] = {"op": op, "messages": messages}
            if op == 1:
                row["meta"] = {"contrast": f"Great question! {text}"}
            if op == 3:
                row["memories"] = [{"type": "episodic", "text": answer(chance), "date": "2026-02-11"}]
            rows.append(row)
    return rows


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reference rows, annotated by every rule and filtered up to the exclamation pass."""
    folder = tmp_path_factory.mktemp("reference")
    write_lines(folder / "data/seed/rows.jsonl", reference())
    prompts = "data/seed/evaluation_prompts.jsonl"
    (folder / prompts).write_bytes((ROOT / prompts).read_bytes())
    take_in(curation(), folder)
    for rule in NAMES:
        annotate(rule, curation(), folder)
    for rule in NAMES[: NAMES.index("exclamation")]:
        assert filter_pass(rule, curation(), folder)["dropped"] == 0, rule
    return folder


def curation(**changes: dict[str, Any]) -> Curation:
    return settings(sources={"rows": {"path": "data/seed/rows.jsonl"}}, passes=passes(**changes), gate={"min_rows": 4773})


def test_the_loss_budget_stops_the_pass_and_the_page_shows_why_and_what_to_do(root: Path) -> None:
    with pytest.raises(Refusal) as error:
        filter_pass("exclamation", curation(), root)
    says = str(error.value)
    assert (
        "would take 584 of 1539 seed rows of op 3 (37.9%)" in says and "would take 284 of 1477 seed rows of op 2 (19.2%)" in says
    )
    assert "{op: 3, rows: 584, why: WHY, by: NAME, date: DATE}" in says
    assert "on_hit: repair" in says and "budget: null" in says
    page = (root / "reports/refused/exclamation.html").read_text()
    assert "exclamation mark in prose: 20 of 868" in page
    assert not list((root / "data/curated/exclamation").iterdir())


WAIVERS = [
    {"op": op, "rows": rows, "why": "marks of the old notes; refilled in March", "by": "a reviewer", "date": "2026-11-30"}
    for op, rows in SHOUTING.items()
]


def mix_after(root: Path, chosen: Curation) -> tuple[list[int], int]:
    """Rows of the dataset per op, and rows that the exclamation pass dropped."""
    run_passes(chosen, root)
    rebalance(chosen, root)
    counts = Counter(row["op"] for row in read_lines(root / "data/curated/rebalance/examples.jsonl"))
    dropped = json.loads((root / "reports/passes/exclamation.json").read_text())["dropped"]
    return [counts[op] for op in range(4)], dropped


@pytest.mark.parametrize(
    ("change", "dropped", "least"),
    [
        ({"waivers": WAIVERS}, 868, 4773),
        ({"budget": None}, 868, 4773),
        ({"on_hit": "repair"}, 0, 4773),
    ],
    ids=["waive", "drop", "repair"],
)
def test_after_a_waiver_a_drop_or_a_repair_4773_rows_stand_in_the_mix(
    tmp_path: Path, change: dict[str, Any], dropped: int, least: int
) -> None:
    write_lines(tmp_path / "data/seed/rows.jsonl", reference())
    prompts = "data/seed/evaluation_prompts.jsonl"
    (tmp_path / prompts).write_bytes((ROOT / prompts).read_bytes())
    counts, taken = mix_after(tmp_path, curation(exclamation=change))
    assert (tuple(counts), taken) == (COUNTS, dropped)
    if "on_hit" in change:
        repaired = [line for line in read_lines(tmp_path / "data/curated/exclamation/ledger.jsonl") if line.get("into")]
        assert len(repaired) == 868
        kept = {row["id"]: row for row in read_lines(tmp_path / "data/curated/exclamation/examples.jsonl")}
        for line in repaired:
            assert kept[line["into"]]["meta"]["edits"] == [{"rule": "exclamation", "parent": line["id"]}]


def test_a_waiver_of_fewer_rows_than_are_lost_does_not_hold(root: Path) -> None:
    short = [WAIVERS[0] | {"rows": 583}, WAIVERS[1]]
    with pytest.raises(Refusal, match="would take 584 of 1539 seed rows of op 3 .* it may take 583"):
        filter_pass("exclamation", curation(exclamation={"waivers": short}), root)


def test_a_waiver_without_a_name_or_a_reason_is_refused() -> None:
    with pytest.raises(ValueError, match="by"):
        PassSpec.model_validate({"prev": "a", "prevfile": "b", "waivers": [WAIVERS[0] | {"by": ""}]})


def shouted(row: Example) -> tuple[Hit, ...]:
    return exclamation.hits(row, RULES.exclamation)


REPAIRED = {
    "Stop! Now!!": "Stop. Now.",
    "Really?! Yes.": "Really? Yes.",
    "¡Hola! Bien.": "Hola. Bien.",
    'She said "go!" and left.': 'She said "go." and left.',
    "好！再见。": "好。再见。",
    "Well ❗ then.": "Well . then.",
}


@pytest.mark.parametrize(("before", "after"), REPAIRED.items())
def test_a_repair_turns_the_mark_into_a_stop(before: str, after: str) -> None:
    row = example(before, ask="Loud!")
    spec = PassSpec(prev="ingest", prevfile="x", on_hit="repair")
    hits = {row.id: shouted(row)}
    (kept,), (line,) = divide("exclamation", [row], hits, RULES.exclamation, spec)
    assert (kept.turns[1].content, kept.turns[0].content) == (after, "Loud!")
    assert line.into == kept.id != row.id and kept.meta["edits"] == [{"rule": "exclamation", "parent": row.id}]


@pytest.mark.parametrize("text", ["Run `!x` twice.", "![wall](wall.png)"])
def test_what_a_repair_would_break_is_dropped(text: str) -> None:
    row = example(text)
    spec = PassSpec(prev="ingest", prevfile="x", on_hit="repair")
    kept, (line,) = divide("exclamation", [row], {row.id: shouted(row)}, RULES.exclamation, spec)
    assert (kept, line.into) == ([], None)


def test_a_repaired_row_that_equals_another_is_merged_into_it() -> None:
    calm, loud = example("Stop."), example("Stop!")
    spec = PassSpec(prev="ingest", prevfile="x", on_hit="repair")
    (kept,), (line,) = divide("exclamation", [calm, loud], {loud.id: shouted(loud)}, RULES.exclamation, spec)
    assert (kept, line.id, line.into) == (calm, loud.id, calm.id)


def test_a_rule_without_a_repair_says_so() -> None:
    with pytest.raises(UserError, match="the rule bullets knows no repair; use drop"):
        divide("bullets", [], {}, RULES.bullets, PassSpec(prev="ingest", prevfile="x", on_hit="repair"))
