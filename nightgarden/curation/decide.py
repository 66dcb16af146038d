"""What the passes would do to rows, all of them at once in this process: for a trial and for `whatif`.

The stages do the same one by one. Near-copies are sought among the rows that the passes before left, as in
the stage. Writes nothing but a file without a name.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from nightgarden.curation.accounts import keys, pass_order
from nightgarden.curation.annotate import BEYOND_ONE_ROW, Hits, judge_of, load, prompts_for
from nightgarden.params import Curation
from nightgarden.records import OPS, Example


class Judged(NamedTuple):
    """An encoded row and the rules that hit it; for rules beyond one row, hits among all rows."""

    line: bytes
    op: int
    id: str
    rules: Set[str]


@dataclass
class Outcome:
    """What the passes would take and leave."""

    order: Sequence[str]
    rows: int = 0
    taken: Counter[str] = field(default_factory=Counter)
    """Rows that each pass takes, in their order."""
    alone: Counter[str] = field(default_factory=Counter)
    """Rows that each rule would take if it were the only one."""
    kept: list[int] = field(default_factory=lambda: [0] * len(OPS))
    """Rows left, per op."""


class Decider:
    """Every rule that looks at one row."""

    def __init__(self, curation: Curation, root: Path) -> None:
        self.judges = {
            rule: judge_of(rule, settings, prompts_for(rule, settings, root))
            for rule in pass_order(curation)
            if rule not in BEYOND_ONE_ROW and (settings := curation.rules.of(rule)).enabled
        }

    def hits(self, row: Example) -> dict[str, Hits]:
        """The rules that hit a row, in the order of the passes, with all their hits."""
        return {rule: hits for rule, judge in self.judges.items() if (hits := judge(row))}


def decide(rows: Iterable[Judged], order: Sequence[str], curation: Curation) -> Outcome:
    """Send rows through the passes of `order`.

    Args:
        rows: by op and id.
        order: names of the passes; a rule that is left out takes nothing.
        curation: settings of the rules beyond one row.
    """
    outcome = Outcome(order)
    at = next((place for place, rule in enumerate(order) if rule in BEYOND_ONE_ROW), len(order))
    later: dict[str, str] = {}
    with tempfile.NamedTemporaryFile() as survivors:
        for row in rows:
            outcome.rows += 1
            outcome.alone.update(row.rules)
            taker = next((rule for rule in order[:at] if rule in row.rules), None)
            if taker is not None:
                outcome.taken[taker] += 1
                continue
            survivors.write(row.line + b"\n")
            if after := next((rule for rule in order[at + 1 :] if rule in row.rules), None):
                later[row.id] = after
        survivors.flush()
        path = Path(survivors.name)
        for rule in order[at : at + 1]:
            later |= dict.fromkeys(losing(rule, path, curation), rule)
        for op, id_ in keys(path):
            if id_ in later:
                outcome.taken[later[id_]] += 1
            else:
                outcome.kept[op] += 1
    return outcome


def losing(rule: str, path: Path, curation: Curation) -> Mapping[str, Hits]:
    """The rows of a file that a rule beyond one row would take."""
    settings = curation.rules.of(rule)
    found: Mapping[str, Hits] = load(rule).losers_of(path, settings) if settings.enabled else {}
    return found
