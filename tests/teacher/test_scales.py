from typing import Any

import pytest

from nightgarden.records import HEADS, Head
from nightgarden.teacher import scales

CALM = {"joy": 0, "sadness": 0, "frustration": 0, "anxiety": 0, "curiosity": 30, "affection": 0}


@pytest.mark.parametrize(
    ("task", "value"),
    [("importance", 1), ("importance", 10), ("appraisal", CALM), ("reaction", "neutral"), ("relevance", 0), ("interest", 100)],
)
def test_a_value_on_its_scale_has_no_fault(task: Head, value: Any) -> None:
    assert scales.fault(task, value) is None


@pytest.mark.parametrize(
    ("task", "value"),
    [
        ("importance", 0),
        ("importance", 11),
        ("importance", 4.5),
        ("importance", True),
        ("importance", "4"),
        ("appraisal", CALM | {"joy": 101}),
        ("appraisal", CALM | {"awe": 5}),
        ("appraisal", {"joy": 5}),
        ("reaction", "Warm"),
        ("relevance", 2),
        ("interest", -1),
        ("interest", None),
    ],
)
def test_a_value_off_its_scale_is_named(task: Head, value: Any) -> None:
    assert f"is no {task}" in (scales.fault(task, value) or "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7",
        '{"value": 7} and so on',
        '{"value": "7"}',
        '{"value": 12}',
        '{"value": null}',
        '{"score": 7}',
        '{"value": 7, "why": "x"}',
    ],
)
def test_an_answer_that_is_not_exactly_what_was_asked_for_is_no_number(text: str) -> None:
    assert scales.read_answer("importance", text) is None


def test_a_good_answer_is_read() -> None:
    assert scales.read_answer("importance", ' {"value": 7}\n') == 7
    assert scales.read_answer("relevance", '{"value": 0}') == 0


@pytest.mark.parametrize("task", HEADS)
def test_the_schema_asks_for_integers_or_words_and_nothing_else(task: Head) -> None:
    schema = scales.answer_schema(task)
    assert schema["required"] == ["value"] and schema["additionalProperties"] is False
    assert "number" not in str(schema) and "$ref" not in str(schema)
