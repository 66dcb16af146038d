"""Which of the rows that are gone and of those that came are one row."""

from hypothesis import given
from hypothesis import strategies as st

from nightgarden.curation.pairing import MAX_SOUGHT, is_sought, lineage, pairs
from nightgarden.records import Example
from tests.curation.rows import example

TEXT = "Bake it first, let it go cold, cut it into squares and wrap each one by itself"


def repaired(answer: str, parent: str) -> Example:
    return example(answer, meta={"edits": [{"rule": "exclamation", "parent": parent}]})


def hows(gone: list[Example], come: list[Example]) -> list[tuple[str, str, str]]:
    return [(pair.old.id, pair.new.id, pair.how) for pair in pairs(gone, come)]


def test_the_same_content_under_another_op_is_one_row() -> None:
    old, new = example(TEXT, op=0), example(TEXT, op=2)
    assert hows([old], [new]) == [(old.id, new.id, "from op 0 to op 2")]


def test_a_repair_is_known_by_its_parent_and_by_a_parent_in_common_however_unlike_they_are() -> None:
    origin, calm, loud = example("Yes!", ask="Is it?"), repaired("Snow lies on the pass.", ""), example("Quite.")
    calm = repaired("Snow lies on the pass.", origin.id)
    other = repaired("Ice hangs in the gully until May.", origin.id)
    assert lineage(calm) == [calm.id, origin.id]
    for old, new in ((origin, calm), (calm, origin), (calm, other)):
        assert hows([old, loud], [new]) == [(old.id, new.id, "repaired by exclamation")]


def test_rows_of_one_op_that_share_enough_are_one_the_most_alike_first() -> None:
    old = example(TEXT, ask="How do I freeze a lasagne?")
    near = example(TEXT + " today", ask="How do I freeze a lasagne?")
    far = example(TEXT + ", and label them with the date", ask="How do I freeze a lasagne?")
    ((one, two, how),) = hows([old], [far, near])
    assert (one, two) == (old.id, near.id) and how.endswith("of their 3-grams in common")
    assert hows([old], [example(TEXT, ask="Something else entirely, at length, and in other words", op=1)]) == []


def test_a_question_that_one_row_of_each_side_asks_makes_them_one_and_a_stock_question_does_not() -> None:
    old, new = example("Yes.", ask="Shall I?"), example("Only when the frost is out of the ground.", ask="Shall I?")
    assert hows([old], [new]) == [(old.id, new.id, "the same question")]
    again = example("Never in a wet year, says the neighbour.", ask="Shall I?")
    assert hows([old], [new, again]) == []


def test_above_a_number_of_rows_likeness_is_not_sought() -> None:
    assert is_sought(MAX_SOUGHT) and not is_sought(MAX_SOUGHT + 1)


rows = st.lists(
    st.builds(
        lambda ask, answer, op: example(answer, ask=ask, op=op),
        st.sampled_from(["Shall I?", "Is it cold?", "When do I sow?"]),
        st.sampled_from([TEXT, TEXT + " today", "Yes.", "No.", "In May."]),
        st.integers(0, 1),
    ),
    max_size=8,
    unique_by=lambda row: row.id,
)


@given(rows, rows)
def test_no_row_is_paired_twice_and_only_rows_of_either_side_are(gone: list[Example], come: list[Example]) -> None:
    known = {row.id for row in gone} & {row.id for row in come}
    gone, come = ([row for row in side if row.id not in known] for side in (gone, come))
    found = pairs(gone, come)
    for side, paired in ((gone, [pair.old for pair in found]), (come, [pair.new for pair in found])):
        assert len({row.id for row in paired}) == len(paired)
        assert {row.id for row in paired} <= {row.id for row in side}
    assert len(found) == len(pairs(come, gone)), "it does not matter which revision is named first"
