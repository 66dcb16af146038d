"""The `card` stage: the data card (reports/data_card.md), and the report page beside it (`overview.py`).

The card is written from the metrics alone, so it cannot tell another story than they do. What it warns of is
what the settings leave open. Decides nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from nightgarden.curation import overview
from nightgarden.curation.accounts import Report
from nightgarden.curation.facts import Facts, gather
from nightgarden.curation.gate import mix
from nightgarden.curation.likeness import EXACT_ROWS
from nightgarden.curation.sources.hub import KNOWN, overlaps
from nightgarden.jsonl import write_text
from nightgarden.params import Curation, PassSpec, SourceSpec
from nightgarden.records import OPS

log = logging.getLogger(__name__)

CARD = Path("reports/data_card.md")
MAX_LISTED = 6
"""Entries of a setting that the card lists; of a longer one it says how many there are."""
MAX_REASONS = 20
TEACHES = (
    "general instruction following",
    "pairs: the target is the stripped answer; the instruct-style answer lies in `meta.contrast`, never rendered",
    "a system prompt that overrides default behaviour, and an answer that obeys it",
    "tagged memory context, integrated silently",
)
"""What an example of each op teaches."""


def card(curation: Curation, root: Path) -> Report:
    """Write the data card and the report page.

    Returns:
        Rows of the dataset, and removed rows that the page shows.

    Raises:
        UserError: a stage up to the gate has not run.
    """
    facts = gather(curation, root)
    write_text(root / CARD, text(facts))
    shown = overview.write(facts, root)
    log.info("card: %s and %s", CARD, overview.PAGE)
    return {"rows": sum(facts.rows), "shown": shown}


def text(facts: Facts) -> str:
    """The card as markdown."""
    verdict = "passed its gate" if facts.verdict["passed"] else "did NOT pass its gate: " + "; ".join(facts.verdict["reasons"])
    parts = [
        f"# Data card of dataset {facts.digest[:12]}\n\n"
        f"{sum(facts.rows):,} chats to train a LoRA adapter on, {sum(facts.held_out):,} of them held out. The dataset {verdict}. "
        f"Its name is the sha256 of `data/dataset/train.jsonl` and `held_out.jsonl`: `{facts.digest}`. Written by "
        "`nightgarden card` from the metrics of the stages; do not edit.",
        _section("The mix", _mix(facts)),
        _section("Where the rows come from", _sources(facts)),
        _section("What happened to them", _way(facts)),
        _section("Rules", _rules(facts)),
        _section("Budgets, waivers and repairs", _budgets(facts)),
        _section("Quarantine", _quarantine(facts)),
        _section("As the trainer sees them", _rendered(facts)),
        _section("Known limits", "\n".join(f"- {limit}" for limit in limits(facts.curation))),
        _section("Ask further", _questions()),
    ]
    return "\n\n".join(parts) + "\n"


def _section(title: str, body: str) -> str:
    return f"## {title}\n\n{body}"


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table; columns of numbers stand to the right."""
    cells = [list(row) for row in rows]
    first = cells[0] if cells else [""] * len(head)
    rules = "|".join("---:" if isinstance(value, int | float) else "---" for value in first)
    lines = [f"| {' | '.join(head)} |", f"|{rules}|"]
    return "\n".join(lines + [f"| {' | '.join(map(_cell, row))} |" for row in cells])


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.1%}"
    return f"{value:,}" if isinstance(value, int) else str(value).replace("|", "\\|").replace("\n", " ")


def _mix(facts: Facts) -> str:
    rows = zip(OPS, TEACHES, facts.rows, facts.held_out, mix(facts.rows), facts.curation.rebalance.shares, strict=True)
    return _table(
        ["op", "teaches", "rows", "held out", "share", "wanted"],
        ([f"{op} {name}", *rest] for op, (name, *rest) in enumerate(rows)),
    )


def _sources(facts: Facts) -> str:
    rows = [
        [
            name,
            f"`{spec.place}`" + _commit(spec),
            spec.licence or (known.licence if (known := KNOWN.get(spec.dataset or "")) else "not told"),
            facts.read_from[spec.place],
            facts.quarantined_from[spec.place],
        ]
        for name, spec in facts.curation.sources.items()
    ]
    return _table(["source", "file", "licence", "rows taken", "quarantined"], rows)


def _commit(spec: SourceSpec) -> str:
    """What a known name stands for where params.yaml names no other commit."""
    known = KNOWN.get(spec.dataset or "")
    return f" ({known.repo} at {known.revision})" if known and spec.revision is None else ""


