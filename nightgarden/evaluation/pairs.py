"""The part of the page that shows replies: what each side wrote to a prompt, filters, and the most telling pairs.

HTML only, no script: the filters are radio buttons that the style sheet listens to.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from os.path import commonprefix

from nightgarden.evaluation.answers import POLES, SIDES, Reply, Score, Scored, Side
from nightgarden.evaluation.crossover import quality
from nightgarden.evaluation.results import Result
from nightgarden.evaluation.scorers import SCORERS
from nightgarden.evaluation.verdicts import readable
from nightgarden.records import Prompt

TELLING = 2
"""Pairs a category."""
FILTERS: dict[str, str] = {
    "every": "every prompt",
    "better": "adapted better",
    "worse": "adapted worse",
    "apart": "poles differ between seeds",
    "void": "with a void reply",
    "cut": "with one that was cut off",
}
"""Filter -> as it stands on the page. A prompt has a class `is-NAME` for each filter that it belongs to."""


class Replies:
    """The replies of a result with their scores, found by prompt, seed and side."""

    def __init__(self, result: Result) -> None:
        self.result = result
        self.reply = {(item.prompt, item.seed, item.side): item for item in result.replies}
        self.scored = {(item.prompt, item.seed, item.side): item for item in result.scored}

    def seeds(self, prompt: str) -> list[int]:
        """The seeds with which a prompt was asked."""
        return sorted({seed for name, seed, _ in self.reply if name == prompt})

    def gain(self, prompt: str, seed: int) -> float:
        """Share of checks that adapted passes above stock's, in [-1, 1]."""
        stock, adapted = (self.scored[prompt, seed, side] for side in SIDES)
        return quality(adapted) - quality(stock)


def telling(result: Result) -> str:
    """In each category the pairs in which the sides differ most, and where they part; nothing where one side is alone."""
    if result.comparison is None:
        return ""
    found, parts = Replies(result), []
    for category in dict.fromkeys(prompt.category for prompt in result.prompts):
        ranked = ranked_pairs(found, category)
        for prompt, seed in ranked[:TELLING]:
            gain = found.gain(prompt.id, seed)
            title = (
                f"{readable(category)}: {prompt.id}, adapted {'better' if gain > 0 else 'worse'} by {abs(gain):.0%} of the checks"
            )
            parts.append(
                f"<article><h3>{title}</h3>{asked(prompt)}{_columns(found, prompt, [seed], SIDES, is_parted=True)}</article>\n"
            )
    if not parts:
        return "<p>No pair differs in its checks.</p>"
    note = "The bar in a reply stands where the two part: before it they wrote the same."
    return f'<p class="note">{note}</p>{"".join(parts)}'


def ranked_pairs(found: Replies, category: str) -> list[tuple[Prompt, int]]:
    """Pairs of a category whose sides differ in quality, the largest difference first, one seed a prompt."""
    best = []
    for prompt in (item for item in found.result.prompts if item.category == category):
        seed = max(found.seeds(prompt.id), key=lambda seed: (abs(found.gain(prompt.id, seed)), -seed))
        best.append((prompt, seed))
    ranked = sorted(best, key=lambda pair: (-abs(found.gain(pair[0].id, pair[1])), pair[0].id))
    return [pair for pair in ranked if found.gain(pair[0].id, pair[1]) != 0]


def filters() -> str:
    """The radio buttons; which articles they leave stands in the style sheet."""
    buttons = "".join(
        f'<label><input type="radio" name="show" id="show-{name}"{" checked" if name == "every" else ""}> {title}</label>'
        for name, title in FILTERS.items()
    )
    return f'<div class="filters">Show {buttons}</div>\n'


def filter_css() -> str:
    """Rules that hide an article without the class of the filter that is chosen, and a section that has none with it."""
    chosen = [
        f"main:has(#show-{name}:checked) {hidden}"
        for name in FILTERS
        if name != "every"
        for hidden in (f".prompt:not(.is-{name})", f"section:has(.prompt):not(:has(.is-{name}))")
    ]
    return f"{', '.join(chosen)} {{ display: none; }}\n"


