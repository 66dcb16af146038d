import pytest

from nightgarden.records import Head
from nightgarden.teacher.reliability import degenerate

HONEST = [4, 3, 6, 2, 4, 8, 5, 3, 4, 7, 1, 4]
COLLAPSED = [10, 10, 1, 10, 10, 10, 7, 10, 1, 10, 10, 10]


def test_a_judge_with_one_answer_is_refused_and_an_honest_one_is_heard() -> None:
    assert "9 of 12 importance answers are 10" in (degenerate("importance", COLLAPSED) or "")
    assert degenerate("importance", HONEST) is None


@pytest.mark.parametrize("values", [list(range(1, 11)), [*range(1, 11), *range(1, 11)], list(range(10, 0, -1))])
def test_counting_positions_is_no_judgement(values: list[int]) -> None:
    assert "that counts positions" in (degenerate("importance", values) or "")


def test_few_answers_are_no_evidence_of_a_habit() -> None:
    assert degenerate("importance", [5] * 9) is None
    assert degenerate("importance", [5] * 10) is not None


@pytest.mark.parametrize(
    ("task", "values", "refused"),
    [
        ("reaction", ["warm"] * 14 + ["cold"] * 6, False),
        ("reaction", ["warm"] * 19 + ["cold"], True),
        ("relevance", [0] * 15 + [1] * 5, False),
        ("relevance", [0] * 20, True),
    ],
)
def test_with_two_or_three_classes_a_good_day_is_no_collapse(task: Head, values: list[int | str], refused: bool) -> None:
    assert (degenerate(task, values) is not None) == refused


def test_feelings_are_the_same_answer_only_if_all_six_are() -> None:
    calm = {"joy": 0, "sadness": 0, "frustration": 0, "anxiety": 0, "curiosity": 30, "affection": 0}
    assert degenerate("appraisal", [calm] * 10) is not None
    assert degenerate("appraisal", [calm | {"joy": number} for number in range(10)]) is None
