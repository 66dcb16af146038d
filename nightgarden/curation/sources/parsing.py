"""Strict JSON: one value, or the reason why a reader would have to guess.

Knows nothing of files or chat. Readers disagree about repeated keys, NaN and lone surrogates
(first wins, last wins, null, U+0000); here each is a fault with its name, never a choice.
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import orjson

MAX_DEPTH = 100
"""Levels of a row; decoders give up somewhere between 500 and 1,000, each at its own depth."""


class Malformed(Exception):  # noqa: N818 - a verdict on a row, caught where the row is quarantined
    """Why a row cannot be taken as it is."""


class NotJson(Malformed):
    """The text itself is broken, so its end may be in doubt as well."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise Malformed("a key stands twice in one object: which value is meant is unknown")
    return value


def _constant(name: str) -> Any:
    raise Malformed(f"{name} is no JSON number")


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise Malformed("a number too large for a float")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant, parse_float=_float)


def parse(raw: bytes) -> Any:
    """The JSON value of `raw`.

    Raises:
        Malformed: valid JSON that cannot be kept without a choice: a repeated key, NaN, a lone surrogate.
        NotJson: not UTF-8, or not JSON.
    """
    if (quick := _quickly(raw)) is not _OPEN:
        return quick
    try:
        value = _DECODER.decode(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise NotJson(f"byte {error.start} is not UTF-8") from error
    except json.JSONDecodeError as error:
        raise NotJson(f"not JSON: {error.msg.removesuffix(' at')} at character {error.pos}") from error
    except RecursionError as error:
        raise Malformed(f"nested more than {MAX_DEPTH} deep") from error
    except ValueError as error:  # int() refuses more than 4,300 digits
        raise Malformed("a number with too many digits") from error
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and _is_deep(value):
        raise Malformed(f"nested more than {MAX_DEPTH} deep")
    if b"\\u" in raw:
        _refuse_surrogates(value)
    return value


_OPEN = object()
_BLANK_COLONS = (b" :", b"\t:", b"\n:", b"\r:")
_EXACT = 2.0**63
"""A float from here on may be an integer that the faster decoder could not hold."""


def _quickly(raw: bytes) -> Any:
    """The value by a faster decoder, or _OPEN where only the strict one can tell.

    It takes repeated keys, so it counts only where there are none: every key ends in `":`, and the value has as
    many keys as the text has such ends. Escapes that may be surrogates, large numbers and deep nesting are left open.
    """
    if b"\\u" in raw or raw.count(b"[") + raw.count(b"{") > MAX_DEPTH or any(colon in raw for colon in _BLANK_COLONS):
        return _OPEN
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return _OPEN
    keys = _num_keys(value) if type(value) in _INSIDE else 0
    return value if keys == raw.count(b'":') else _OPEN


def _num_keys(value: Any) -> int:
    """Keys of all objects in a value; -1 or less where it holds a large float."""
    kind = type(value)
    if kind is dict:
        return len(value) + sum(_num_keys(item) for item in value.values() if type(item) in _INSIDE)
    if kind is list:
        return sum(_num_keys(item) for item in value if type(item) in _INSIDE)
    return -sys.maxsize if abs(value) >= _EXACT else 0


_INSIDE = frozenset({dict, list, float})


def _is_deep(value: Any) -> bool:
    """Whether objects and lists lie in each other more than MAX_DEPTH deep."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
    return bool(level)


def _refuse_surrogates(value: Any) -> None:
    """A half of a UTF-16 pair has no UTF-8 form: it cannot be written again."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise Malformed("a lone surrogate (half of a UTF-16 pair)") from error
