"""Rows of Parquet files, batch by batch. Knows columns only as keys."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, BinaryIO

from nightgarden.curation.sources.archives import Damaged
from nightgarden.curation.sources.parsing import Malformed
from nightgarden.jsonl import encode

BATCH = 1000
"""Rows that are in memory together."""
BUFFER = 1 << 20
"""Bytes of a column that are read at once; without it a whole row group would be."""

Row = tuple[int, bytes, Any, str | None]
"""Number, the row as JSON, its value, and why there is none."""


def parquet_rows(file: BinaryIO) -> Iterator[Row]:
    """Every row; where a row group breaks off, each of its other rows comes out with that fault.

    A column that is empty in a row is no key of it. Dates, decimals and bytes become texts when the row is written.

    Raises:
        Damaged: the file is no Parquet file, or its end is missing: without that no row can be found.
    """
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.ParquetFile(file, buffer_size=BUFFER, pre_buffer=False)
    except (pyarrow.ArrowException, OSError) as error:
        raise Damaged(f"no Parquet table: {_line(error)}") from error
    number = 0
    for group in range(table.num_row_groups):
        last = number + table.metadata.row_group(group).num_rows
        try:
            for batch in table.iter_batches(BATCH, row_groups=[group]):
                for fields in _fields(batch):
                    number += 1
                    yield row(number, fields)
        except (pyarrow.ArrowException, OSError) as error:
            fault = f"row group {group + 1} of {table.num_row_groups} breaks off here: {_line(error)}"
            yield from ((number, b"", None, fault) for number in range(number + 1, last + 1))
            number = last


def _line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")


def _fields(batch: Any) -> Iterator[dict[str, Any] | Malformed]:
    """The rows of a batch; one by one where a text among them is not UTF-8."""
    try:
        return iter(batch.to_pylist())
    except UnicodeDecodeError:
        return (_one(batch.slice(number, 1)) for number in range(batch.num_rows))


def _one(batch: Any) -> Any:
    try:
        return batch.to_pylist()[0]
    except UnicodeDecodeError:
        return Malformed("a text that is not UTF-8")


def row(number: int, fields: Any) -> Row:
    """A row whose fields are Python values, or the reason why they are not."""
    try:
        if isinstance(fields, Malformed):
            raise fields
        value = _as_json(fields)
    except Malformed as error:
        return number, b"" if isinstance(fields, Malformed) else encoded(fields), None, str(error)
    return number, encoded(value), value, None


def _as_json(value: Any) -> Any:
    """The value without keys that hold null: a table has every column in every row."""
    if isinstance(value, dict):
        return {key: _as_json(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise Malformed(f"{'NaN' if math.isnan(value) else 'Infinity'} is no JSON number")
    return value


def encoded(value: Any) -> bytes:
    """A row as JSON: what its quarantine shows."""
    try:
        return encode(value)
    except TypeError:  # a kind of value that JSON has no text for
        return repr(value).encode()[:1000]
