"""Rows of Parquet files, batch by batch. Knows columns only as keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nightgarden.errors import UserError
from nightgarden.jsonl import encode

BATCH = 1000
"""Rows that are in memory together."""


def parquet_rows(path: Path) -> Iterator[tuple[int, bytes, Any, str | None]]:
    """Row number, the row as JSON, its value, and no fault; a column that is empty in a row is no key of it.

    Raises:
        UserError: the file is no Parquet file, or breaks off.
    """
    import pyarrow.parquet
    from pyarrow.lib import ArrowInvalid

    try:
        with pyarrow.parquet.ParquetFile(path) as table:
            number = 0
            for batch in table.iter_batches(batch_size=BATCH):
                for row in batch.to_pylist():
                    number += 1
                    value = without_nulls(row)
                    yield number, encode(value), value, None
    except ArrowInvalid as error:
        raise UserError(f"cannot read {path} as Parquet: {error}. Fetch the file again, or convert it to .jsonl.") from error


def without_nulls(value: Any) -> Any:
    """The value without keys whose value is null: a table has every column in every row."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value
