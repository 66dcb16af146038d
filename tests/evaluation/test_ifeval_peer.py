"""Our checks of IFEval against lm-evaluation-harness 0.4.13, verdict by verdict (`make test-peers`)."""

import json
import os
from pathlib import Path

import msgspec
import pytest

from nightgarden.evaluation import ifeval
from nightgarden.evaluation.ifeval import Args, Item
from tests.evaluation.ifeval_peer import CAPITALS, LETTER, LOWER, PYTHON, SHORT, TRAIN, differences, edited, pairs, picked

pytestmark = pytest.mark.peers
FOLDER = Path(os.environ.get("NIGHTGARDEN_PUBLIC_DATA", "."))
PROMPTS, ROWS = FOLDER / "evaluation/ifeval_prompts.jsonl", FOLDER / "curation/alpaca_en_demo.json"
needs_public_data = pytest.mark.skipif(not PROMPTS.is_file(), reason="NIGHTGARDEN_PUBLIC_DATA names no public data")


@pytest.fixture(autouse=True, scope="module")
def peers() -> None:
    assert PYTHON.is_file(), "the rivals' environment is missing; run `make test-peers`"


def test_of_250_answers_written_by_hand_one_is_judged_otherwise_and_it_is_in_capitals() -> None:
    lines = [json.loads(line) for line in (Path(__file__).parent / "ifeval_answers.jsonl").read_text().splitlines()]
    items = [
        Item(key=number, prompt="", instruction_id_list=(line["kind"],), kwargs=(msgspec.convert(line["args"], Args),))
        for number, line in enumerate(lines)
    ]
    found = pairs(items, [{"key": number, "reply": line["answer"]} for number, line in enumerate(lines)])
    assert len(found) == 250
    assert differences(found) == {CAPITALS: 1}


@needs_public_data
def test_on_100_public_prompts_of_all_25_kinds_every_difference_is_known() -> None:
    items = picked(ifeval.load(PROMPTS))
    rows = [row["output"] for row in json.loads(ROWS.read_text()) if row["output"]]
    found = pairs(items, edited(items, rows, seed=5))
    assert len(items) == 100
    assert {(pair.kind, pair.ours[0]) for pair in found} == {(kind, held) for kind in ifeval.CHECKS for held in (True, False)}
    assert len(found) > 2900
    assert differences(found).keys() <= {LETTER, CAPITALS, SHORT}, differences(found)
    assert differences(found).total() < 30


@needs_public_data
def test_the_language_of_two_words_is_disputed_and_of_20_it_is_not() -> None:
    rows = [row["output"].lower() for row in json.loads(ROWS.read_text()) if len(row["output"].split()) >= 20][:100]
    english = Item(key=1, prompt="", instruction_id_list=(LOWER,), kwargs=(Args(),))
    told = {
        count: sum(
            pair.ours != pair.theirs
            for pair in pairs([english], [{"key": 1, "reply": " ".join(row.split()[:count])} for row in rows])
        )
        for count in (2, 20)
    }
    assert told[20] == 0
    assert told[2] > 20


def test_one_sentence_in_each_of_22_languages_is_known_by_both() -> None:
    asked = enumerate(TRAIN)
    kind = "language:response_language"
    items = [Item(key=key, prompt="", instruction_id_list=(kind,), kwargs=(Args(language=code),)) for key, code in asked]
    found = pairs(items, [{"key": key, "reply": text} for key, text in enumerate(TRAIN.values())])
    assert len(found) == 22
    assert {(pair.ours, pair.theirs) for pair in found} == {((True, True), (True, True))}
