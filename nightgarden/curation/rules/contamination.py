"""contamination: rows that hold a prompt of an evaluation, whole or slightly changed.

A fixed 12-gram never matches a prompt of eleven words, and one changed word breaks eight 8-grams. So
the grams of a short prompt are short: a fifth of its words, at least MIN_GRAM, at most the setting.
Compared are the user turns of prompts with the user and assistant turns of rows; system texts are
meant to be shared. A prompt turn under MIN_WORDS words ("And now?") says too little to be known again.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import re2

from nightgarden.curation.canaries import Canaries, bad_row, clean_rows
from nightgarden.curation.matching import NEVER, Triggers, word_spans, words
from nightgarden.errors import UserError
from nightgarden.records import Example, Hit, Prompt, Turn
from nightgarden.rule_params import ContaminationRule

ENGINE = "python/adaptive-ngram-2"
MIN_GRAM = 3
MIN_WORDS = 5
QUOTED = 60
"""Characters of a prompt that a reason quotes; the row's own text stands in the snippet."""
CANARY_BAD = ("Somebody asked: {} What would you say?",)
"""How a prompt is wrapped; the canaries are the evaluation's own prompts, plain and wrapped."""
CANARY_PROMPTS = (
    Prompt(
        id="canary", category="canary", turns=(Turn(role="user", content="How many swans winter on the moat of Castle Perrin?"),)
    ),
)
"""Stands in for the evaluation's prompts where a stage does not read them."""
SEEK_BYTES = 256 << 20
"""Memory for the automaton that seeks grams; the 541 prompts of IFEval need less than 20 MB."""

Gram = tuple[str, ...]


def canaries(settings: ContaminationRule, prompts: Sequence[Prompt]) -> Canaries:
    """Every evaluation prompt as it stands, and wrapped in other words."""
    texts = [turn.content for prompt in prompts for turn in _asked(prompt)]
    wrapped = [form.replace("{}", text) for form in ("{}", *CANARY_BAD) for text in texts]
    bad = tuple(bad_row("contamination", number, "Eight.", prompt=text) for number, text in enumerate(wrapped))
    return Canaries(bad=bad, clean=clean_rows())


def judge(settings: ContaminationRule, prompts: Sequence[Prompt]) -> Callable[[Example], tuple[Hit, ...]]:
    """What finds, in one row, a hit for every turn and prompt that share enough.

    Raises:
        UserError: there are no evaluation prompts; a rule without them would pass everything.
    """
    index = _Index(settings, prompts)
    return lambda example: tuple(index.hits(example))


def triggers(settings: ContaminationRule, prompts: Sequence[Prompt]) -> Triggers:
    """The openings of grams of which a row that shares enough must hold one."""
    seeds = {seed for prompt in prompts for turn in _asked(prompt) for seed in _turn_seeds(turn, settings)}
    anywhere = "|".join(map(_opening, sorted(seeds))) or NEVER
    return Triggers(answers=f"(?i:{anywhere})", others=f"(?i:{anywhere})")


def _opening(seed: str) -> str:
    """A seed as it stands in folded text: whatever parts words, which may be nothing beside signs of Chinese and Japanese."""
    tokens = seed.split()
    between = r"[\W_]+" if seed.isascii() else r"[\W_]*"
    return between.join(map(re2.escape, tokens))


class _Asked(NamedTuple):
    """One user turn of an evaluation prompt as grams."""

    prompt: str
    text: str
    n: int
    num_grams: int


class _Index:
    """The grams of all prompts, by their length and text."""

    def __init__(self, settings: ContaminationRule, prompts: Sequence[Prompt]) -> None:
        self.min_share = settings.min_share
        self.asked: dict[int, dict[Gram, list[_Asked]]] = defaultdict(lambda: defaultdict(list))
        seeds: set[str] = set()
        for prompt in prompts:
            for turn in _asked(prompt):
                tokens = words(turn.content)
                n = _size(tokens, settings)
                grams = _grams(tokens, n)
                for gram in grams:
                    self.asked[n][gram].append(_Asked(prompt.id, turn.content, n, len(grams)))
                seeds |= _seeds(grams, settings.min_share)
        if not self.asked:
            raise UserError(
                "no evaluation prompt to compare with: data/seed/evaluation_prompts.jsonl is empty; restore it from git."
            )
        options = re2.Options()
        options.max_mem = SEEK_BYTES
        self._seek = re2.compile("|".join(re2.escape(seed) for seed in sorted(seeds)), options)

    def hits(self, example: Example) -> Iterator[Hit]:
        """Hits of one row, by turn, then prompt."""
        for number, turn in enumerate(example.turns):
            if turn.role == "system":
                continue
            tokens = words(turn.content)
            if self._seek.search(f" {' '.join(tokens)} ") is None:
                continue
            shared: dict[_Asked, list[int]] = defaultdict(list)
            for n, by_gram in self.asked.items():
                for gram, place in _places(tokens, n).items():
                    for asked in by_gram.get(gram, ()):
                        shared[asked].append(place)
            for asked, places in sorted(shared.items()):
                if (share := len(places) / asked.num_grams) >= self.min_share:
                    spans = word_spans(turn.content)
                    start, end = spans[min(places)][0], spans[max(places) + asked.n - 1][1]
                    reason = f"{share:.2f} of the {asked.n}-grams of evaluation prompt {asked.prompt}: {asked.text[:QUOTED]}"
                    yield Hit(turn=number, start=start, end=end, reason=reason)


def _turn_seeds(turn: Turn, settings: ContaminationRule) -> set[str]:
    tokens = words(turn.content)
    return _seeds(_grams(tokens, _size(tokens, settings)), settings.min_share)


def _size(tokens: Sequence[str], settings: ContaminationRule) -> int:
    """Words of a gram for a turn of so many."""
    return max(MIN_GRAM, min(settings.ngram, len(tokens) // 5))


def _seeds(grams: set[Gram], min_share: float) -> set[str]:
    """Openings of grams of which a row that shares enough of them must hold one: all but what it may lack."""
    needed = max(1, math.ceil(min_share * len(grams) - 1e-9))
    longest = sorted(grams, key=lambda gram: (-len(" ".join(gram[:MIN_GRAM])), gram))
    return {f" {' '.join(gram[:MIN_GRAM])} " for gram in longest[: len(grams) - needed + 1]}


def _asked(prompt: Prompt) -> Iterator[Turn]:
    """The user turns of a prompt that are long enough to be known again."""
    return (turn for turn in prompt.turns if turn.role == "user" and len(words(turn.content)) >= MIN_WORDS)


def _grams(tokens: Sequence[str], n: int) -> set[Gram]:
    return {tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)}


def _places(tokens: Sequence[str], n: int) -> dict[Gram, int]:
    """Each gram with the place of its first word, where it stands first."""
    return {tuple(tokens[i : i + n]): i for i in range(len(tokens) - n, -1, -1)}
