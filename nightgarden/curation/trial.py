"""What curation would do to one file, told without writing anything into the checkout.

The same readers and rules as the stages, on the file alone: rows of the seed that might be near-copies
of its rows are not looked at.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from nightgarden.curation.accounts import pass_order
from nightgarden.curation.annotate import BEYOND_ONE_ROW, find_with_canaries, prompts_for
from nightgarden.curation.decide import Decider, Judged, decide, losing
from nightgarden.curation.ingest import Intake, Source
from nightgarden.curation.sources.reading import read_rows
from nightgarden.jsonl import read_lines
from nightgarden.params import Curation, Params
from nightgarden.records import Example

SOURCE = "trial"


def try_file(path: Path, params: Params, root: Path) -> dict[str, Any]:
    """Count what each rule would take from a file whose rows are taken as op 0 (rows of ours keep their own op).

    Returns:
        `rows` read, `quarantined`, `merged` into equal ones, `kept` after all passes in their order, and `rules`:
        rows that each rule would take if it were the only one.

    Raises:
        UserError: the file is missing, unreadable, of an unknown kind, or holds no row.
        Refusal: a rule failed on its canaries.
    """
    curation = params.curation
    order = pass_order(curation)
    for rule in order:
        settings = curation.rules.of(rule)
        find_with_canaries(rule, [], settings, prompts_for(rule, settings, root))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        intake = Intake(folder)
        intake.read(Source(path.name, SOURCE, 0, keeps_own=True), read_rows(path))
        report, _ = intake.write(folder)
        outcome = decide(_judged(folder / "examples.jsonl", curation, root), order, curation, root)
        for rule in BEYOND_ONE_ROW:
            outcome.alone[rule] = len(losing(rule, folder / "examples.jsonl", curation))
    return {
        "rows": report["rows_in"],
        "quarantined": report["quarantined"],
        "merged": report["merged"],
        "kept": sum(outcome.kept),
        "rules": {rule: outcome.alone[rule] for rule in order},
    }


def _judged(path: Path, curation: Curation, root: Path) -> Iterator[Judged]:
    decider, decoder = Decider(curation, root), msgspec.json.Decoder(Example)
    for line in read_lines(path):
        row = decoder.decode(line)
        yield Judged(line, row.op, row.id, decider.hits(row).keys())
