"""Equal content has an equal id; anything rendered changes it."""

from nightgarden.digests import example_id
from nightgarden.records import MemoryLine, Turn

TURNS = (Turn(role="user", content="Is the ferry running?"), Turn(role="assistant", content="Until nine."))
MEMORY = MemoryLine(type="semantic", text="Nora takes the ferry to work.")


def test_the_id_is_the_same_on_every_machine() -> None:
    assert example_id(0, TURNS, (), ()) == "2d397d4a4d3725e3d69e"


def test_composed_and_decomposed_letters_are_the_same_text() -> None:
    one = (Turn(role="user", content="Café"), TURNS[1])
    two = (Turn(role="user", content="Cafe\u0301"), TURNS[1])
    assert example_id(0, one, (), ()) == example_id(0, two, (), ())


def test_every_rendered_part_changes_the_id() -> None:
    base = example_id(3, TURNS, (MEMORY,), ("Short answers",))
    assert base != example_id(2, TURNS, (MEMORY,), ("Short answers",))
    assert base != example_id(3, TURNS[:1], (MEMORY,), ("Short answers",))
    assert base != example_id(3, TURNS, (), ("Short answers",))
    assert base != example_id(3, TURNS, (MEMORY,), ())
    corrected = MemoryLine(type="semantic", text=MEMORY.text, correction=True)
    assert base != example_id(3, TURNS, (corrected,), ("Short answers",))