def _way(facts: Facts) -> str:
    told = facts.ingest
    mixed = facts.per_op["rebalance"]
    head = (
        f"{told['rows_in']:,} rows read: {told['quarantined']:,} quarantined, {told['merged']:,} merged into equal ones, "
        f"{told['masked']:,} with a secret masked; {told['examples']:,} examples went through the passes, in this order. "
        "*Alone* are dropped rows that no other rule hits.\n\n"
    )
    rows = [[p.name, p.rows, p.dropped, p.sole, p.repaired, p.merged, p.kept] for p in facts.passes]
    rows.append(["rebalance", mixed["rows_in"], mixed["dropped"], mixed["dropped"], 0, 0, mixed["kept"]])
    return head + _table(["pass", "rows in", "dropped", "alone", "repaired", "merged", "kept"], rows)


def _rules(facts: Facts) -> str:
    rows = []
    for name, engine in facts.engines.items():
        settings = facts.curation.rules.of(name).model_dump(mode="json")
        state = "" if settings.pop("enabled") else "switched off; "
        rows.append([name, f"`{engine}`", state + ", ".join(f"{key}: {_setting(value)}" for key, value in settings.items())])
    return "Engine with its version, hash of the patterns, and hash of the settings.\n\n" + _table(
        ["rule", "engine", "settings"], rows
    )


def _setting(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"{len(value)} entries" if len(value) > MAX_LISTED else ", ".join(map(str, value))
    return str(value)


def _budgets(facts: Facts) -> str:
    def budget(spec: PassSpec) -> str:
        shares = spec.budget if isinstance(spec.budget, tuple) else (spec.budget,)
        return "any share" if spec.budget is None else f"{' / '.join(f'{share:.0%}' for share in shares)} of an op's seed rows"

    rows = []
    for counts in facts.passes:
        spec = facts.curation.passes[counts.name]
        rows.append([counts.name, spec.on_hit, budget(spec), counts.repaired])
    lines = [_table(["pass", "on a hit", "may drop", "rows repaired"], rows), ""]
    waivers = [(name, waiver) for name, spec in facts.curation.passes.items() for waiver in spec.waivers]
    lines += [
        f"- **Waiver**: {name} may drop {waiver.rows:,} rows of op {waiver.op}. {waiver.why} ({waiver.by}, {waiver.date})"
        for name, waiver in waivers
    ]
    lines += [] if waivers else ["No budget was waived."]
    if any(counts.repaired for counts in facts.passes):
        lines += ["", "A repaired row has an id of its own and names its parent in `meta.edits`."]
    return "\n".join(lines)


def _quarantine(facts: Facts) -> str:
    if not facts.quarantine:
        return "No row was quarantined."
    shown = facts.quarantine.most_common(MAX_REASONS)
    rest = len(facts.quarantine) - len(shown)
    return _table(["reason", "rows"], shown) + (f"\n\n… and {rest:,} more reasons." if rest else "")


def _rendered(facts: Facts) -> str:
    seen = facts.rendered
    rows = [[f"{op} {name}", seen[f"op{op}_longest"], seen[f"op{op}_labelled"]] for op, name in enumerate(OPS)]
    head = f"Every row was rendered for `{seen['base']}` with the template `{seen['template']}`.\n\n"
    return head + _table(["op", "longest row, tokens", "tokens trained on"], rows)


def limits(curation: Curation) -> Iterator[str]:
    """What nobody should believe of the dataset, as the settings leave it."""
    rules, marks = curation.rules, curation.rules.exclamation
    yield from (f"{sentence}." for sentence in overlaps(spec.dataset for spec in curation.sources.values() if spec.dataset))
    if off := [name for name in curation.passes if not rules.of(name).enabled]:
        yield f"Switched off, so nothing is known by them: {', '.join(off)}."
    where = "answers (questions and system texts may hold them)" if marks.scope == "assistant" else "every turn"
    yield f"Exclamation marks count in {where}, more than {marks.max_marks} a turn, in {', '.join(marks.contexts)}."
    near = rules.duplicate
    yield (
        f"Near-copies are rows with {near.min_jaccard:g} or more of their word {near.ngram}-grams in common: a paraphrase stays. "
        f"Above {EXACT_ROWS:,} rows one pair in 80 at the threshold is missed."
    )
    yield "Contamination is looked for against the evaluation prompts in the checkout; a translated one is not found."
    yield "Secrets are found by the form of known kinds of keys; a bare password is not, and personal data are not looked for."
    yield "The phrase lists are English. No rule knows whether an answer is true."
    if curation.split.held_out:
        yield f"Held out are {curation.split.held_out:.0%} by the hash of the content id, at least two of an op with twenty rows."


def _questions() -> str:
    return (
        "`reports/curation.html` shows every pass with spans and removed rows. `nightgarden explain ID` tells a row's whole "
        "life, `nightgarden whatif --without RULE` what a rule costs, `nightgarden diff REV1 REV2` what changed between versions."
    )
