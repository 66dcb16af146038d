"""The `gate` stage: whether a dataset may be trained on.

Checks the outcome and not the way: every rule once more on the rows that are there, the mix, the
size, and what each pass took of each op. Repairs nothing.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from nightgarden.curation.accounts import count_by_op, pass_order
from nightgarden.curation.annotate import RAW, find_with_canaries, prompts_for
from nightgarden.curation.canaries import PREFIX
from nightgarden.curation.rules.secrets import masked
from nightgarden.curation.split import HELD_OUT, TRAIN
from nightgarden.digests import example_id
from nightgarden.errors import Refusal
from nightgarden.jsonl import read, read_json, write_json
from nightgarden.params import Curation
from nightgarden.records import OPS, Dropped, Example

log = logging.getLogger(__name__)

VERDICT = Path("data/dataset/gate.json")
REPORT = Path("reports/gate.json")
MAX_SPANS = 20
SPAN_CONTEXT = 40
"""Characters shown on either side of a hit."""


def dataset_digest(root: Path) -> str:
    """sha256 of train.jsonl followed by held_out.jsonl: the name of a dataset."""
    digest = hashlib.sha256()
    for path in (TRAIN, HELD_OUT):
        digest.update((root / path).read_bytes())
    return digest.hexdigest()


def content_faults(rows: Sequence[Example], curation: Curation, root: Path) -> list[str]:
    """Rows that no dataset may hold: what an enabled rule hits, canaries, rows that are not what their id says.

    Contamination is looked for even where its pass is switched off: scores on known prompts mean nothing.
    """
    reasons = []
    if left := [row.id for row in rows if row.id.startswith(PREFIX)]:
        reasons.append(f"{len(left)} canaries were not taken out again, such as {left[0]}")
        rows = [row for row in rows if not row.id.startswith(PREFIX)]
    if edited := [row.id for row in rows if row.id != example_id(row.op, row.turns, row.memories, row.directives)]:
        reasons.append(f"{len(edited)} rows are not what their id says, such as {edited[0]}")
    for rule in dict.fromkeys([*pass_order(curation), "contamination"]):
        settings = curation.rules.of(rule)
        if rule == "contamination":
            settings = settings.model_copy(update={"enabled": True})
        found = find_with_canaries(rule, rows, settings, prompts_for(rule, settings, root))
        if found:
            id_, hits = min(found.items())
            reasons.append(f"{len(found)} rows still break the rule {rule}, such as {id_}: {hits[0].reason}")
    return reasons


def mix_faults(rows: Sequence[Example], curation: Curation) -> list[str]:
    """Too few rows, or an op whose share is off its target."""
    reasons = []
    if len(rows) < curation.gate.min_rows:
        reasons.append(f"{len(rows)} rows, fewer than curation.gate.min_rows {curation.gate.min_rows}")
    for op, (share, target) in enumerate(zip(mix(rows), curation.rebalance.shares, strict=True)):
        if abs(share - target) > curation.rebalance.tolerance + 1e-9:
            reasons.append(f"op {op} is {share:.1%} of the rows, its share is {target:.1%} ± {curation.rebalance.tolerance:.1%}")
    return reasons


def mix(rows: Sequence[Example]) -> list[float]:
    """Share of each op, 0..1."""
    return [count / max(1, len(rows)) for count in count_by_op(rows)]


def overspent(curation: Curation, root: Path) -> list[tuple[str, int, str]]:
    """(rule, op, reason) for every loss budget that a pass went over, counted over the seed rows that entered it."""
    found = []
    for rule in pass_order(curation):
        budget = curation.gate.max_loss.get(rule)
        counts: dict[str, int] = read_json(root / f"reports/passes/{rule}.json", dict[str, int])
        for op in range(len(OPS)):
            rows, gone = counts[f"op{op}_seed_in"], counts[f"op{op}_seed_dropped"]
            if budget is not None and gone > budget * rows:
                reason = f"pass {rule} took {gone} of {rows} seed rows of op {op} ({gone / rows:.1%}); its budget is {budget:.1%}"
                found.append((rule, op, reason))
    return found


def spans(rule: str, op: int, root: Path) -> Iterator[dict[str, Any]]:
    """Where the rule hit the rows of an op that it took: id, reason, and the text around, secrets masked."""
    raw: Iterator[Example] = read(root / RAW, Example)
    examples = {row.id: row for row in raw}
    ledger: list[Dropped] = list(read(root / f"data/curated/{rule}/ledger.jsonl", Dropped))
    for line in ledger:
        for hit in line.hits if line.op == op else ():
            text = examples[line.id].turns[max(hit.turn, 0)].content
            shown = _shown(text, hit.start, hit.end)
            yield {"rule": rule, "op": op, "id": line.id, "turn": hit.turn, "reason": hit.reason, "text": shown}


def _shown(text: str, start: int, end: int) -> str:
    """The hit between `>>` and `<<` with the text around it; where a secret stands in the text, its masked beginning.

    A text is never cut before it is masked: half a key is no longer known as one.
    """
    if end == 0 or masked(text) != text:
        return masked(text)[: 4 * SPAN_CONTEXT]
    return f"{text[max(0, start - SPAN_CONTEXT) : start]}>>{text[start:end]}<<{text[end : end + SPAN_CONTEXT]}"


def gate(curation: Curation, root: Path) -> dict[str, float | int | str]:
    """Give the verdict: data/dataset/gate.json when it passes, reports/gate.json in any case.

    Raises:
        Refusal: the dataset may not be trained on; gives every reason and what to do.
    """
    (root / VERDICT).unlink(missing_ok=True)
    rows: list[Example] = []
    for path in (TRAIN, HELD_OUT):
        rows.extend(read(root / path, Example))
    over = overspent(curation, root)
    reasons = [*content_faults(rows, curation, root), *mix_faults(rows, curation), *(reason for _, _, reason in over)]
    shares = [round(share, 4) for share in mix(rows)]
    digest = dataset_digest(root)
    verdict = {"passed": not reasons, "digest": digest, "rows": len(rows), "mix": shares, "reasons": reasons}
    shown = list(islice((span for rule, op, _ in over for span in spans(rule, op, root)), MAX_SPANS))
    write_json(root / REPORT, verdict | {"spans": shown})
    if reasons:
        raise Refusal(
            f"this dataset may not be trained on: {'; '.join(reasons)}. "
            "Look at reports/gate.json and the ledgers under data/curated; then repair or remove the rows in their source, "
            "change the rule in params.yaml, or waive a loss by raising its curation.gate.max_loss in a reviewed commit."
        )
    write_json(root / VERDICT, verdict)
    log.info("gate: passed, %d rows, mix %s, digest %s", len(rows), shares, digest[:12])
    report: dict[str, float | int | str] = {"rows": len(rows), "digest": digest}
    return report | {f"share_op{op}": share for op, share in enumerate(shares)}
