from pathlib import Path

import pytest

from nightgarden.memory import migrations
from nightgarden.teacher.items import Day, Item, by_worth, items, rated_by_user

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def day() -> Day:
    return Day(migrations.read(ROOT / "data/seed/days/core.jsonl") + migrations.read(ROOT / "data/seed/days/2026-09-07.jsonl"))


def test_each_task_asks_about_what_it_judges(day: Day) -> None:
    found = items(day)
    assert set(found["importance"]) == set(day.memories)
    assert {day.memories[name].kind for name in found["appraisal"]} == {"remark", "thought"}
    assert {day.memories[name].kind for name in found["interest"]} == {"thought", "insight"}
    assert len(found["relevance"]) == sum(len(recall.memories) for recall in day.recalls.values())


def test_a_relevance_item_is_the_query_with_one_memory(day: Day) -> None:
    item = items(day)["relevance"]["r0907-01/c-09"]
    assert item.text == "awake since ten to four, first day back at work"
    assert item.pair == "Ines wants short answers in the morning."
    assert item.origin == "r0907-01"


def test_a_reply_is_read_with_what_it_answered_and_so_is_the_unsent_draft(day: Day) -> None:
    found = items(day)["reaction"]
    assert found["p0907-01"].text.startswith("Companion: Morning. Coffee first, then the office")
    assert "\nAnswering: Morning. Awake since ten to four" in found["p0907-01"].text
    drafts = [reply for reply in day.replies.values() if reply.unsent]
    assert drafts
    for reply in drafts:
        assert found[f"{reply.id}/unsent"].origin == found[reply.id].origin == reply.event


def test_the_persons_ratings_become_reactions(day: Day) -> None:
    rated = rated_by_user(day)
    ratings = {record.reply: record.rating for record in day.feedback if record.kind == "rating"}
    assert rated and set(rated) == set(ratings)
    assert all(
        rated[reply] == ("cold", "cold", "neutral", "warm", "warm")[(rating or 0) - 1] for reply, rating in ratings.items()
    )


def test_a_cap_takes_the_touched_first_and_every_part_of_the_night() -> None:
    found = [Item(id=str(number), text="", origin="", touched=number % 10 == 0) for number in range(100)]
    assert [item.id for item in by_worth(found, 5, touched_first=True)] == ["0", "20", "40", "60", "80"]
    assert [item.id for item in by_worth(found, 12, touched_first=True)[10:]] == ["1", "51"]
    assert [item.id for item in by_worth(found, 4)] == ["0", "25", "50", "75"]
    assert by_worth(found, 100) == found
    assert by_worth(found, 0) == []
