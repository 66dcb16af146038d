"""Rows of Hugging Face datasets, streamed: found by `datasets`, wherever they lie, and read one at a time.

Of Parquet files `datasets` streams the rows. JSON files it would read in bulk: an array of 300 MB takes 2.8 GB of
memory, a repeated key is settled in silence, and one broken line loses the file. So those are read by `reading.py`,
as bytes that `datasets` streams.
Tried on local folders of Parquet and JSON files, and over HTTP against a stand-in for the hub; the hub itself was out
of reach where this was written. Two datasets that the bootstrap op is made for are known by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import NamedTuple

from nightgarden.curation.sources.reading import RawRow, rows_in
from nightgarden.curation.sources.tables import row
from nightgarden.errors import UserError


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
    named = set(datasets)
    given = {name for name, known in KNOWN.items() if {name, known.repo} & named}
    return [
        f"{name} holds the rows of {part} too: equal rows are merged by their content, and one source would do"
        for name in sorted(given)
        for part in KNOWN[name].contains
        if part in given
    ]


def hub_rows(dataset: str, root: Path, *, revision: str | None, config: str | None, split: str) -> Iterator[RawRow]:
    """Every row, streamed, numbered through all files; one that stands in a single JSON file has its line and offset.

    Args:
        dataset: a known name, a hub id, or a folder below `root`.
        root: the checkout.
        revision: commit of the hub's repository; None for a folder, or for the commit that is known of a known name.
        config: name of a configuration, if there are several.
        split: which split.

    Raises:
        UserError: it cannot be reached, holds no such split, breaks off, or no commit of it is named.
    """
    from datasets import load_dataset_builder
    from datasets.exceptions import DatasetsError
    from httpx import HTTPError

    repo = repo_of(dataset)
    folder = root / repo
    revision = revision or (KNOWN[dataset].revision if dataset in KNOWN else None)
    if revision is None and not folder.is_dir():
        raise UserError(
            f"the dataset {repo} is no folder here and no commit of it is named; give `revision`, 40 hex digits, under "
            "curation.sources in params.yaml: a branch would stand for other rows tomorrow."
        )
    try:
        builder = load_dataset_builder(str(folder) if folder.is_dir() else repo, name=config, revision=revision)
        files = (builder.config.data_files or {}).get(split, [])
        if files and type(builder).__module__.endswith(".json.json"):
            yield from _json_rows(files)
            return
        stream = builder.as_streaming_dataset(split=split).decode(False)
        yield from (RawRow(*row(number, fields)) for number, fields in enumerate(stream, 1))
    except (DatasetsError, HTTPError, OSError, ValueError) as error:
        raise UserError(
            f"cannot stream the dataset {repo}: {str(error):.300}. Check the name, `revision` and `split` under "
            "curation.sources in params.yaml, and the network; or fetch its file yourself and give `path`."
        ) from error


def _json_rows(files: list[str]) -> Iterator[RawRow]:
    """Rows of JSON files at paths or addresses; of several files the rows are counted through."""
    from datasets.utils.file_utils import xopen

    if len(files) == 1:
        yield from rows_in(files[0], partial(xopen, files[0], "rb"))
        return
    numbers = count(1)
    for file in files:
        for found in rows_in(file, partial(xopen, file, "rb")):
            yield found._replace(line=next(numbers), offset=None)
