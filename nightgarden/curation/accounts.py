"""The law of conservation: every row that goes in comes out in exactly one place.

Knows ids and counts, nothing of rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from nightgarden.errors import Refusal
from nightgarden.params import Curation
from nightgarden.records import OPS, Dropped, Example

Report = dict[str, float | int | str]


def settle(stage: str, rows_in: Iterable[str], **parts: Iterable[str]) -> None:
    """Check that the parts share out the rows that came in, by id: none lost, none new, none twice.

    Raises:
        Refusal: they do not; names counts and up to three ids. Call it before anything is written.
    """
    before = Counter(rows_in)
    after = Counter(id_ for ids in parts.values() for id_ in ids)
    wrong = sorted(id_ for id_ in before.keys() | after.keys() if before[id_] != 1 or after[id_] != 1)
    if wrong:
        raise Refusal(
            f"{stage}: {before.total()} rows in, {after.total()} accounted for as {' + '.join(parts)}; {len(wrong)} ids do not "
            f"stand exactly once on both sides, such as {', '.join(wrong[:3])}. Nothing was published. "
            "This is a fault of the stage, not of your data: please report it."
        )


def pass_order(curation: Curation) -> list[str]:
    """The passes in their order, from ingest to the last."""
    after = {item.prev: rule for rule, item in curation.passes.items()}
    order, current = [], "ingest"
    while current in after:
        current = after[current]
        order.append(current)
    return order


def count_by_op(rows: Iterable[Example]) -> list[int]:
    """Rows per op, one number for each of OPS."""
    counts = Counter(row.op for row in rows)
    return [counts[op] for op in range(len(OPS))]


def is_outside(row: Example) -> bool:
    """Whether the row came from a file that was taken as a whole under one op: loss budgets do not hold it."""
    return row.meta.get("outside") is True


def pass_report(rows: list[Example], kept: list[Example], dropped: list[Dropped]) -> Report:
    """Counts of one pass: in all, per op, and per op for seed rows only (`op0_seed_in`)."""
    report: Report = {"rows_in": len(rows), "kept": len(kept), "dropped": len(dropped)}
    gone = {line.id for line in dropped}
    for op in range(len(OPS)):
        of_op = [row for row in rows if row.op == op]
        seed = [row for row in of_op if not is_outside(row)]
        report[f"op{op}_in"] = len(of_op)
        report[f"op{op}_dropped"] = sum(row.id in gone for row in of_op)
        report[f"op{op}_seed_in"] = len(seed)
        report[f"op{op}_seed_dropped"] = sum(row.id in gone for row in seed)
    return report
