from pathlib import Path

import pytest

from nightgarden.memory import migrations
from nightgarden.night import lessons
from nightgarden.records import Label
from nightgarden.teacher.items import Day, items

ROOT = Path(__file__).parents[2]
FILES = ["days/core", "days/2026-09-07", "labels/2026-09-07"]
DAY = Day(record for name in FILES for record in migrations.read(ROOT / f"data/seed/{name}.jsonl"))


def judged(task: str, item: str, value: object, by: str = "hand-written") -> Label:
    return Label(schema=2, task=task, item=item, value=value, by=by)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("task", "value", "target"),
    [
        ("importance", 7, (7.0,)),
        ("relevance", 1, (1.0,)),
        ("interest", 85, (0.85,)),
        ("reaction", "neutral", (1.0,)),
        (
            "appraisal",
            {"affection": 60, "joy": 10, "sadness": 0, "frustration": 0, "anxiety": 0, "curiosity": 0},
            (0.1, 0, 0, 0, 0, 0.6),
        ),
    ],
)
def test_a_label_becomes_the_heads_target(task: str, value: object, target: tuple[float, ...]) -> None:
    assert lessons.target(judged(task, "x", value)) == target


def test_every_label_of_a_real_day_becomes_one_lesson() -> None:
    found = lessons.from_labels(DAY.labels, items(DAY), "2026-09-07")
    assert [row.id for row in found] == [f"{line.task}/{line.item}" for line in DAY.labels]
    assert all((row.pair is not None) == (row.head == "relevance") for row in found)


def test_an_item_that_is_judged_again_counts_once_as_judged_last() -> None:
    early = lessons.from_labels([judged("reaction", "p0907-01", "warm")], items(DAY), "2026-09-07")
    late = lessons.from_labels([judged("reaction", "p0907-01", "cold", by="user")], items(DAY), "2026-09-08")
    (row,) = lessons.so_far([early, late])
    assert (row.target, row.by, row.night) == ((0.0,), "user", "2026-09-08")
