"""Rows of Hugging Face datasets, streamed.

Tried on local folders of Parquet files, with the same `datasets` calls; the hub itself was out of reach where
this was written. Two datasets that the bootstrap op is made for are known by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from nightgarden.curation.sources.tables import without_nulls
from nightgarden.errors import UserError
from nightgarden.jsonl import encode


class Known(NamedTuple):
    """What is known of a dataset on the hub."""

    repo: str
    revision: str
    """Commit that is read where params.yaml names no other."""
    rows: int
    licence: str
    contains: tuple[str, ...] = ()
    """Names of known datasets whose rows stand in this one too."""


KNOWN: dict[str, Known] = {
    "openhermes-2.5": Known(
        repo="teknium/OpenHermes-2.5",
        revision="05c3557e57b6dd1d0e0cb8369ba53b43e15fd10b",
        rows=1_001_551,
        licence="none on its card; its parts have terms of their own",
        contains=("slimorca",),
    ),
    "slimorca": Known(
        repo="Open-Orca/SlimOrca", revision="ce9ed009ef3292bac33d3520afaf5ec804066120", rows=517_982, licence="MIT"
    ),
}
"""By name; rows and licences as their cards told in 2026, revisions as public projects pinned and read them that year."""


def repo_of(dataset: str) -> str:
    """The hub's id, or the folder, of a dataset."""
    return KNOWN[dataset].repo if dataset in KNOWN else dataset


def overlaps(datasets: Iterable[str]) -> list[str]:
    """Sentences about datasets that are given together though one holds the other."""
    given = {name for name, known in KNOWN.items() if {name, known.repo} & set(datasets)}
    return [
        f"{name} holds the rows of {part} too: equal rows are merged by their content, and one source would do"
        for name in sorted(given)
        for part in KNOWN[name].contains
        if part in given
    ]


def hub_rows(dataset: str, root: Path, *, revision: str | None, config: str | None, split: str) -> Iterator[Any]:
    """Values of every row, streamed; a column that is empty in a row is no key of it.

    Args:
        dataset: a known name, a hub id, or a folder below `root`.
        root: the checkout.
        revision: commit of the hub's repository; None for a folder, or for the commit that is known of a known name.
        config: name of a configuration, if there are several.
        split: which split.

    Raises:
        UserError: it cannot be reached, holds no such split, or no commit of it is named.
    """
    from datasets import load_dataset
    from datasets.exceptions import DatasetsError

    repo = repo_of(dataset)
    folder = root / repo
    path = str(folder) if folder.is_dir() else repo
    revision = revision or (KNOWN[dataset].revision if dataset in KNOWN else None)
    if revision is None and not folder.is_dir():
        raise UserError(
            f"the dataset {repo} is no folder here and no commit of it is named; give `revision`, 40 hex digits, under "
            "curation.sources in params.yaml: a branch would stand for other rows tomorrow."
        )
    try:
        stream = load_dataset(path, name=config, split=split, revision=revision, streaming=True)
        for row in stream:
            yield without_nulls(row)
    except (DatasetsError, OSError, ValueError) as error:
        raise UserError(
            f"cannot stream the dataset {repo}: {str(error):.300}. Check the name, `revision` and `split` under "
            "curation.sources in params.yaml, and the network; or fetch its file yourself and give `path`."
        ) from error


def encoded(value: Any) -> bytes:
    """A row as JSON: what its quarantine shows."""
    try:
        return encode(value)
    except TypeError:  # pictures and sounds: no text of ours
        return repr(value).encode()[:1000]
