"""The page of an evaluation: verdict first, then the passport, pictures, tests, and every pair of replies.

One self-contained HTML file: no network, no script, the same bytes for the same result.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape

from nightgarden.evaluation import pairs, pictures
from nightgarden.evaluation.crossover import FIRST
from nightgarden.evaluation.paired import flips_needed
from nightgarden.evaluation.prompts import in_order
from nightgarden.evaluation.results import Result, rated
from nightgarden.evaluation.scorers import SCORERS
from nightgarden.evaluation.style import CSS
from nightgarden.evaluation.verdicts import TESTED, Comparison, Test, readable

NOTHING = "–"
NUMBERS = {
    "prompt_strict": "whole prompts, strict",
    "prompt_loose": "whole prompts, loose",
    "instruction_strict": "instructions, strict",
    "instruction_loose": "instructions, loose",
}


def page(result: Result) -> str:
    """The whole page."""
    parts = [
        _head(result),
        _passport(result),
        _scores(result),
        _following(result),
        _poles(result),
        _compliance(result),
        _first_tokens(result),
        _rater(result),
        _section("Most telling pairs", told) if (told := pairs.telling(result)) else "",
        pairs.filters(),
        *(
            _section(f"Replies: {readable(name)}", pairs.category(result, name))
            for name in in_order(prompt.category for prompt in result.prompts)
        ),
        _reading(result),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Evaluation: {escape(_headline(result)[0])}</title><style>{CSS}{pairs.filter_css()}</style></head>\n"
        f"<body><main>\n{''.join(parts)}</main></body></html>\n"
    )


def _headline(result: Result) -> tuple[str, str, str]:
    """The verdict in a word or two, its reason, and its tone."""
    if result.promotion is not None:
        return result.promotion.verdict.capitalize(), result.promotion.reason, result.promotion.verdict
    if result.comparison is None:
        return str(result.suite), f"{readable(result.sides[0]).capitalize()} alone; nothing is compared.", ""
    return str(result.suite), "A suite is compared and promotes nothing; an adapter is promoted by the 35 prompts.", ""


def _head(result: Result) -> str:
    word, reason, tone = _headline(result)
    tiles = [
        _tile(family.capitalize(), verdict.verdict, verdict.reason, verdict.verdict.split()[0])
        for family, verdict in (result.comparison.families.items() if result.comparison else ())
    ]
    cut = ", ".join(str(sum(reply.truncated for reply in result.replies if reply.side == side)) for side in result.sides)
    void = ", ".join(str(result.void(side)) for side in result.sides)
    who = ", ".join(result.sides)
    unverified = '<p class="warning">The template is unverified: no number on this page can promote an adapter.</p>'
    return (
        f'<header class="{tone}"><p class="kicker">Side by side: {who}</p>'
        f"<h1>{escape(word)}</h1><p>{escape(reason)}</p></header>\n"
        f"{'' if result.passport.verdict == 'agree' else unverified}"
        f'<div class="tiles">{"".join(tiles)}'
        f"{_tile('Template', result.passport.verdict, result.passport.family or 'no known family', result.passport.verdict)}"
        f"{_tile('Void replies', void, f'{who}, of {result.each} each; {cut} were cut off', '')}</div>\n"
    )


def _tile(title: str, value: str, text: str, tone: str) -> str:
    return f'<div class="tile {tone}"><h3>{title}</h3><b>{escape(value)}</b><p>{escape(text)}</p></div>'


def _passport(result: Result) -> str:
    rows = ([_dot(w.says), escape(w.name), escape(w.says), escape(w.why)] for w in result.passport.witnesses)
    return _section("Template passport", _table(["", "witness", "says", "why"], rows))


def _dot(tone: str) -> str:
    return f'<span class="dot {tone}"></span>'


def _scores(result: Result) -> str:
    tests = result.comparison.tests if result.comparison else {}
    rows = []
    for name, scorer in SCORERS.items():
        counts = [_counted(found[name].count, found[name].of) for found in result.rates.values()]
        rows.append(
            [scorer.title, scorer.family, "lower" if scorer.good == "low" else "higher", *counts, *_tested(tests.get(name))]
        )
    needed = flips_needed(len(TESTED), result.settings.alpha)
    note = (
        f"Won and lost count prompts; p is McNemar's exact test after Holm over {len(TESTED)} scores. "
        f"The first score to hold needs {needed} prompts that all change one way. “Would see”: the smallest true share of "
        "the judged prompts, changed one way, that this test finds four times of five."
    )
    head = ["score", "family", "better", *result.rates, "won / lost", "p", "would see", "verdict"]
    picture = _picture(pictures.scores(result.rates, result.settings.alpha), "Six scores with intervals, side by side")
    return _section("Six scores", f'{picture}{_table(head, rows)}<p class="note">{note}</p>')


def _tested(test: Test | None) -> list[str]:
    if test is None:
        return [NOTHING] * 4
    seen = NOTHING if test.detectable is None else f"{test.detectable:.0%} of {test.of}"
    return [f"{test.won} / {test.lost}", f"{test.p_holm:.2g}", seen, test.verdict]


def _counted(count: int, of: int) -> str:
    return f"{count} of {of} ({count / of:.0%})" if of else "none judged"


def _of_kind(counts: tuple[int, int, int]) -> str:
    strict, loose, of = counts
    return f"{strict} / {loose} of {of}"


def _poles(result: Result) -> str:
    note = (
        "Excellent: every check that applies passes. Failing: void, or two and more fail. Middle: the rest. "
        "Where replies lie at two poles, their mean describes none of them. Whiskers are intervals of the two shares."
    )
    picture = _picture(pictures.poles(result.barbell), "Shares of failing, middle and excellent replies per category")
    rows = [
        [readable(category), side, panel.verdict, escape(panel.reason), NOTHING if panel.icc is None else f"{panel.icc:.2f}"]
        for category, sides in result.poles.items()
        for side, panel in sides.items()
    ]
    table = _table(["category", "side", "verdict", "why", "variance between prompts"], rows)
    return _section("Two poles", f'{picture}<p class="note">{note}</p>{table}')


def _compliance(result: Result) -> str:
    tables = [_compliance_table(item) for item in (result.comparison, result.champion) if item is not None]
    if not tables:
        return ""
    note = (
        "A reply complies when it is not void and breaks no constraint. A loss counts when its whole interval, over prompts, "
        "is below zero."
    )
    return _section("Compliance by category", f'{"".join(tables)}<p class="note">{note}</p>')


def _compliance_table(comparison: Comparison) -> str:
    rows = []
    for category, change in comparison.compliance.items():
        interval = f"{change.value:+.0%} ({change.low:+.0%} to {change.high:+.0%})" if change.of else NOTHING
        tone = _dot("refused") + "lost" if change.high < 0 else _dot("agree") + "gained" if change.low > 0 else ""
        rows.append([readable(category), _counted(change.before, change.of), _counted(change.after, change.of), interval, tone])
    return _table(["category", comparison.against, "adapted", "difference", ""], rows)


def _first_tokens(result: Result) -> str:
    """The causal panel, where the settings asked for it."""
    panel = result.first_tokens
    if panel is None:
        return ""
    shares = [f"{share:.0%} along {side}" for side, curve in panel.divergence.items() if (share := curve.first_share) is not None]
    note = (
        f"{panel.prompts} prompts. One side wrote the first k tokens, the other went on; beginning and rest add up to the whole "
        "difference of quality (share of checks passed). The placebo is a beginning that fits any prompt. Bands are intervals "
        f"over prompts. Of the divergence {' and '.join(shares) or 'nothing'} lies in the first {FIRST} positions."
    )
    verdict = f"<p><b>The first tokens: {panel.crossover.verdict}.</b> {escape(panel.crossover.reason)}.</p>"
    picture = _picture(pictures.first_tokens(panel), "Effect of beginning, rest and placebo by k; divergence by position")
    return _section("Do the first tokens decide?", f'{verdict}{picture}<p class="note">{note}</p>')


def _following(result: Result) -> str:
    """IFEval's numbers, where the prompts have its instructions."""
    if not result.following:
        return ""
    rows = [[title, *(_counted(*getattr(found, name)) for found in result.following.values())] for name, title in NUMBERS.items()]
    kinds = sorted({kind for found in result.following.values() for kind in found.kinds})
    by_kind = [[kind, *(_of_kind(found.kinds[kind]) for found in result.following.values())] for kind in kinds]
    note = (
        "As published: a reply counts by its text, cut off or not. Loose forgives a first or last line and asterisks. "
        "Two defects of the published checks are not copied: where a row asks for the letter # or !, that character is counted."
    )
    head = ["", *result.following]
    tables = _table(head, rows) + _table(["kind: strict / loose", *result.following], by_kind)
    return _section("Instructions followed", f'{tables}<p class="note">{note}</p>')


