"""contamination: rows that hold a prompt of the evaluation, whole or slightly changed.

A fixed 12-gram never matches a prompt of eleven words, and one changed word breaks eight 8-grams. So
the grams of a short prompt are short: a fifth of its words, at least MIN_GRAM, at most the setting.
Compared are the user turns of prompts with the user and assistant turns of rows; system texts are
meant to be shared. A prompt turn under MIN_WORDS words ("And now?") says too little to be known again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nightgarden.curation.canaries import Canaries, bad_row, clean_rows
from nightgarden.curation.matching import words
from nightgarden.errors import UserError
from nightgarden.params import ContaminationRule
from nightgarden.records import Example, Hit, Prompt, Turn

ENGINE = "python/adaptive-ngram-1"
MIN_GRAM = 3
MIN_WORDS = 5
CANARY_BAD = ("Somebody asked: {} What would you say?",)
"""How a prompt is wrapped; the canaries are the evaluation's own prompts, plain and wrapped."""
CANARY_PROMPTS = (
    Prompt(
        id="canary", category="canary", turns=(Turn(role="user", content="How many swans winter on the moat of Castle Perrin?"),)
    ),
)
"""Stands in for the evaluation's prompts where a stage does not read them."""

Gram = tuple[str, ...]


def canaries(settings: ContaminationRule, prompts: Sequence[Prompt]) -> Canaries:
    """Every evaluation prompt as it stands, and wrapped in other words."""
    texts = [turn.content for prompt in prompts for turn in _asked(prompt)]
    wrapped = [form.format(text) for form in ("{}", *CANARY_BAD) for text in texts]
    bad = tuple(bad_row("contamination", number, "Eight.", prompt=text) for number, text in enumerate(wrapped))
    return Canaries(bad=bad, clean=clean_rows())


def all_hits(examples: Sequence[Example], settings: ContaminationRule, prompts: Sequence[Prompt]) -> dict[str, tuple[Hit, ...]]:
    """Row id -> a hit for every turn and prompt that share enough.

    Raises:
        UserError: there are no evaluation prompts; a rule without them would pass everything.
    """
    index = _Index(settings, prompts)
    found = {example.id: tuple(index.hits(example)) for example in examples}
    return {id_: hits for id_, hits in found.items() if hits}


class _Asked(NamedTuple):
    """One user turn of an evaluation prompt as grams."""

    prompt: str
    n: int
    num_grams: int


class _Index:
    """The grams of all prompts, by their length and text."""

    def __init__(self, settings: ContaminationRule, prompts: Sequence[Prompt]) -> None:
        self.min_share = settings.min_share
        self.asked: dict[int, dict[Gram, list[_Asked]]] = defaultdict(lambda: defaultdict(list))
        for prompt in prompts:
            for turn in _asked(prompt):
                tokens = words(turn.content)
                n = max(MIN_GRAM, min(settings.ngram, len(tokens) // 5))
                grams = _grams(tokens, n)
                for gram in grams:
                    self.asked[n][gram].append(_Asked(prompt.id, n, len(grams)))
        if not self.asked:
            raise UserError(
                "no evaluation prompt to compare with: data/seed/evaluation_prompts.jsonl is empty; restore it from git."
            )

    def hits(self, example: Example) -> Iterator[Hit]:
        """Hits of one row, by turn, then prompt."""
        for number, turn in enumerate(example.turns):
            if turn.role == "system":
                continue
            tokens = words(turn.content)
            shared = Counter(
                asked for n, by_gram in self.asked.items() for g in _grams(tokens, n) for asked in by_gram.get(g, ())
            )
            for asked, count in sorted(shared.items()):
                if (share := count / asked.num_grams) >= self.min_share:
                    reason = f"{share:.2f} of the {asked.n}-grams of evaluation prompt {asked.prompt}"
                    yield Hit(turn=number, start=0, end=0, reason=reason)


def _asked(prompt: Prompt) -> Iterator[Turn]:
    """The user turns of a prompt that are long enough to be known again."""
    return (turn for turn in prompt.turns if turn.role == "user" and len(words(turn.content)) >= MIN_WORDS)


def _grams(tokens: Sequence[str], n: int) -> set[Gram]:
    return {tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)}
