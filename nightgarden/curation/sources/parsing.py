"""Strict JSON: one value, or the reason why a reader would have to guess.

Knows nothing of files or chat. Readers disagree about repeated keys, NaN and lone surrogates
(first wins, last wins, null, U+0000); here each is a fault with its name, never a choice.
"""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec

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
    if (quick := quickly(raw)) is not OPEN:
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


OPEN = object()
_DECODE = msgspec.json.Decoder().decode
_ENCODE = msgspec.json.Encoder().encode


def quickly(raw: bytes) -> Any:
    """The value by a faster decoder, or OPEN where only the strict one can tell.

    msgspec reads numbers, escapes and UTF-8 as `json` does, and refuses NaN, infinite floats and lone surrogates;
    repeated keys it takes. So its value counts only if, written again, it holds as many quotation marks as the text:
    a repeated key has two that the value has not. Only a mark that stands as `\\u0022` could make up for them.
    """
    try:
        value = _DECODE(raw)
        marks = _ENCODE(value).count(b'"')
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return OPEN
    if marks != raw.count(b'"') or (b"\\" in raw and b"\\u0022" in raw):
        return OPEN
    return OPEN if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and _is_deep(value) else value


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
        if not level:
            return False
    return True


def _refuse_surrogates(value: Any) -> None:
    """A half of a UTF-16 pair has no UTF-8 form: it cannot be written again."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise Malformed("a lone surrogate (half of a UTF-16 pair)") from error
