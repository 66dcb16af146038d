"""The quick decoder gives what the strict one gives, or leaves the question open."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightgarden.curation.sources import parsing
from nightgarden.curation.sources.parsing import Malformed, parse
from nightgarden.jsonl import encode


def strictly(raw: bytes) -> Any:
    """What the strict decoder makes of it: a value, or its fault."""
    quick, parsing.quickly = parsing.quickly, lambda raw: parsing.OPEN
    try:
        return parse(raw)
    except Malformed as error:
        return (type(error), str(error))
    finally:
        parsing.quickly = quick


def same(one: Any, two: Any) -> bool:
    """Equality that tells 1 from 1.0 and True."""
    return json.dumps(one) == json.dumps(two)


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
)
fragments = st.sampled_from(
    [
        b'{"a": 1}',
        b'{"a":1,"a":2}',
        b'{"a" : 1}',
        b'{"a"\n:1, "b":"x\\":"}',
        b"[1e999]",
        b"NaN",
        b'"\\ud83d"',
        b'"\\u00e9"',
        b"-0",
    ]
    + [
        b"12345678901234567890",
        b"1.2345678901234567890",
        b"0.1",
        b"[" * 120 + b"]" * 120,
        b"\xff",
        b'{"a": [{"b": 2}, {"b": 3}]}',
    ]
    + [
        b'"\\u0022"',
        b'{"\\u0022":"\\u0022"}',
        b'{"a":"\\\\","a":"\\""}',
        b"7" * 4300,
        b"7" * 4301,
        b"18446744073709551616",
        b"5e-324",
    ]
    + [b"01", b"1.", b'"a\tb"', b"  3 ", b"", b"tru", b'{"\\n": 1}', b"1E2", b"1e5", b"-1.50"]
)


@settings(max_examples=500, deadline=None)
@given(value=values, spaced=st.booleans(), ascii_only=st.booleans())
def test_any_value_that_json_can_write_is_read_alike(value: Any, spaced: bool, ascii_only: bool) -> None:
    raw = json.dumps(value, ensure_ascii=ascii_only, separators=(", ", " : ") if spaced else (",", ":")).encode(
        "utf-8", "replace"
    )
    quick, strict = parsing.quickly(raw), strictly(raw)
    assert quick is parsing.OPEN or same(quick, strict)


@settings(max_examples=500, deadline=None)
@given(
    parts=st.lists(fragments, min_size=1, max_size=3),
    glue=st.sampled_from([b"", b",", b" "]),
    wrap=st.sampled_from([b"%b", b"[%b]"]),
)
def test_broken_and_doubtful_texts_are_left_to_the_strict_decoder(parts: list[bytes], glue: bytes, wrap: bytes) -> None:
    raw = wrap.replace(b"%b", glue.join(parts))
    quick = parsing.quickly(raw)
    assert quick is parsing.OPEN or same(quick, strictly(raw))


REPEATED = [
    b'{"a":1,"a":2}',
    b'{"a" :1,"a":2}',
    b'{"a":"\\":","a":2}',
    b'{"a":{"b":1},"a":2}',
    b'{"a":1,"\\u0061":2}',
    b'{"a":1,"a":"\\u0022\\u0022"}',
    b'[{"a":"\\u0022","b":1,"b":"\\u0022"}]',
]


@pytest.mark.parametrize("raw", REPEATED)
def test_a_key_that_stands_twice_is_never_read_quickly(raw: bytes) -> None:
    assert parsing.quickly(raw) is parsing.OPEN
    with pytest.raises(Malformed, match="a key stands twice"):
        parse(raw)


def test_guard_out_an_escaped_mark_would_stand_for_the_one_of_a_repeated_key() -> None:
    raw = REPEATED[5]
    assert raw.count(b'"') == encode(json.loads(raw)).count(b'"')


ORDINARY = {
    "accents": "Hé?",
    "escapes": 'a "quoted" word, a \\ and a line\nbreak',
    "a list in code": "x = [y[i] for y in z[0]]; d = {}\n" * 60,
    "JSON in a text": '{"a": [1, {"b" : "c"}]}',
    "a colon behind a blank": "Voilà : c'est ça 😀",
}


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("text", ORDINARY.values(), ids=ORDINARY)
def test_an_ordinary_row_is_read_quickly(text: str, ascii_only: bool) -> None:
    raw = json.dumps({"conversations": [{"from": "human", "value": text}], "id": 7}, ensure_ascii=ascii_only).encode()
    assert parsing.quickly(raw) == json.loads(raw)
