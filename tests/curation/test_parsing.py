"""The quick decoder gives what the strict one gives, or leaves the question open."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightgarden.curation.sources import parsing
from nightgarden.curation.sources.parsing import Malformed, parse


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


@pytest.mark.parametrize("raw", [b'{"a":1,"a":2}', b'{"a" :1,"a":2}', b'{"a":"\\":","a":2}', b'{"a":{"b":1},"a":2}'])
def test_a_key_that_stands_twice_is_never_readquickly(raw: bytes) -> None:
    assert parsing.quickly(raw) is parsing.OPEN
    with pytest.raises(Malformed, match="a key stands twice"):
        parse(raw)


def test_an_ordinary_row_is_readquickly() -> None:
    raw = json.dumps({"conversations": [{"from": "human", "value": "Hé?"}], "id": 7}, ensure_ascii=False).encode()
    assert parsing.quickly(raw) == json.loads(raw)
