"""The language of a text, offline: py3langid's model of 97 languages. Knows nothing else."""

from __future__ import annotations

from functools import cache
from typing import Any


def language_of(text: str) -> str | None:
    """ISO 639-1 code of the likeliest language, or None for a text without a letter.

    Case is folded first: the model has seen hardly any text in capitals.
    """
    if not any(char.isalpha() for char in text):
        return None
    return str(_identifier().classify(text.lower())[0])


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE)
