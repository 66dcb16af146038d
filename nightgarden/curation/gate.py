"""The `gate` stage: whether a dataset may be trained on.

Checks the outcome and not the way: every rule once more on the rows that are there, the mix, the
size, and what each pass took of each op. Repairs nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from nightgarden.curation import canaries as known
from nightgarden.curation import refused
from nightgarden.curation.accounts import count_by_op, keys, pass_order
from nightgarden.curation.annotate import BEYOND_ONE_ROW, Hits, canaries_of, find, load, prompts_for
from nightgarden.curation.canaries import PREFIX
from nightgarden.curation.dataset import HELD_OUT, TRAIN, dataset_digest, rows_of
from nightgarden.curation.refused import Shown
from nightgarden.digests import example_id
from nightgarden.errors import Refusal
from nightgarden.jsonl import read, read_json, write_json
from nightgarden.params import Curation
from nightgarden.records import Example
from nightgarden.rule_params import RuleSettings

log = logging.getLogger(__name__)

VERDICT = Path("data/dataset/gate.json")
REPORT = Path("reports/gate.json")
ZERO_TOLERANCE = ("placeholder", "secrets", "residue", "contamination")
"""Rules that hold here even where their pass is switched off: each broke a training, or an evaluation, once."""
MAX_SPANS = 20
"""Hits of one rule that the page shows."""
WAYS = (
    "repair or remove the rows in their source (`nightgarden explain ID` tells where one came from);",
    "or change the rule in params.yaml, curation.rules, if it is wrong about them;",
    "or add rows of the op that is short, for the mix.",
)


def row_faults(rows: Iterable[Example]) -> list[str]:
    """What no row may be: a canary, a row of a dry run, one that is not what its id says, one that stands twice."""
    kinds: dict[str, list[str]] = {}
    seen: set[str] = set()
    for row in rows:
        found = [
            ("canaries were not taken out again", row.id.startswith(PREFIX)),
            ("rows were made by a dry run", row.meta.get("dry_run") is True),
            ("rows are not what their id says", row.id != example_id(row.op, row.turns, row.memories, row.directives)),
            ("rows stand twice", row.id in seen),
        ]
        for kind, is_so in found:
            if is_so:
                kinds.setdefault(kind, []).append(row.id)
        seen.add(row.id)
    return [f"{len(ids)} {kind}, such as {ids[0]}" for kind, ids in kinds.items()]


def unseen(root: Path) -> list[str]:
    """Why the trainer's view of these very rows is missing."""
    path = root / "reports/render.json"
    seen: dict[str, object] = read_json(path, dict[str, object]) if path.is_file() else {}
    if seen.get("digest") == dataset_digest(root):
        return []
    return ["these rows were not rendered as the trainer will see them: run `dvc repro render`"]


def settings_here(rule: str, curation: Curation) -> RuleSettings:
    """The settings of a rule as the gate applies it."""
    settings = curation.rules.of(rule)
    return settings.model_copy(update={"enabled": True}) if rule in ZERO_TOLERANCE else settings


def broken(rule: str, curation: Curation, root: Path) -> dict[str, Hits]:
    """Row id -> hits of a rule on the dataset as it is, the rule's canaries having gone the same way.

    Raises:
        Refusal: a canary was judged wrongly.
    """
    settings = settings_here(rule, curation)
    prompts = prompts_for(rule, settings, root)
    canaries = canaries_of(rule, settings, prompts)
    if rule in BEYOND_ONE_ROW:
        held_out: Iterator[Example] = read(root / HELD_OUT, Example)
        found: dict[str, Hits] = load(rule).losers_of(root / TRAIN, settings, [*canaries.rows, *held_out])
    else:
        found = find(rule, chain(canaries.rows, rows_of(root)), settings, prompts)
    known.judge(rule, canaries, found.keys() | canaries.keepers, "hit")
    return known.without(found)


def mix_faults(num_rows: Sequence[int], curation: Curation) -> list[str]:
    """Too few rows, or an op whose share is off its target."""
    reasons = []
    if sum(num_rows) < curation.gate.min_rows:
        reasons.append(f"{sum(num_rows)} rows, fewer than curation.gate.min_rows {curation.gate.min_rows}")
    for op, (share, target) in enumerate(zip(mix(num_rows), curation.rebalance.shares, strict=True)):
        if abs(share - target) > curation.rebalance.tolerance + 1e-9:
            reasons.append(f"op {op} is {share:.1%} of the rows, its share is {target:.1%} ± {curation.rebalance.tolerance:.1%}")
    return reasons


def mix(num_rows: Sequence[int]) -> list[float]:
    """Share of each op, 0..1."""
    return [count / max(1, sum(num_rows)) for count in num_rows]


def gate(curation: Curation, root: Path) -> dict[str, float | int | str]:
    """Give the verdict: data/dataset/gate.json when it passes, reports/gate.json in any case.

    Raises:
        Refusal: the dataset may not be trained on; gives every reason, what to do, and a page with examples.
    """
    (root / VERDICT).unlink(missing_ok=True)
    num_rows = count_by_op(chain(keys(root / TRAIN), keys(root / HELD_OUT)))
    reasons = [*unseen(root), *row_faults(rows_of(root)), *mix_faults(num_rows, curation)]
    shown: list[Shown] = []
    for rule in dict.fromkeys([*pass_order(curation), *ZERO_TOLERANCE]):
        if found := broken(rule, curation, root):
            id_, hits = min(found.items())
            reasons.append(f"{len(found)} rows still break the rule {rule}, such as {id_}: {hits[0].reason}")
            shown += _shown(rule, found)
    shares = [round(share, 4) for share in mix(num_rows)]
    verdict = {
        "passed": not reasons,
        "digest": dataset_digest(root),
        "rows": sum(num_rows),
        "mix": shares,
        "reasons": reasons,
    }
    write_json(root / REPORT, verdict)
    if reasons:
        page = refused.write("gate", reasons, WAYS, {}, shown, root)
        raise Refusal(
            f"this dataset may not be trained on: {'; '.join(reasons)}. Look at {page} and the ledgers under data/curated; "
            f"then {' '.join(WAYS)}"
        )
    refused.clear("gate", root)
    write_json(root / VERDICT, verdict)
    log.info("gate: passed, %d rows, mix %s, digest %s", verdict["rows"], shares, str(verdict["digest"])[:12])
    report: dict[str, float | int | str] = {"rows": sum(num_rows), "digest": str(verdict["digest"])}
    return report | {f"share_op{op}": share for op, share in enumerate(shares)}


def _shown(rule: str, found: dict[str, Hits]) -> list[Shown]:
    hits = [(id_, hit) for id_ in sorted(found) for hit in found[id_]][:MAX_SPANS]
    return [Shown(id=id_, turn=hit.turn, reason=f"{rule}: {hit.reason}", snippet=hit.snippet) for id_, hit in hits]
