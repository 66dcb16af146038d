from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from nightgarden.errors import UserError
from nightgarden.records import HEADS, Turn
from nightgarden.teacher.ask import ask, prompt_of
from nightgarden.teacher.items import Item

ITEMS = [Item(id=f"m{number}", text=f"Ines drank coffee number {number}.", origin=f"m{number}") for number in range(4)]


class Script:
    """A chat that reads its answers from a list and remembers what it was asked."""

    def __init__(self, *answers: str, name: str = "script") -> None:
        self.name = name
        self.answers = list(answers)
        self.asked: list[tuple[str, float]] = []

    def reply(
        self, turns: Sequence[Turn], *, temperature: float, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> str:
        if not self.answers:
            raise UserError("the server is gone")
        self.asked.append((turns[-1].content, temperature))
        return self.answers.pop(0)


def test_an_unreadable_answer_is_asked_once_more_and_then_missing_never_a_number(tmp_path: Path) -> None:
    chat = Script('{"value": 3}', "three", '{"value": 4}', '{"value": 99}', "?", '{"value": 5}')
    batch = ask("importance", ITEMS, judge=chat, temperature=0.2, cache=tmp_path)
    assert [(line.item, line.value) for line in batch.labels] == [("m0", 3), ("m1", 4), ("m3", 5)]
    assert batch.asked == 4
    assert [warmth for _, warmth in chat.asked] == [0.2, 0.2, 0.5, 0.2, 0.5, 0.2]


def test_a_killed_run_repeats_no_call_and_comes_to_the_same_labels(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the server is gone"):
        ask("importance", ITEMS, judge=Script('{"value": 3}', "x", "y"), temperature=0.2, cache=tmp_path)
    rest = Script('{"value": 7}', '{"value": 8}')
    batch = ask("importance", ITEMS, judge=rest, temperature=0.2, cache=tmp_path)
    assert [question for question, _ in rest.asked] == [item.text for item in ITEMS[2:]]
    again = ask("importance", ITEMS, judge=Script(), temperature=0.2, cache=tmp_path)
    assert again == batch
    assert [line.value for line in again.labels] == [3, 7, 8]


def test_another_model_is_another_generation_of_labels(tmp_path: Path) -> None:
    ask("importance", ITEMS[:1], judge=Script('{"value": 3}'), temperature=0.2, cache=tmp_path)
    other = ask("importance", ITEMS[:1], judge=Script('{"value": 9}', name="other"), temperature=0.2, cache=tmp_path)
    assert [line.value for line in other.labels] == [9]
    assert other.labels[0].by == f"other@{prompt_of('importance')[1]}"


def test_relevance_shows_what_was_said_and_the_memory(tmp_path: Path) -> None:
    chat = Script('{"value": 1}')
    item = Item(id="r1/m1", text="why the drops at four", pair="The dairy rinses at four.", origin="r1")
    ask("relevance", [item], judge=chat, temperature=0.2, cache=tmp_path)
    assert chat.asked[0][0] == "Said: why the drops at four\nMemory: The dairy rinses at four."


@pytest.mark.parametrize("task", HEADS)
def test_every_task_has_a_prompt_that_shows_the_form_of_the_answer(task: Any) -> None:
    text, version = prompt_of(task)
    assert '{"value": ' in text
    assert len(version) == 8
