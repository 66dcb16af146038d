"""Arrays are split element by element, and a broken element costs no other."""

import json
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgarden.curation.sources.arrays import Element, elements

ROWS = [{"instruction": f"say {n}", "input": "", "output": f'{{{n}}} [said], "twice"'} for n in range(6)]
PRETTY = json.dumps(ROWS, indent=2)
COMPACT = json.dumps(ROWS)

scalars = st.none() | st.booleans() | st.integers() | st.text()
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))


def split(text: str) -> list[Element]:
    return list(elements(BytesIO(text.encode())))


def whole(found: list[Element]) -> list[Any]:
    return [element.value for element in found if element.fault is None]


@given(rows=st.lists(values, max_size=5), indent=st.sampled_from([None, 0, 2]), ascii_only=st.booleans())
def test_every_element_of_a_whole_array_comes_out_as_json_reads_it(rows: list[Any], indent: int | None, ascii_only: bool) -> None:
    found = split(json.dumps(rows, indent=indent, ensure_ascii=ascii_only))
    assert [element.fault for element in found] == [None] * len(rows)
    assert whole(found) == rows
    assert [element.number for element in found] == list(range(1, len(rows) + 1))


DAMAGE = {
    "a missing quote at the end of a text": ('say 2"', "say 2"),
    "a missing quote before a key": ('"output": "{2}', 'output": "{2}'),
    "a missing comma": ('"say 2",', '"say 2"'),
    "a bare word": ('"say 2"', "say_2"),
    "single quotes": ('"say 2"', "'say 2'"),
    "a missing closing brace": ('{2} [said], \\"twice\\""\n  }', '{2} [said], \\"twice\\""\n'),
    "a closing bracket in its place": ('{2} [said], \\"twice\\""\n  }', '{2} [said], \\"twice\\""\n  ]'),
    "an extra closing brace": ('{2} [said], \\"twice\\""\n  }', '{2} [said], \\"twice\\""\n  }}'),
    "a missing opening brace": ('  {\n    "instruction": "say 2"', '    "instruction": "say 2"'),
    "an extra opening brace": ('"say 2"', '{"say 2"'),
    "cut off in the middle": ('"say 2",\n    "input": "",\n    "output": "{2} [said], \\"twice\\""\n  },', '"sa'),
    "a raw line break in a text": ('"say 2"', '"say\n2"'),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_one_broken_element_of_a_pretty_array_is_one_fault_and_the_others_survive(damage: str) -> None:
    before, after = DAMAGE[damage]
    assert before in PRETTY
    found = split(PRETTY.replace(before, after))
    assert whole(found) == [*ROWS[:2], *ROWS[3:]]
    assert [element.number for element in found if element.fault] == [3]


@pytest.mark.parametrize(
    ("before", "after"),
    [('say 2"', "say 2"), ('"say 2",', '"say 2"'), ('say 2", "input": ""', "sa"), ('{2} [said], \\"twice\\""}', '{2}"')],
)
def test_one_broken_element_on_a_single_line_costs_no_other(before: str, after: str) -> None:
    assert before in COMPACT
    found = split(COMPACT.replace(before, after))
    assert whole(found) == [*ROWS[:2], *ROWS[3:]]
    assert sum(element.fault is not None for element in found) == 1


def test_an_array_that_was_cut_off_says_so_whether_inside_a_row_or_between_two() -> None:
    inside, between = split(PRETTY[: PRETTY.index("say 4") + 3]), split(PRETTY[: PRETTY.index('  {\n    "instruction": "say 4')])
    assert whole(inside) == whole(between) == ROWS[:4]
    assert [element.fault for element in inside if element.fault] == ["not JSON: the file ends inside this element"]
    assert "never closed" in str(between[-1].fault)


def test_the_last_row_may_be_the_broken_one() -> None:
    found = split(PRETTY.replace('"say 5"', "say 5"))
    assert whole(found) == ROWS[:5]
    assert len(found) == 6


def test_no_byte_of_a_broken_stretch_is_lost() -> None:
    broken = PRETTY.replace('"say 2"', "say 2")
    (fault,) = [element for element in split(broken) if element.fault]
    assert json.loads(fault.raw.replace(b"say 2", b'"say 2"')) == ROWS[2]


def test_rows_that_are_no_objects_are_elements_of_their_own() -> None:
    assert whole(split('[null, 5, "text, with ] in it", [1, {"a": "]"}], {"a": 1}]')) == [
        None,
        5,
        "text, with ] in it",
        [1, {"a": "]"}],
        {"a": 1},
    ]


def test_what_stands_behind_the_end_of_the_array_is_not_lost() -> None:
    found = split('[{"a": 1}] trailing words')
    assert whole(found) == [{"a": 1}]
    assert found[-1].raw == b"trailing words"
    assert found[-1].fault


def test_an_element_larger_than_the_buffer_is_read_whole() -> None:
    rows = [{"a": "x" * 3_000_000}, {"a": "\\" * 1_500_000 + '"'}, {"a": "end"}]
    assert whole(split(json.dumps(rows))) == rows
