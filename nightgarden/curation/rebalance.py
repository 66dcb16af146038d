"""The `rebalance` stage: as many rows as the mix of ops allows, chosen by content id.

Once op 0 was about 70 % of the data and drowned the others. Outside rows and seed rows of an op are
equal here: only the id decides, so neither position nor source does.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from nightgarden.curation.accounts import Report, Tally, count_by_op, keys, settle
from nightgarden.curation.matching import ROW
from nightgarden.errors import Refusal
from nightgarden.jsonl import encode, read, whole_file, write_json
from nightgarden.params import Curation, RebalanceSettings
from nightgarden.records import OPS, Example, Hit, LedgerLine

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


def choose(rows: Iterable[Example], counts: Sequence[int], settings: RebalanceSettings) -> Iterator[Example | LedgerLine]:
    """Each row that stays, or the ledger line of one that goes, in the order of the rows: by op and id.

    Args:
        rows: by op and id.
        counts: rows of each op.
        settings: the mix.

    Raises:
        Refusal: as `quotas`.
    """
    wanted = quotas(counts, settings)
    taken = [0] * len(OPS)
    for row in rows:
        if taken[row.op] < wanted[row.op]:
            taken[row.op] += 1
            yield row
        else:
            reason = f"the mix takes {wanted[row.op]} of {counts[row.op]} rows of op {row.op}, in order of content id"
            hit = Hit(turn=ROW, start=0, end=0, reason=reason)
            yield LedgerLine(id=row.id, op=row.op, rule=RULE, hits=(hit,), engine=ENGINE)


def rebalance(curation: Curation, root: Path) -> Report:
    """Cut the rows of the last pass to the mix; `op0_outside_dropped` counts outside rows that found no room.

    Raises:
        Refusal: as `quotas`; nothing is written then.
    """
    path, folder, tally = root / f"data/curated/{curation.last_pass}/examples.jsonl", root / "data/curated/rebalance", Tally()
    with ExitStack() as stack:
        kept, ledger = (stack.enter_context(whole_file(folder / f"{name}.jsonl")) for name in ("examples", "ledger"))
        for row, fate in pairwise(path, curation.rebalance):
            tally.add(row, "dropped" if isinstance(fate, LedgerLine) else "kept")
            (ledger if isinstance(fate, LedgerLine) else kept).write(encode(fate) + b"\n")
        for file in (kept, ledger):
            file.flush()
        settle(RULE, keys(path), kept=keys(Path(kept.name)), ledger=keys(Path(ledger.name)))
    report = tally.report()
    for op in range(len(OPS)):
        report[f"op{op}_outside_dropped"] = tally.of(op, "dropped") - tally.of(op, "seed_dropped")
    write_json(root / "reports/passes/rebalance.json", report)
    log.info("rebalance: %d rows, %d kept", report["rows_in"], report["kept"])
    return report


def pairwise(path: Path, settings: RebalanceSettings) -> Iterator[tuple[Example, Example | LedgerLine]]:
    """Every row of a file with what becomes of it."""
    return zip(read(path, Example), choose(read(path, Example), count_by_op(keys(path)), settings), strict=True)
