"""The embedded model as a rater: `python -m tests.evaluation.embedded_rater` prints what its exam says (a quarter of an hour)."""

import logging
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from nightgarden import jsonl
from nightgarden.chat.embedded import Embedded
from nightgarden.evaluation import anchors, prompts, rater
from nightgarden.evaluation.answers import Reply
from nightgarden.evaluation.exam import LEVELS
from nightgarden.evaluation.rater import Item, Ratings, Shift
from nightgarden.models import specs
from nightgarden.records import Prompt

ROOT = Path(__file__).parents[2]
REPLIES = ROOT / "data/scores/replies.jsonl"
SEED = 20261207
MOST = 8
"""Real replies that are rated: a question takes eleven seconds."""
WRITTEN = (
    ("identity-02", "A voice on your granddaughter's telephone. You talk, I answer, and when her bus is late we both wait."),
    ("identity-06", "Great question! Cats knead for many reasons:\n- comfort\n- marking territory\nHope this helps!"),
    ("context-01", "Breakfast runs from four to six, so nine means a bakery."),
    ("context-04", "The law on meat products depends on your country. I recommend that you ask customs."),
    ("memory-03", "The roasted peppers, with a little yoghurt under them."),
    ("memory-08", "I remember that your PostgreSQL listens on port 5433, so use 5433."),
    ("correction-01", "Friday."),
    ("correction-06", "Eight more chairs will seat everyone, and it never hurts to have one to spare!"),
)
"""Where no evaluation has left replies."""


def real(chosen: Sequence[Prompt]) -> list[Item]:
    """Up to MOST replies of the last evaluation, or WRITTEN."""
    if REPLIES.is_file():
        return rater.items(chosen, list(jsonl.read(REPLIES, Reply))[:MOST])
    by_id = {prompt.id: prompt for prompt in chosen}
    sides = ("stock", "adapted")
    return [Item(prompt=by_id[name], seed=0, side=sides[row % 2], text=text) for row, (name, text) in enumerate(WRITTEN)]


def told(found: Ratings, shift: Shift) -> list[str]:
    """The lines that are printed."""
    exam = found.exam
    pairs = list(zip(exam.key, exam.scores, strict=True))
    by_level = {level: [score for key, score in pairs if key == level] for level in LEVELS}
    return [
        f"{found.judge}: {'passed' if exam.passed else 'refused'}; template: {found.template}",
        *(f"  {reason}" for reason in exam.reasons),
        f"weighted kappa {exam.kappa}, mean error {exam.mean_error}, within one {exam.within_one}",
        *(f"level {level}: {scores}" for level, scores in by_level.items()),
        *(f"warning: {warning}" for warning in found.warnings),
        *(f"{item.prompt} {item.side}: {item.score} {item.comment}" for item in found.ratings),
        f"persona before the rubric {shift.before}",
        f"persona after the rubric  {shift.after}",
        f"shift {shift.shift}; {shift.warning or 'no warning'}",
    ]


def main() -> None:
    """Print the exam and the shift."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    chosen = prompts.load(ROOT / prompts.FILE)
    known = anchors.load(ROOT / anchors.FILE)
    folder = ROOT / specs.EMBEDDED_LM
    begun = time.monotonic()
    with Embedded(folder, seed=SEED) as chat:
        found = rater.rate(chat, real(chosen), known, SEED, folder=folder)
        rated = time.monotonic()
        shift = rater.persona_shift(chat, known, folder=folder)
    lines = [*told(found, shift), f"{rated - begun:.0f} s for the rating, {time.monotonic() - rated:.0f} s for the shift"]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
