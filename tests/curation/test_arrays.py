"""Arrays are split element by element, and a broken element costs no other."""

import json
import re
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nightgarden.curation.sources import arrays, layout
from nightgarden.curation.sources.archives import CutOff
from nightgarden.curation.sources.arrays import Element, elements
from nightgarden.curation.sources.parsing import quickly
from nightgarden.curation.sources.shapes import ROW_KEYS

ROWS = [{"instruction": f"say {n}", "input": "", "output": f'{{{n}}} [said], "twice"'} for n in range(6)]
PRETTY = json.dumps(ROWS, indent=2)
COMPACT = json.dumps(ROWS)

scalars = st.none() | st.booleans() | st.integers() | st.text()
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))


def split(text: str) -> list[Element]:
    return list(elements(BytesIO(text.encode()), ROW_KEYS))


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


MANY = [{"instruction": f"say {n}", "input": "", "output": f'{{{n}}} [said], "twice"'} for n in range(30)]
INDENTS = (None, 0, 2, 4)
KINDS: dict[str, Callable[[str], str]] = {
    "cut off": lambda text: text[: len(text) // 2],
    "no closing brace": lambda text: text.rstrip()[:-1],
    "no opening brace": lambda text: text[1:],
    "a brace too many": lambda text: text + "}",
    "no quote": lambda text: text.replace('"instruction": "', '"instruction": '),
    "no quote before a key": lambda text: text.replace('"output"', 'output"'),
    "single quotes": lambda text: text.replace('"', "'"),
    "a lone brace": lambda text: "{",
    "a lone bracket": lambda text: "[",
    "half a key": lambda text: '{"instr',
    "bare words": lambda text: "@@ words",
    "a raw line break": lambda text: text.replace('"instruction": "', '"instruction": "now\n'),
    "a number": lambda text: "42",
    "null": lambda text: "null",
    "a text": lambda text: '"hello"',
    "a list": lambda text: "[1, 2]",
}
REACHING = {"cut off", "no closing brace", "no quote", "a lone brace", "a lone bracket", "half a key", "a raw line break"}
"""Their end is nowhere to be seen without lines to go by."""
NO_ROW_TO_SEE = {"single quotes", "a lone brace", "a lone bracket", "half a key", "bare words"}
NO_ROW_TO_SEE |= {"a number", "null", "a text", "a list"}
"""Their beginning neither."""


def damaged(kinds: Mapping[int, str], indent: int | None, rows: list[Any] = MANY) -> str:
    """The rows as an array in which some are broken."""
    margin = "" if indent is None else "\n" + " " * indent
    texts = [json.dumps(row, indent=indent).replace("\n", margin) for row in rows]
    for number, kind in kinds.items():
        texts[number] = KINDS[kind](texts[number])
    return "[" + margin + (", " if indent is None else "," + margin).join(texts) + ("]" if indent is None else "\n]\n")


def is_open(kinds: Mapping[int, str], indent: int | None) -> bool:
    """Whether the text leaves open where one broken row ends and its neighbour begins."""
    for number, kind in kinds.items():
        neighbour = kinds.get(number + 1)
        if kind in {"no closing brace", "cut off"} and neighbour == "no opening brace":  # cut off behind a whole key
            return True
        if not indent and kind == neighbour == "bare words":
            return True
        if not indent and kind in REACHING and neighbour in NO_ROW_TO_SEE:
            return True
    return False


def check(kinds: Mapping[int, str], indent: int | None) -> None:
    """Broken rows are one element each, none of them a row, and every other row is there."""
    found = split(damaged(kinds, indent))
    taken = [element.value for element in found if element.fault is None and isinstance(element.value, dict)]
    assert taken == [row for number, row in enumerate(MANY) if number not in kinds]
    assert len(found) == len(MANY)


five = st.dictionaries(st.integers(0, len(MANY) - 1), st.sampled_from(sorted(KINDS)), min_size=5, max_size=5)


@settings(max_examples=400, deadline=None)
@given(kinds=five, indent=st.sampled_from(INDENTS))
def test_any_five_broken_rows_are_five_faults_and_cost_no_other(kinds: dict[int, str], indent: int | None) -> None:
    assume(not is_open(kinds, indent))
    check(kinds, indent)


@pytest.mark.parametrize("indent", INDENTS)
@pytest.mark.parametrize("place", [0, 29], ids=["first", "last"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_broken_row_at_either_end_is_one_fault(kind: str, place: int, indent: int | None) -> None:
    check({place: kind}, indent)


@pytest.mark.parametrize("indent", INDENTS)
@pytest.mark.parametrize("first", [0, 10, 28])
def test_two_broken_neighbours_of_any_kind_are_two_faults(first: int, indent: int | None) -> None:
    for kind in KINDS:
        for neighbour in KINDS:
            kinds = {first: kind, first + 1: neighbour}
            if not is_open(kinds, indent):
                check(kinds, indent)


@pytest.mark.parametrize(
    ("kind", "neighbour", "indent"),
    [("no closing brace", "a number", None), ("cut off", "bare words", None), ("no closing brace", "no opening brace", 2)],
)
def test_two_broken_neighbours_that_read_as_one_are_one_fault_and_cost_no_whole_row(
    kind: str, neighbour: str, indent: int | None
) -> None:
    found = split(damaged({10: kind, 11: neighbour}, indent))
    assert whole(found) == MANY[:10] + MANY[12:]
    assert len(found) == 29


@pytest.mark.parametrize("indent", INDENTS)
def test_rows_of_another_shape_behind_a_broken_one_are_found(indent: int | None) -> None:
    chats = [{"messages": [{"role": "user", "content": f"say {n}"}, {"role": "assistant", "content": "said"}]} for n in range(5)]
    found = split(damaged({4: "cut off"}, indent, [*MANY[:5], *chats]))
    assert whole(found) == [*MANY[:4], *chats]
    assert len(found) == 10


def test_an_object_inside_a_broken_row_never_becomes_a_row() -> None:
    rows = [{"id": n, "first": MANY[n], "messages": [{"role": "user", "content": "say"}]} for n in range(4)]
    found = split(json.dumps(rows).replace('"say 0"', "say 0"))
    assert whole(found) == rows[1:]
    assert len(found) == 4


def test_three_hundred_rows_without_a_closing_brace_are_not_three_hundred_searches_through_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched = 0

    def counted(buffer: bytes, start: int, stop: int | None = None, depth: int = 0) -> int | None:
        nonlocal searched
        end = layout.value_end(buffer, start, stop, depth)
        searched += (min(stop or len(buffer), len(buffer)) if end is None else end) - start
        return end

    monkeypatch.setattr(arrays, "value_end", counted)
    text = json.dumps(MANY[0] | {"output": "x" * 2000})
    array = "[" + ", ".join([text, text[:-1]] * 300 + [text]) + "]"
    found = split(array)
    assert (len(whole(found)), len(found)) == (301, 601)
    assert searched < 300 * (2 * arrays.FIRST_REACH + 4000) < 300 * len(array) / 2


chats = st.builds(
    lambda ask, answer, more: {"conversations": [{"from": "human", "value": ask}, {"from": "gpt", "value": answer}], **more},
    st.text(),
    st.text() | st.just('"}, {"conversations": ['),
    st.dictionaries(st.text(max_size=3), scalars, max_size=2),
)
mixed = st.lists(st.sampled_from(MANY) | chats | values, max_size=12)


@settings(max_examples=200, deadline=None)
@given(
    rows=mixed,
    broken=st.dictionaries(st.integers(0, 11), st.sampled_from(sorted(KINDS)), max_size=3),
    indent=st.sampled_from(INDENTS),
)
def test_the_seam_between_rows_finds_what_looking_into_every_string_finds(
    rows: list[Any], broken: dict[int, str], indent: int | None
) -> None:
    text = damaged({number: kind for number, kind in broken.items() if number < len(rows)}, indent, rows)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(layout.Seam, "end", lambda self, buffer, at: None)
        looked_into = split(text)
    assert split(text) == looked_into


def test_the_rows_of_a_plain_file_are_found_at_their_seams() -> None:
    for text in (json.dumps(MANY), json.dumps(MANY, indent=2)):
        seams = Counting()
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(layout, "quickly", seams)
            assert whole(split(text)) == MANY
        assert seams.times == len(MANY) - 3  # the first has nothing before it, the second is learnt from, the last none behind it


class Counting:
    """Counts the rows that were read where their seam showed their end."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, raw: bytes) -> Any:
        self.times += 1
        return quickly(raw)


class Cut:
    """An archive of which only the first bytes are there."""

    def __init__(self, content: bytes, size: int) -> None:
        self.file = BytesIO(content[:size])

    def read(self, size: int) -> bytes:
        if not (found := self.file.read(size)):
            raise CutOff("the archive breaks off here")
        return found


@pytest.mark.parametrize("text", [PRETTY, COMPACT], ids=["pretty", "on one line"])
def test_wherever_an_archive_is_cut_off_every_row_before_is_there_and_one_fault_tells_it(text: str) -> None:
    content = text.encode()
    ends = [match.end() for match in re.finditer(rb'twice\\""\s*}', content)]
    for size in range(len(content) + 1):
        found = list(elements(Cut(content, size), ROW_KEYS))
        assert [element.fault for element in found if element.fault] == ["the archive breaks off here"], size
        assert whole(found) == ROWS[: sum(end <= size for end in ends)]
