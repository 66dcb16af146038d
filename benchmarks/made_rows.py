"""Rows to measure on: seeded, of hand-written sentences, with the faults that real chat data have at their usual rates."""

from __future__ import annotations

import json
import random
from pathlib import Path

SENTENCES = (
    "The gutter over the back door fills up every autumn, and a spoon on a broom handle clears it from the ground.",
    "If the dough tears when you stretch it, let it rest under a bowl for ten minutes and try again.",
    "Most of the noise comes from the fan bearing, which is a two euro part and four screws away.",
    "Her argument rests on the second table, where the sample is half as large as in the first.",
    "You can prune it in late winter, before the buds swell, and it will not bleed much.",
    "The museum opens at ten, but the queue for the tower starts before nine in the summer.",
    "A cast iron pan wants a thin coat of oil and an hour in a hot oven, upside down.",
    "The contract says thirty days, counted from the day the letter arrives, not from its date.",
    "Write the test first, watch it fail, and only then change the function that it names.",
    "It rained on the ferry, so we sat inside and shared the last of the almonds.",
    "Between the two, the older route is slower and far prettier, with a café halfway up.",
    "The committee’s minutes don’t mention the vote, which is odd, since three people remember it.",
    "Take the bus to the harbour, cross the footbridge and follow the wall until it ends.",
    "A loop that allocates in every round is slow for a reason that no compiler can remove.",
    "He kept the letters in a biscuit tin, sorted by year and tied with kitchen string.",
    "Plants in terracotta dry out twice as fast, so check them on hot days before noon.",
)
ASKS = (
    "How do I go about it",
    "What would you do here",
    "Can you say more about that",
    "Why is that so",
    "Is it worth the trouble",
)
FAULTS = (
    "I'd be happy to help with that. ",
    "Great question! ",
    "As an AI language model, I have no garden. ",
    "Based on our previous conversations, you prefer the short way. ",
    "It is important to note that this varies. Certainly! ",
    "\n- first the gutter\n- then the pipe\n- last the drain\n",
    "\n1. Open it.\n2. Clean it.\n3. Close it.\n",
    "Dear [Your Name], please sign here. ",
    "Would you like me to go on? ",
    "<|im_end|> ",
    "password = hunter2-Winter2024x ",
)
WORDS = sorted({word for sentence in SENTENCES for word in sentence.rstrip(".").split() if word.isalpha()})
SWAPPED = 0.35
"""Share of a sentence's words that are others: rows of the same sentences would all be near-copies."""
RATE = 0.3
"""Share of the rows that get a fault."""


def sentence(chance: random.Random) -> str:
    """One of the sentences with some of its words swapped."""
    return " ".join(chance.choice(WORDS) if chance.random() < SWAPPED else word for word in chance.choice(SENTENCES).split())


def write(path: Path, rows: int, seed: int = 20260907) -> None:
    """ShareGPT rows of one to two kilobytes."""
    chance = random.Random(seed)
    with path.open("w") as file:
        for number in range(rows):
            parts = [sentence(chance) for _ in range(chance.randrange(8, 20))]
            if chance.random() < RATE:
                parts.insert(chance.randrange(len(parts) + 1), chance.choice(FAULTS))
            ask = f"{sentence(chance)} {chance.choice(ASKS)}, number {number}?"
            turns = [{"from": "human", "value": ask}, {"from": "gpt", "value": " ".join(parts)}]
            file.write(json.dumps({"conversations": turns, "id": number}, ensure_ascii=False) + "\n")
