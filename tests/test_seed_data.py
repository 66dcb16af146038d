"""The hand-written data: varied, coherent, and with the counts that the project promises."""

import itertools
import json
import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest

SEED = Path(__file__).resolve().parents[1] / "data/seed"
FILES = ["op0_bootstrap", "op1_identity_stripping", "op2_context_supremacy", "op3_memory_channels", "op_contaminated"]
DAYS = [f"2026-09-{day:02d}" for day in range(7, 21)]
CONSTRAINT_FIELDS = {
    **dict.fromkeys(["max_words", "min_words", "num_lines", "num_sentences"], "n"),
    **dict.fromkeys(["must_contain", "must_not_contain", "one_of"], "any"),
    **dict.fromkeys(["starts_with", "ends_with"], "text"),
    "json_keys": "keys",
    **dict.fromkeys(["all_lowercase", "all_uppercase", "no_digits", "no_commas"], None),
}


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


ROWS = [row for name in FILES for row in lines(SEED / f"examples/{name}.jsonl")]
TWINS = {tuple(int(n) for n in line.split()) for line in (SEED / "twins.txt").read_text().splitlines()}
"""Planted near-copies as pairs of row numbers, counted over FILES in order from 1."""


def words(text: str) -> list[str]:
    return re.findall(r"[\w']+", text.lower())


def grams(row: dict) -> set[tuple[str, ...]]:
    tokens = words(" ".join(m["content"] for m in row["messages"] if m["role"] != "system"))
    return set(zip(*(tokens[i:] for i in range(5)), strict=False))


def test_there_are_at_least_700_raw_examples_over_four_ops() -> None:
    assert len(ROWS) >= 700
    assert set(Counter(row["op"] for row in ROWS)) == {0, 1, 2, 3}


@pytest.mark.parametrize("op", range(4))
def test_openings_differ(op: int) -> None:
    mine = [row for row in ROWS if row["op"] == op]
    openings = {tuple(words(next(m["content"] for m in row["messages"] if m["role"] == "user"))[:5]) for row in mine}
    assert len(openings) / len(mine) >= 0.6


def test_no_two_rows_of_an_op_share_two_fifths_of_their_five_grams_but_the_planted_twins() -> None:
    index = defaultdict(list)
    sets = {number: grams(row) for number, row in enumerate(ROWS, 1)}
    for number, own in sets.items():
        for gram in own:
            index[gram].append(number)
    common = Counter(pair for numbers in index.values() for pair in itertools.combinations(numbers, 2))
    close = {
        pair
        for pair, count in common.items()
        if ROWS[pair[0] - 1]["op"] == ROWS[pair[1] - 1]["op"] and count > 0.4 * min(len(sets[pair[0]]), len(sets[pair[1]]))
    }
    assert close == TWINS


def test_system_prompts_and_personas_are_many() -> None:
    prompts = {m["content"] for row in ROWS for m in row["messages"] if m["role"] == "system"}
    assert len(prompts) > 200


def test_every_identity_stripping_row_carries_its_contrast_and_every_memory_row_its_memories() -> None:
    assert all(row["meta"].get("contrast") for row in ROWS if row["op"] == 1)
    assert all(2 <= len(row["memories"]) <= 5 for row in ROWS if row["op"] == 3)


def test_the_35_evaluation_prompts_are_9_9_9_8_and_their_constraints_checkable() -> None:
    prompts = lines(SEED / "evaluation_prompts.jsonl")
    assert list(Counter(p["category"] for p in prompts).values()) == [9, 9, 9, 8]
    assert len({p["id"] for p in prompts}) == 35
    for prompt in prompts:
        assert prompt["messages"][-1]["role"] == "user"
        for constraint in prompt.get("constraints", []):
            field = CONSTRAINT_FIELDS[constraint["kind"]]
            assert set(constraint) == {"kind"} | ({field} if field else set())


@pytest.mark.parametrize("day", DAYS)
def test_a_day_holds_enough_memories_replies_recalls_and_corrections(day: str) -> None:
    counts = Counter(row["record"] for row in lines(SEED / f"days/{day}.jsonl"))
    assert counts["memory"] >= 40 and counts["reply"] >= 20 and counts["recall"] >= 10
    assert any(row.get("kind") == "thought" for row in lines(SEED / f"days/{day}.jsonl"))


def test_every_reply_of_every_day_has_one_reaction_or_rating_and_some_days_corrections() -> None:
    corrections = 0
    for day in DAYS:
        rows = lines(SEED / f"days/{day}.jsonl")
        answered = Counter(r["reply"] for r in rows if r["record"] == "feedback" and r["kind"] in {"reaction", "rating"})
        assert answered == {r["id"]: 1 for r in rows if r["record"] == "reply"}
        corrections += sum(r["record"] == "feedback" and "correction" in r["kind"] for r in rows)
    assert corrections >= 14


def test_every_id_is_unique_and_every_reference_points_back() -> None:
    seen = {row["id"] for row in lines(SEED / "days/core.jsonl")}
    for day in DAYS:
        rows = sorted(lines(SEED / f"days/{day}.jsonl"), key=lambda row: (row["at"], row["record"] not in {"event", "memory"}))
        when = {row["id"]: row["at"] for row in rows}
        assert not seen & set(when) and len(when) == len(rows)
        for row in rows:
            named = list(row.get("memories", [])) + [row[key] for key in ("event", "reply") if key in row]
            late = [name for name in named if name not in seen and when.get(name, "9") > row["at"]]
            assert not late, f"{row['id']} names {late}, which are later or unknown"
        seen |= set(when)


@pytest.mark.parametrize("day", DAYS)
def test_the_hand_written_labels_cover_the_day(day: str) -> None:
    rows = lines(SEED / f"days/{day}.jsonl")
    labels = lines(SEED / f"labels/{day}.jsonl")
    assert {label["by"] for label in labels} == {"hand-written"}
    of = defaultdict(set)
    for label in labels:
        assert label["item"] not in of[label["task"]], f"{label['item']} is labelled twice for {label['task']}"
        of[label["task"]].add(label["item"])
    memories = [row for row in rows if row["record"] == "memory"]
    assert of["importance"] == {m["id"] for m in memories}
    assert of["appraisal"] >= {m["id"] for m in memories if m["kind"] in {"remark", "thought"}}
    assert of["interest"] == {m["id"] for m in memories if m["kind"] in {"thought", "insight"}}
    assert of["reaction"] == {row["id"] for row in rows if row["record"] == "reply"}
    assert of["relevance"] == {f"{row['id']}/{m}" for row in rows if row["record"] == "recall" for m in row["memories"]}