def _rater(result: Result) -> str:
    """The rater's exam and, if it was passed, what it gave."""
    found = rated(result)
    if found is None:
        return ""
    exam, reasons = found["exam"], "; ".join(found["exam"]["reasons"])
    said = "passed its exam" if exam["passed"] else "did not pass its exam, so none of its scores is shown"
    rows = [
        [side, NOTHING if one["mean"] is None else f"{one['mean']:.2f}", *map(str, one["counts"]), str(one["of"])]
        for side, one in found["scores"].items()
    ]
    table = _table(["side", "mean", "1", "2", "3", "4", "5", "of"], rows) if rows else ""
    notes = "".join(f'<p class="warning">{escape(text)}</p>' for text in found["warnings"])
    words = f"<p><b>{escape(found['judge'])} {said}.</b> {escape(reasons)}. Its template: {found['template']}.</p>"
    return _section("Rater", f"{words}{table}{notes}")


def _reading(result: Result) -> str:
    settings = result.settings
    way = "greedily" if settings.temperature == 0 else f"at temperature {settings.temperature:g}, top-p {settings.top_p:g}"
    limit = settings.max_reply_words
    too_long = "A reply is too long only when it is cut off." if limit is None else f"A reply is too long above {limit} words."
    text = (
        f"All sides were given the same token ids and wrote {way}, up to {settings.max_new_tokens} tokens, with the same noise "
        "per prompt, seed and position, so that they part only where the models do. "
        f"{too_long} Style scores leave out void and cut-off replies; "
        "format and context count a void reply as failing. Several seeds of one prompt are not independent: intervals "
        "of shares are then too narrow; tests, and intervals of a difference, go over prompts. "
        "Rules see form and facts, not sense: read some replies before you believe a verdict. "
        "Ids, replies and scores lie beside this page."
    )
    return _section("How to read this", f"<p>{text}</p>")


def _section(title: str, body: str) -> str:
    return f"<section><h2>{title}</h2>{body}</section>\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells are HTML already."""
    titles = "".join(f"<th>{title}</th>" for title in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"


def _picture(svg: str, alt: str) -> str:
    """An SVG as an image of its own, so that ids of two pictures never meet."""
    return f'<img alt="{escape(alt)}" src="data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}">'
