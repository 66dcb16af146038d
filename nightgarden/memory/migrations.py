"""Older day records, lifted to the current schema by numbered steps.

A step is written once and never edited afterwards: the files that it lifts are frozen. Knows the
shape of old lines; does not know where they come from or who reads them.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from nightgarden import clock, jsonl
from nightgarden.errors import UserError
from nightgarden.records import SCHEMA, DayRecord, Label

Line = dict[str, Any]
"""One decoded JSON line, still of any schema."""


def m002_times_in_utc(line: Line) -> Line:
    """Schema 1 -> 2: a local time with its offset becomes UTC and `offset_minutes`.

    `2026-09-07T08:12:00+02:00` becomes `2026-09-07T06:12:00Z` and 120, so that times sort as text and
    the wall clock of the day is kept. Labels carry no time and only change their number.

    Raises:
        ValueError: no time where one is needed, no offset, or a part smaller than a second.
    """
    if line.get("record") == "label":
        return line | {"schema": 2}
    text = line.get("at")
    if not isinstance(text, str):
        raise ValueError(f"`at` is {text!r}; a time with an offset is needed, like 2026-09-07T08:12:00+02:00")
    utc = clock.parse(text)
    offset = datetime.fromisoformat(text).utcoffset() or timedelta(0)
    minutes, rest = divmod(offset, timedelta(minutes=1))
    if utc.microsecond or rest:
        raise ValueError(f"`at` is {text!r}; times are kept in whole seconds and offsets in whole minutes")
    return line | {"schema": 2, "at": clock.iso(utc), "offset_minutes": minutes}


STEPS: dict[int, Callable[[Line], Line]] = {1: m002_times_in_utc}
"""By the schema that a step starts from; the next one is one higher."""


def lift(line: Line) -> Line:
    """The same line in the current schema.

    Raises:
        ValueError: no schema number, one that no step knows, or a line that its step cannot read.
    """
    version = line.get("schema")
    while version != SCHEMA:
        if not isinstance(version, int) or version not in STEPS:
            raise ValueError(
                f"schema {version!r} is unknown; this version reads {min(STEPS)} to {SCHEMA}. "
                "A line of a newer schema needs a newer nightgarden."
            )
        line = STEPS[version](line)
        version = line["schema"]
    return line


def read(path: Path) -> list[DayRecord | Label]:
    """Day records and labels of a file of any known schema, lifted, in the file's order.

    Raises:
        UserError: a line that does not parse, has an unknown schema or does not fit it; names file and line.
    """
    records: list[DayRecord | Label] = []
    for number, raw in enumerate(jsonl.read_lines(path), 1):
        try:
            records.append(msgspec.convert(lift(msgspec.json.decode(raw, type=Line)), DayRecord | Label))
        except (ValueError, msgspec.ValidationError) as error:
            raise UserError(f"{path}:{number}: {error} Repair the line and run the command again.") from error
    return records
