"""Length: the seed's stubborn fault was verbosity."""

from __future__ import annotations

from nightgarden.evaluation.answers import Answer, Score
from nightgarden.evaluation.wording import words


def length(answer: Answer) -> Score:
    """Number of words; passes up to `answer.max_words`, and never when the reply was cut off."""
    count = len(words(answer.text))
    is_long = answer.max_words is not None and count > answer.max_words
    if answer.truncated:
        reason = f"cut off after {count} words"
    else:
        reason = f"{count} words" + (f", at most {answer.max_words} allowed" if is_long else "")
    return Score(name="length", value=count, passed=not answer.truncated and not is_long, reason=reason)
