"""The page of an evaluation: verdict first, then the passport, pictures, tests, and every pair of replies.

One self-contained HTML file: no network, no script, the same bytes for the same result.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape

from nightgarden.evaluation import pictures
from nightgarden.evaluation.answers import SIDES, Reply, Score, Scored
from nightgarden.evaluation.crossover import FIRST
from nightgarden.evaluation.paired import flips_needed
from nightgarden.evaluation.prompts import CATEGORIES
from nightgarden.evaluation.results import Result
from nightgarden.evaluation.scorers import SCORERS
from nightgarden.evaluation.style import CSS
from nightgarden.evaluation.verdicts import TESTED, Comparison, readable
from nightgarden.records import Prompt

NOTHING = "–"


def page(result: Result) -> str:
    """The whole page."""
    parts = [
        _head(result),
        _passport(result),
        _scores(result),
        _poles(result),
        _compliance(result),
        _first_tokens(result),
        *(_category(result, category) for category in CATEGORIES if any(p.category == category for p in result.prompts)),
        _reading(result),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Evaluation: {result.promotion.verdict}</title><style>{CSS}</style></head>\n"
        f"<body><main>\n{''.join(parts)}</main></body></html>\n"
    )


def _head(result: Result) -> str:
    families = [
        _tile(family.capitalize(), verdict.verdict, verdict.reason, verdict.verdict.split()[0])
        for family, verdict in result.comparison.families.items()
    ]
    of = len(result.scored) // 2
    cut = " and ".join(str(sum(reply.truncated for reply in result.replies if reply.side == side)) for side in SIDES)
    void = " and ".join(str(result.void(side)) for side in SIDES)
    unverified = '<p class="warning">The template is unverified: no number on this page can promote an adapter.</p>'
    return (
        f'<header class="{result.promotion.verdict}"><p class="kicker">Stock and adapted model, side by side</p>'
        f"<h1>{result.promotion.verdict.capitalize()}</h1><p>{escape(result.promotion.reason)}</p></header>\n"
        f"{'' if result.passport.verdict == 'agree' else unverified}"
        f'<div class="tiles">{"".join(families)}'
        f"{_tile('Template', result.passport.verdict, result.passport.family or 'no known family', result.passport.verdict)}"
        f"{_tile('Void replies', void, f'stock and adapted, of {of} each; {cut} were cut off', '')}</div>\n"
    )


def _tile(title: str, value: str, text: str, tone: str) -> str:
    return f'<div class="tile {tone}"><h3>{title}</h3><b>{escape(value)}</b><p>{escape(text)}</p></div>'


def _passport(result: Result) -> str:
    rows = ([_dot(w.says), escape(w.name), escape(w.says), escape(w.why)] for w in result.passport.witnesses)
    return _section("Template passport", _table(["", "witness", "says", "why"], rows))


def _dot(tone: str) -> str:
    return f'<span class="dot {tone}"></span>'


def _scores(result: Result) -> str:
    rows = []
    for name, scorer in SCORERS.items():
        stock, adapted = (_counted(result.rates[side][name].count, result.rates[side][name].of) for side in SIDES)
        test = result.comparison.tests.get(name)
        tested = [NOTHING] * 3 if test is None else [f"{test.won} / {test.lost}", f"{test.p_holm:.2g}", test.verdict]
        direction = "lower" if scorer.good == "low" else "higher"
        rows.append([scorer.title, scorer.family, direction, stock, adapted, *tested])
    needed = flips_needed(len(TESTED), result.settings.alpha)
    note = (
        f"Won and lost count prompts; p is McNemar's exact test after Holm over {len(TESTED)} scores. "
        f"The first score to hold needs {needed} prompts that all change one way."
    )
    head = ["score", "family", "better", "stock", "adapted", "won / lost", "p", "verdict"]
    picture = _picture(pictures.scores(result.rates, result.settings.alpha), "Six scores with intervals, stock and adapted")
    return _section("Six scores", f'{picture}{_table(head, rows)}<p class="note">{note}</p>')


def _counted(count: int, of: int) -> str:
    return f"{count} of {of} ({count / of:.0%})" if of else "none judged"


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
    note = "A reply complies when it is not void and breaks no constraint. A loss counts when its whole interval is below zero."
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


def _category(result: Result, category: str) -> str:
    chosen = [prompt for prompt in result.prompts if prompt.category == category]
    pairs = "".join(_prompt(result, prompt) for prompt in chosen)
    return _section(f"Replies: {readable(category)}", pairs)


def _prompt(result: Result, prompt: Prompt) -> str:
    """One prompt with its replies, one row a seed."""
    replies = {(reply.side, reply.seed): reply for reply in result.replies if reply.prompt == prompt.id}
    scored = {(item.side, item.seed): item for item in result.scored if item.prompt == prompt.id}
    columns = "".join(_reply(replies[side, seed], scored[side, seed]) for seed in range(result.settings.seeds) for side in SIDES)
    turns = "".join(f'<p class="turn"><i>{turn.role}</i> {escape(turn.content)}</p>' for turn in prompt.turns)
    memories = "".join(
        f'<p class="turn"><i>{"correction" if m.correction else "memory"}</i> {escape(m.text)}</p>' for m in prompt.memories
    )
    directives = "".join(f'<p class="turn"><i>directive</i> {escape(text)}</p>' for text in prompt.directives)
    return f'<article><h3>{prompt.id}</h3>{turns}{memories}{directives}<div class="pair">{columns}</div></article>\n'


def _reply(reply: Reply, scored: Scored) -> str:
    """A reply with the spans that scorers speak of, its pole, and a chip for each check that fails."""
    chips = [f'<span class="chip">{SCORERS[s.name].title}: {escape(s.reason)}</span>' for s in scored.scores if s.passed is False]
    if scored.void:
        chips.insert(0, f'<span class="chip">void: {escape(scored.void)}</span>')
    seed = f" · seed {reply.seed}" if reply.seed else ""
    cut = '<span class="cut">cut off</span>' if reply.truncated else ""
    return (
        f'<div class="reply {scored.pole}"><h4>{reply.side}{seed} {_dot(scored.pole)}{scored.pole}</h4>'
        f'<div class="text">{highlighted(reply.text, scored.scores) or "(empty)"}{cut}</div>{"".join(chips)}</div>'
    )


def highlighted(text: str, scores: Sequence[Score]) -> str:
    """The text as HTML with marks; of two spans that overlap the earlier and longer one is shown."""
    spans = sorted(
        (
            (start, -end, score)
            for score in scores
            for start, end in score.spans
            if score.passed is not True or score.name == "context_use"
        ),
        key=lambda item: item[:2],
    )
    pieces, done = [], 0
    for start, negative, score in spans:
        if start < done:
            continue
        tone = "good" if score.name == "context_use" else "bad"
        pieces.append(escape(text[done:start]))
        pieces.append(f'<mark class="{tone}" title="{SCORERS[score.name].title}">{escape(text[start:-negative])}</mark>')
        done = -negative
    return "".join(pieces) + escape(text[done:])


def _reading(result: Result) -> str:
    settings = result.settings
    way = "greedily" if settings.temperature == 0 else f"at temperature {settings.temperature:g}, top-p {settings.top_p:g}"
    text = (
        f"Both sides were given the same token ids and wrote {way}, up to {settings.max_new_tokens} tokens, with the same noise "
        "per prompt, seed and position, so that they part only where the models do. "
        f"A reply is too long above {settings.max_reply_words} words. Style scores leave out void and cut-off replies; "
        "format and context count a void reply as failing. Several seeds of one prompt are not independent: intervals "
        "over replies are then too narrow, tests over prompts are not. "
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
