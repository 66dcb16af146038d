"""The rows that a source of params.yaml names: of a file, or of a dataset."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from nightgarden.curation.sources.hub import hub_rows
from nightgarden.curation.sources.reading import RawRow, read_rows
from nightgarden.errors import UserError
from nightgarden.params import SourceSpec


def rows_of(spec: SourceSpec, root: Path) -> Iterator[RawRow]:
    """The rows of a source, from its start.

    Raises:
        UserError: it cannot be read, or holds no row.
    """
    if spec.path is not None:
        return islice(read_rows(root / spec.path), spec.rows)
    return islice(_dataset(spec, root), spec.rows)


def _dataset(spec: SourceSpec, root: Path) -> Iterator[RawRow]:
    row = None
    for row in hub_rows(str(spec.dataset), root, revision=spec.revision, config=spec.config, split=spec.split):
        yield row
    if row is None:
        raise UserError(f"the dataset {spec.place} holds no row; give another `split` in params.yaml.")