def category(result: Result, name: str) -> str:
    """Every prompt of a category with its replies."""
    found = Replies(result)
    return "".join(_prompt(found, prompt) for prompt in result.prompts if prompt.category == name)


def _prompt(found: Replies, prompt: Prompt) -> str:
    """One prompt with its replies, one row a seed."""
    seeds = found.seeds(prompt.id)
    columns = _columns(found, prompt, seeds, found.result.sides)
    names = " ".join(["prompt", *(f"is-{name}" for name in FILTERS if _belongs(found, prompt, name))])
    return f'<article class="{names}"><h3>{prompt.id}</h3>{asked(prompt)}{columns}</article>\n'


def _belongs(found: Replies, prompt: Prompt, name: str) -> bool:
    seeds = found.seeds(prompt.id)
    mine = [found.scored[prompt.id, seed, side] for seed in seeds for side in found.result.sides]
    if name in ("better", "worse"):
        if found.result.comparison is None:
            return False
        gain = sum(found.gain(prompt.id, seed) for seed in seeds)
        return gain > 0 if name == "better" else gain < 0
    if name == "apart":
        return any({POLES[0], POLES[2]} <= {item.pole for item in mine if item.side == side} for side in found.result.sides)
    if name == "void":
        return any(item.void is not None for item in mine)
    return name == "every" or any(found.reply[prompt.id, item.seed, item.side].truncated for item in mine)


def asked(prompt: Prompt) -> str:
    """What both sides were asked."""
    lines: list[tuple[str, str]] = [(turn.role, turn.content) for turn in prompt.turns]
    lines += [("correction" if memory.correction else "memory", memory.text) for memory in prompt.memories]
    lines += [("directive", text) for text in prompt.directives]
    return "".join(f'<p class="turn"><i>{name}</i> {escape(text)}</p>' for name, text in lines)


def _columns(found: Replies, prompt: Prompt, seeds: Sequence[int], sides: Sequence[Side], *, is_parted: bool = False) -> str:
    """Replies side by side, one row a seed."""
    cells = []
    for seed in seeds:
        row = [found.reply[prompt.id, seed, side] for side in sides]
        same = len(commonprefix([reply.text for reply in row])) if is_parted else None
        cells += [_reply(reply, found.scored[prompt.id, seed, reply.side], same) for reply in row]
    return f'<div class="pair of-{len(sides)}">{"".join(cells)}</div>'


def _reply(reply: Reply, scored: Scored, same: int | None) -> str:
    """A reply with the spans that scorers speak of, its pole, and a chip for each check that fails."""
    chips = [f'<span class="chip">{SCORERS[s.name].title}: {escape(s.reason)}</span>' for s in scored.scores if s.passed is False]
    if scored.void:
        chips.insert(0, f'<span class="chip">void: {escape(scored.void)}</span>')
    seed = f" · seed {reply.seed}" if reply.seed else ""
    cut = '<span class="cut">cut off</span>' if reply.truncated else ""
    dot = f'<span class="dot {scored.pole}"></span>'
    return (
        f'<div class="reply {scored.pole}"><h4>{reply.side}{seed} {dot}{scored.pole}</h4>'
        f'<div class="text">{highlighted(reply.text, scored.scores, same) or "(empty)"}{cut}</div>{"".join(chips)}</div>'
    )


def highlighted(text: str, scores: Sequence[Score], parted: int | None = None) -> str:
    """The text as HTML with marks; of two spans that overlap the earlier and longer one is shown.

    Args:
        text: a reply.
        scores: whose spans are marked.
        parted: character at which a bar stands, unless that lies inside a span; None for no bar.
    """
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
        pieces.append(_barred(text, done, start, parted))
        pieces.append(f'<mark class="{tone}" title="{SCORERS[score.name].title}">{escape(text[start:-negative])}</mark>')
        done = -negative
    return "".join(pieces) + _barred(text, done, len(text), parted)


def _barred(text: str, start: int, end: int, parted: int | None) -> str:
    if parted is None or not start <= parted < end:
        return escape(text[start:end])
    return f'{escape(text[start:parted])}<span class="parts"></span>{escape(text[parted:end])}'
