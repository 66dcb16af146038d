"""The `rebalance` stage: as many rows as the mix of ops allows, chosen by content id.

Once op 0 was about 70 % of the data and drowned the others. Outside rows and seed rows of an op are
equal here: only the id decides, so neither position nor source does.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from nightgarden.curation.accounts import Report, count_by_op, is_outside, pass_report, settle
from nightgarden.errors import Refusal
from nightgarden.jsonl import read, write, write_json
from nightgarden.params import Curation, RebalanceSettings
from nightgarden.records import OPS, Dropped, Example, Hit

log = logging.getLogger(__name__)

RULE = "rebalance"
ENGINE = "python/largest-remainder-1"


def apportion(total: int, shares: Sequence[float]) -> list[int]:
    """`total` rows in the given shares as whole numbers that sum to it, by the largest remainders."""
    counts = [int(total * share) for share in shares]
    remainders = sorted(range(len(shares)), key=lambda op: (counts[op] - total * shares[op], op))
    for op in remainders[: total - sum(counts)]:
        counts[op] += 1
    return counts


def quotas(available: Sequence[int], settings: RebalanceSettings) -> list[int]:
    """Rows to keep per op: the largest total whose shares every op can fill, at most `settings.rows`.

    Raises:
        Refusal: an op with a share has no rows.
    """
    empty = [op for op, share in enumerate(settings.shares) if share > 0 and available[op] == 0]
    if empty:
        raise Refusal(
            f"no rows left of op {', '.join(f'{op} ({OPS[op]})' for op in empty)}: the mix cannot be made. "
            "Look in reports/funnel.json where they went; add rows of that op to curation.sources, or set its share to 0."
        )
    total = min(int((have + 1) / share) for have, share in zip(available, settings.shares, strict=True) if share > 0)
    total = min(total, settings.rows or total)
    while any(want > have for want, have in zip(apportion(total, settings.shares), available, strict=True)):
        total -= 1
    return apportion(total, settings.shares)


def choose(rows: Sequence[Example], settings: RebalanceSettings) -> tuple[list[Example], list[Dropped]]:
    """Rows that stay, by op and id, and ledger lines of the others.

    Raises:
        Refusal: as `quotas`.
    """
    counts = count_by_op(rows)
    wanted = quotas(counts, settings)
    kept, dropped = [], []
    taken = [0] * len(OPS)
    for row in sorted(rows, key=lambda row: (row.op, row.id)):
        if taken[row.op] < wanted[row.op]:
            taken[row.op] += 1
            kept.append(row)
        else:
            reason = f"the mix takes {wanted[row.op]} of {counts[row.op]} rows of op {row.op}, in order of content id"
            hit = Hit(turn=-1, start=0, end=0, reason=reason)
            dropped.append(Dropped(id=row.id, op=row.op, rule=RULE, hits=(hit,), engine=ENGINE))
    settle(RULE, (row.id for row in rows), kept=(row.id for row in kept), dropped=(line.id for line in dropped))
    return kept, dropped


def rebalance(curation: Curation, root: Path) -> Report:
    """Cut the rows of the last pass to the mix; `op0_outside_dropped` counts outside rows that found no room.

    Raises:
        Refusal: as `quotas`; nothing is written then.
    """
    rows: list[Example] = list(read(root / f"data/curated/{curation.last_pass}/examples.jsonl", Example))
    kept, dropped = choose(rows, curation.rebalance)
    report = pass_report(rows, kept, dropped)
    outside = {row.id for row in rows if is_outside(row)}
    for op in range(len(OPS)):
        report[f"op{op}_outside_dropped"] = sum(line.op == op and line.id in outside for line in dropped)
    folder = root / "data/curated/rebalance"
    write(folder / "examples.jsonl", kept)
    write(folder / "ledger.jsonl", dropped)
    write_json(root / "reports/passes/rebalance.json", report)
    log.info("rebalance: %d rows, %d kept, per op %s", len(rows), len(kept), count_by_op(kept))
    return report
