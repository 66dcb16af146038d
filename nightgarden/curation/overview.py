"""The report page of curation, reports/curation.html: what every pass took, with the words that it took it for.

One self-contained file. It shows some rows of each pass and says how many it leaves out; secrets stand in no
file that it reads. The counts are `facts.py`'s, the rows `exhibits.py`'s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from nightgarden.curation import pictures
from nightgarden.curation.annotate import SNIPPET
from nightgarden.curation.exhibits import Exhibit, Lengths, exhibits, lengths, texts
from nightgarden.curation.facts import Facts, PassCounts
from nightgarden.curation.gate import mix
from nightgarden.curation.page import Markup, figure, page, section, table, tiles
from nightgarden.curation.report import COLOURS
from nightgarden.curation.texts import marked_changes, whole
from nightgarden.jsonl import write_text
from nightgarden.records import OPS, Example, Hit, LedgerLine

PAGE = Path("reports/curation.html")
MAX_TEXT, MAX_OPENING = 1200, 110
"""Characters of a turn that are shown of a row, and where a hit has no span of its own."""


def write(facts: Facts, root: Path) -> int:
    """Write the page; returns how many removed and repaired rows it shows."""
    found = exhibits(facts, root)
    rows = texts(found, facts, root)
    write_text(root / PAGE, _page(facts, found, rows, lengths(root), (root / "reports/waterfall.svg").read_text()))
    return sum(len(exhibit.dropped) + len(exhibit.repaired) for exhibit in found)


def _page(facts: Facts, found: Sequence[Exhibit], rows: dict[str, Example], words: Lengths, waterfall: str) -> str:
    passed = (
        "It passed its gate." if facts.verdict["passed"] else f"It did not pass its gate: {'; '.join(facts.verdict['reasons'])}"
    )
    head = (
        f"<h1>Curation of dataset {facts.digest[:12]}</h1>\n<p>{escape(passed)} Every row that was read is in exactly one place: "
        "in the dataset, in a ledger, merged into an equal one, or in quarantine.</p>\n"
    )
    kept = [facts.per_op["rebalance"][f"op{op}_in"] for op in range(len(OPS))]
    length = facts.curation.rules.length
    parts = [
        head,
        tiles(_numbers(facts)),
        section("From rows read to rows kept", figure(pictures.inline(waterfall)) + _passes(facts)),
        section("The mix", figure(pictures.mix(kept, facts.rows, facts.curation.rebalance.shares)) + _cut(facts)),
        section("How the rules overlap", _overlap(facts)),
        section(
            "How long the answers are", figure(pictures.lengths(*words, length.max_answer_words if length.enabled else None))
        ),
        section(
            "The passes one by one",
            _links(facts) + "".join(_one(facts, counts, it, rows) for counts, it in zip(facts.passes, found, strict=True)),
        ),
        section("Where the rows come from", _sources(facts)),
    ]
    return page(f"Curation of {facts.digest[:12]}", parts)


def _numbers(facts: Facts) -> Iterator[tuple[str, str]]:
    yield f"{facts.ingest['rows_in']:,}", "rows read"
    yield f"{facts.ingest['quarantined']:,}", "in quarantine"
    yield (
        f"{sum(counts.dropped for counts in facts.passes):,}",
        "dropped by twelve rules" if len(facts.passes) == 12 else "dropped",
    )
    if repaired := sum(counts.repaired for counts in facts.passes):
        yield f"{repaired:,}", "repaired"
    yield f"{sum(facts.rows):,}", f"in the dataset, {sum(facts.held_out):,} held out"
    yield "/".join(f"{share:.0%}".rstrip("%") for share in mix(facts.rows)), "per cent of op 0/1/2/3"


def _passes(facts: Facts) -> str:
    rows: list[list[str | int]] = [
        [Markup(f'<a href="#{c.name}">{c.name.replace("_", " ")}</a>'), c.rows, c.dropped, c.sole, c.repaired, c.merged, c.kept]
        for c in facts.passes
    ]
    return table(["pass", "rows in", "dropped", "alone", "repaired", "merged", "kept"], rows) + (
        '<p class="small">Alone: dropped rows that no other rule hits. A repaired row goes on under a new id; one that then '
        "equals another is merged into it.</p>\n"
    )


def _cut(facts: Facts) -> str:
    return f'<p class="small">{facts.per_op["rebalance"]["dropped"]:,} rows that every pass kept found no room in the mix.</p>\n'


def _overlap(facts: Facts) -> str:
    told = (
        '<p class="small">Rows that two rules both hit, of all raw rows; grey: all that a rule hits. The darker a field, the '
        "larger the part of the rows of the rule on the left that the rule above hits too. Alone: hit by no other rule.</p>\n"
    )
    return figure(pictures.overlap(facts.overlap.rules, facts.overlap.rows, facts.overlap.sole)) + told


def _links(facts: Facts) -> str:
    links = (f'<a href="#{counts.name}">{counts.name.replace("_", " ")} {counts.dropped:,}</a>' for counts in facts.passes)
    return f"<nav>{' '.join(links)}</nav>\n"


def _one(facts: Facts, counts: PassCounts, exhibit: Exhibit, rows: dict[str, Example]) -> str:
    spec = facts.curation.passes[counts.name]
    budget = "any share" if spec.budget is None else f"{spec.budget if isinstance(spec.budget, tuple) else f'{spec.budget:.0%}'}"
    waived = "".join(
        f" Waived for op {waiver.op}: {waiver.rows:,} rows, by {escape(waiver.by)} on {waiver.date}: {escape(waiver.why)}."
        for waiver in spec.waivers
    )
    repaired = f" and {counts.repaired:,} repaired" if counts.repaired else ""
    parts = [
        f'<h3 id="{counts.name}">{counts.name.replace("_", " ")}</h3>\n<p>Of {counts.rows:,} rows {counts.dropped:,} dropped'
        f"{repaired}, {counts.sole:,} of them hit by no other rule. May drop {budget} of an op's seed rows.{waived}<br>"
        f'<span class="small">{escape(facts.engines[counts.name])}</span></p>\n'
    ]
    parts.append(_spans(exhibit, rows))
    for verb, lines, total in (("dropped", exhibit.dropped, counts.dropped), ("repaired", exhibit.repaired, counts.repaired)):
        if lines:
            rest = (
                f"; {total - len(lines):,} more are not shown, <code>nightgarden explain ID</code> tells each"
                if total > len(lines)
                else ""
            )
            body = "".join(_row(line, rows) for line in lines)
            parts.append(f"<details><summary>{len(lines):,} {verb} rows{rest}</summary>\n{body}</details>\n")
    return "".join(parts)


def _spans(exhibit: Exhibit, rows: dict[str, Example]) -> str:
    """The spans under the kinds of reasons that they stand for; kinds without one follow by name."""
    by_kind: dict[str, list[str]] = {}
    for kind, line, hit in exhibit.spans:
        by_kind.setdefault(kind, []).append(_span(kind, line, hit, rows))
    kinds = exhibit.kinds.most_common()
    groups = (
        f'<tr><th colspan="2">{escape(kind)} <span class="small">{_hits(count)}</span></th></tr>\n{"".join(by_kind[kind])}'
        for kind, count in kinds
        if kind in by_kind
    )
    others = ", ".join(f"{kind} ({count:,})" for kind, count in kinds if kind not in by_kind)
    rest = f'<p class="small">Not shown: {escape(others)}.</p>\n' if others else ""
    return f'<table class="spans"><tbody>{"".join(groups)}</tbody></table>\n{rest}'


def _hits(count: int) -> str:
    return f"{count:,} hit{'s' if count != 1 else ''}"


def _span(kind: str, line: LedgerLine, hit: Hit, rows: dict[str, Example]) -> str:
    if hit.snippet:
        before, inside, after = _around(hit)
        text = f"{escape(before)}<mark>{escape(inside)}</mark>{escape(after)}"
    else:
        text = f'<span class="small">{escape(_opening(line, hit, rows))}</span>'
    exact = f'<br><span class="small">{escape(hit.reason)}</span>' if hit.reason != kind else ""
    return f"<tr><td>{text}{exact}</td><td>{_dot(line.op)}<code>{line.id[:8]}</code></td></tr>\n"


def _opening(line: LedgerLine, hit: Hit, rows: dict[str, Example]) -> str:
    """What stands in the turn of a hit without a span, or in the first turn."""
    if line.id not in rows:
        return "(the whole row)"
    turn = rows[line.id].turns[max(0, hit.turn)]
    text = " ".join(turn.content.split()) or "(empty)"
    return f"{turn.role}: {text[:MAX_OPENING]}{'…' if len(text) > MAX_OPENING else ''}"


def _around(hit: Hit) -> tuple[str, str, str]:
    """The snippet of a hit in three parts: `annotate` puts the span in the middle, as far as the turn has text before it."""
    start = min(hit.start, max(0, SNIPPET - (hit.end - hit.start)) // 2)
    end = start + hit.end - hit.start
    return hit.snippet[:start], hit.snippet[start:end], hit.snippet[end:]


def _dot(op: int) -> str:
    return f'<span class="dot" style="background:{COLOURS[op]}" title="op {op} {OPS[op]}"></span> '


def _row(line: LedgerLine, rows: dict[str, Example]) -> str:
    """One row as the pass met it, the hits marked; a repaired one with what became of it."""
    row, into = rows.get(line.id), rows.get(line.into or "")
    if row is None:
        body = ""
    elif into is not None:
        body = f"<pre>{marked_changes(whole(row), whole(into))}</pre>"
    else:
        parts = [("directive", escape(text)) for text in row.directives]
        parts += [(f"{memory.type} memory", escape(memory.text)) for memory in row.memories]
        parts += [(turn.role, _marked(turn.content, number, line.hits)) for number, turn in enumerate(row.turns)]
        body = "".join(f'<p><span class="small">{name}</span><br>{text}</p>' for name, text in parts)
    why = escape("; ".join(dict.fromkeys(hit.reason for hit in line.hits)))
    return f'<article class="row">{_dot(line.op)}<code>{line.id}</code> <span class="small">{why}</span>{body}</article>\n'


def _marked(text: str, turn: int, hits: Sequence[Hit]) -> str:
    """A turn with its hits marked; overlapping ones as one."""
    parts, at = [], 0
    for hit in sorted((hit for hit in hits if hit.turn == turn and hit.end), key=lambda hit: (hit.start, -hit.end)):
        if hit.start >= at:
            parts.append(f"{escape(text[at : hit.start])}<mark>{escape(text[hit.start : hit.end])}</mark>")
            at = hit.end
    rest = text[at:]
    more = f" … {len(rest) - MAX_TEXT:,} characters more" if len(rest) > MAX_TEXT else ""
    return "".join(parts) + escape(rest[:MAX_TEXT] + more)


def _sources(facts: Facts) -> str:
    rows: list[list[str | int]] = [
        [name, spec.path, spec.licence or "not told", facts.read_from[spec.path], facts.quarantined_from[spec.path]]
        for name, spec in facts.curation.sources.items()
    ]
    found = table(["source", "file", "licence", "rows taken", "quarantined"], rows)
    if facts.quarantine:
        found += "<h3>Quarantine</h3>\n" + table(["reason", "rows"], facts.quarantine.most_common(20))
    return found
