"""Loss budgets: a pass that takes more of an op than expected stops, and shows what it would have taken.

Once one filter removed 868 rows and nobody saw it until the mix was gone. Rows of a user's own file are
not held to a budget: they are reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from nightgarden.curation import refused
from nightgarden.curation.accounts import Tally
from nightgarden.curation.refused import Shown
from nightgarden.errors import Refusal
from nightgarden.jsonl import read
from nightgarden.params import PassSpec
from nightgarden.records import OPS, LedgerLine

MAX_SPANS = 20
"""Hits shown of each kind."""


def overspent(rule: str, spec: PassSpec, tally: Tally) -> dict[int, str]:
    """Op -> the sentence that tells how its budget was overspent."""
    found = {}
    for op in range(len(OPS)):
        rows, gone = tally.of(op, "seed_in"), tally.of(op, "seed_dropped")
        if gone > (allowed := spec.allowed(op, rows)):
            found[op] = f"pass {rule} would take {gone} of {rows} seed rows of op {op} ({gone / rows:.1%}); it may take {allowed}"
    return found


def require(rule: str, spec: PassSpec, tally: Tally, ledger: Path, root: Path, *, can_repair: bool) -> None:
    """Stop a pass that takes too much.

    Raises:
        Refusal: names the ops and the three ways to go on; the page reports/refused/RULE.html shows the hits.
    """
    over = overspent(rule, spec, tally)
    if not over:
        refused.clear(rule, root)
        return
    ways = ways_on(rule, tally, over, can_repair)
    counts = kinds(ledger, over)
    page = refused.write(rule, [*over.values()], ways, counts, list(spans(ledger, over)), root)
    raise Refusal(f"{'; '.join(over.values())}. Nothing was published. Look at {page}, then: {' Or: '.join(ways)}")


def ways_on(rule: str, tally: Tally, over: dict[int, str], can_repair: bool) -> list[str]:
    """What a person may do, as lines for params.yaml."""
    at = f"curation.passes.{rule}"
    waivers = ", ".join(f"{{op: {op}, rows: {tally.of(op, 'seed_dropped')}, why: WHY, by: NAME, date: DATE}}" for op in over)
    ways = [f"waive it, in a reviewed commit: {at}.waivers: [{waivers}]."]
    if can_repair:
        ways.append(f"repair the rows: {at}.on_hit: repair.")
    ways.append(f"drop them from now on, whatever the number: {at}.budget: null. Then add rows of the op for the mix.")
    return ways


def kinds(ledger: Path, over: dict[int, str]) -> dict[str, int]:
    """Reason -> hits, on rows of the ops concerned."""
    return dict(Counter(shown.reason for shown in _all_spans(ledger, over)).most_common())


def spans(ledger: Path, over: dict[int, str]) -> Iterator[Shown]:
    """Up to MAX_SPANS hits of each reason, the seed's and a user's, in the order of the ledger."""
    taken: Counter[str] = Counter()
    for shown in _all_spans(ledger, over):
        taken[shown.reason] += 1
        if taken[shown.reason] <= MAX_SPANS:
            yield shown


def _all_spans(ledger: Path, over: dict[int, str]) -> Iterator[Shown]:
    lines: Iterator[LedgerLine] = read(ledger, LedgerLine)
    for line in lines:
        if line.op in over and line.into is None:
            for hit in line.hits:
                yield Shown(id=line.id, turn=hit.turn, reason=hit.reason, snippet=hit.snippet)
