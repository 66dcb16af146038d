"""One filter pass: rows with a hit in the rule's annotation file go, with a ledger line each.

Decides nothing itself: annotations say what was found, `duplicate.losers` which copy goes. Publishes
only when rows in = kept + dropped by id, and the canaries fell and stayed as they must.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from nightgarden.curation import canaries as known
from nightgarden.curation.accounts import Report, is_outside, pass_report, settle
from nightgarden.curation.annotate import annotations_file, canaries_of, find, load
from nightgarden.digests import content_id
from nightgarden.errors import UserError
from nightgarden.jsonl import read, write, write_json
from nightgarden.params import Curation, RuleSettings
from nightgarden.records import Annotation, Dropped, Example, Hit, Prompt

log = logging.getLogger(__name__)


def to_drop(rule: str, rows: Sequence[Example], hits: Mapping[str, tuple[Hit, ...]]) -> set[str]:
    """Ids of the rows that the pass takes: all with a hit, or what the rule's own `losers` says."""
    losers = getattr(load(rule), "losers", None)
    if losers is None:
        return {row.id for row in rows if row.id in hits}
    chosen: set[str] = losers([row.id for row in rows], hits, {row.id for row in rows if is_outside(row)})
    return chosen


def engine_of(rule: str, settings: RuleSettings) -> str:
    """What decided: the rule's engine and the hash of its settings."""
    return f"{load(rule).ENGINE}+{content_id(settings.model_dump(mode='json'))[:8]}"


def divide(
    rule: str, rows: Sequence[Example], hits: Mapping[str, tuple[Hit, ...]], settings: RuleSettings
) -> tuple[list[Example], list[Dropped]]:
    """Rows that stay, in their order, and ledger lines of those that go, by op and id.

    The rule's canaries go the same way, with hits found by the rule as it is now (contamination's by a
    prompt of its own: this stage does not depend on the evaluation's).

    Raises:
        Refusal: a canary fell or stayed wrongly, or the rows do not add up.
    """
    prompts: tuple[Prompt, ...] = getattr(load(rule), "CANARY_PROMPTS", ())
    canaries = canaries_of(rule, settings, prompts)
    together = [*canaries.rows, *rows]
    hits = {**hits, **find(rule, canaries.rows, settings, prompts)}
    gone = to_drop(rule, together, hits)
    known.judge(rule, canaries, gone | canaries.keepers, "dropped")
    engine = engine_of(rule, settings)
    kept = [row for row in together if row.id not in gone and not row.id.startswith(known.PREFIX)]
    dropped = [
        Dropped(id=row.id, op=row.op, rule=rule, hits=hits[row.id], engine=engine)
        for row in sorted(together, key=lambda row: (row.op, row.id))
        if row.id in gone and not row.id.startswith(known.PREFIX)
    ]
    settle(f"pass {rule}", (row.id for row in rows), kept=(row.id for row in kept), dropped=(line.id for line in dropped))
    return kept, dropped


def filter_pass(rule: str, curation: Curation, root: Path) -> Report:
    """Run one pass: its kept rows, its ledger and its counts.

    Raises:
        UserError: params.yaml has no such pass.
        Refusal: as `divide`; nothing is written then.
    """
    if rule not in curation.passes:
        raise UserError(f"params.yaml has no pass {rule!r}; curation.passes has {', '.join(curation.passes)}")
    settings = curation.rules.of(rule)
    rows: list[Example] = list(read(root / curation.passes[rule].prevfile, Example))
    annotations: list[Annotation] = list(read(root / annotations_file(rule), Annotation))
    hits = {annotation.id: annotation.hits for annotation in annotations}
    kept, dropped = divide(rule, rows, hits, settings)
    report = pass_report(rows, kept, dropped)
    folder = root / "data/curated" / rule
    write(folder / "examples.jsonl", kept)
    write(folder / "ledger.jsonl", dropped)
    write_json(root / "reports/passes" / f"{rule}.json", report)
    log.info("pass %s: %d rows, %d kept, %d dropped", rule, len(rows), len(kept), len(dropped))
    return report
