"""The values that a label may take, per task: one definition for checking and for the server's JSON schema.

Knows numbers and words only, nothing of items or models.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from nightgarden.records import Head, Reaction

Ten = Annotated[int, Meta(ge=1, le=10)]
Percent = Annotated[int, Meta(ge=0, le=100)]
Bit = Annotated[int, Meta(ge=0, le=1)]


class Feelings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How strongly each feeling is present, 0 (not at all) to 100."""

    joy: Percent
    sadness: Percent
    frustration: Percent
    anxiety: Percent
    curiosity: Percent
    affection: Percent


# Integers everywhere: llama.cpp enforces their limits, but let a `number` of 0 to 1 through as 10.
SCALES: dict[Head, Any] = {
    "importance": Ten,
    "appraisal": Feelings,
    "reaction": Reaction,
    "relevance": Bit,
    "interest": Percent,
}


def fault(task: Head, value: Any) -> str | None:
    """What is wrong with a label's value, or None."""
    try:
        msgspec.convert(value, SCALES[task])
    except msgspec.ValidationError as error:
        return f"{value!r} is no {task}: {error}"
    return None


def answer_schema(task: Head) -> dict[str, Any]:
    """JSON schema of a teacher's answer: an object with the one key `value`."""
    schema = msgspec.json.schema(SCALES[task])
    if "$ref" in schema:
        schema = schema["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    return {"type": "object", "properties": {"value": schema}, "required": ["value"], "additionalProperties": False}


def read_answer(task: Head, text: str) -> Any | None:
    """The value in a teacher's reply; None when it is not exactly what was asked for, never a guess."""
    try:
        answer = msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:
        return None
    value = answer.get("value")
    return value if set(answer) == {"value"} and fault(task, value) is None else None
