"""What curation would do to one file, told without writing anything.

The same readers and rules as the stages, on the file alone: rows of the seed that might be near-copies
of its rows are not looked at.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nightgarden.curation.accounts import pass_order
from nightgarden.curation.annotate import find_with_canaries, prompts_for
from nightgarden.curation.filter import to_drop
from nightgarden.curation.ingest import Intake
from nightgarden.curation.sources.reading import read_rows
from nightgarden.params import Params
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
    intake = Intake()
    for row in read_rows(path):
        ours = isinstance(row.value, dict) and {"op", "messages"} <= row.value.keys()
        intake.take(row, path.name, SOURCE, None if ours else 0)
    rows = intake.sorted_examples()
    left: list[Example] = rows
    taken: dict[str, int] = {}
    for rule in pass_order(curation):
        settings = curation.rules.of(rule)
        hits = find_with_canaries(rule, rows, settings, prompts_for(rule, settings, root))
        taken[rule] = len(to_drop(rule, rows, hits))
        gone = to_drop(rule, left, hits)
        left = [example for example in left if example.id not in gone]
    return {
        "rows": len(intake.places),
        "quarantined": len(intake.quarantined),
        "merged": intake.merged,
        "kept": len(left),
        "rules": taken,
    }
