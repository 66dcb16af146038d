"""The rules of curation by name, and the settings of each.

Knows no rule: what they do stands in curation/rules, one file each.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from nightgarden.sections import Section

RULES: tuple[str, ...] = (
    "schema",
    "placeholder",
    "secrets",
    "residue",
    "instruct_isms",
    "memory_narration",
    "bullets",
    "exclamation",
    "question_cascade",
    "length",
    "duplicate",
    "contamination",
)
"""The twelve filter passes in the order that system.md gives."""


class RuleSettings(Section):
    """What the twelve rules take; one field per rule that has a setting."""

    enabled: bool = True


class PlaceholderRule(RuleSettings):
    """Unfilled slots and dry-run marks."""

    markers: tuple[str, ...]
    """Literal marks, matched on folded text without regard to case."""


class PhraseRule(RuleSettings):
    """Phrases that a target answer must not contain."""

    phrases: tuple[str, ...]
    """Matched on folded text, whole words, without regard to case."""


class BulletsRule(RuleSettings):
    """List lines in a target answer."""

    max_lines: int = Field(ge=0)


ExclamationContext = Literal["prose", "code", "markdown_image", "quotation"]


class ExclamationRule(RuleSettings):
    """Exclamation marks and their Unicode cousins."""

    scope: Literal["assistant", "whole_row"]
    contexts: tuple[ExclamationContext, ...] = Field(("prose", "code", "markdown_image", "quotation"), min_length=1)
    """Where a mark counts; one that stands in another context is let be."""
    max_marks: int = Field(ge=0)
    """Marks allowed in one turn."""


class QuestionCascadeRule(RuleSettings):
    """Answers that end in a question or pile questions up."""

    max_questions: int = Field(ge=0)
    """Question marks allowed in one answer."""
    allow_final: bool
    """Whether an answer may end in a question."""


class LengthRule(RuleSettings):
    """Words per answer and per row."""

    min_answer_words: int = Field(ge=1)
    max_answer_words: int = Field(ge=1)
    max_row_words: int = Field(ge=1)


class DuplicateRule(RuleSettings):
    """Near-copies by exact Jaccard similarity of word n-grams."""

    ngram: int = Field(ge=1, le=10)
    min_jaccard: float = Field(gt=0, le=1)
    max_same_answer: int = Field(ge=1)
    """Rows that may give the same answer word for word; where more do, all of them go."""


class ContaminationRule(RuleSettings):
    """Rows that share an n-gram run with an evaluation prompt."""

    ngram: int = Field(ge=3, le=20)
    """Longest n-gram asked for; a shorter prompt is matched whole."""
    min_share: float = Field(gt=0, le=1)
    """Share of the prompt's n-grams that a row must hold to be dropped."""


class Rules(Section):
    """Settings per rule; `schema`, `secrets` and `residue` have only `enabled`."""

    schema_: RuleSettings = Field(RuleSettings(), alias="schema")
    placeholder: PlaceholderRule
    secrets: RuleSettings = RuleSettings()
    residue: RuleSettings = RuleSettings()
    instruct_isms: PhraseRule
    memory_narration: PhraseRule
    bullets: BulletsRule
    exclamation: ExclamationRule
    question_cascade: QuestionCascadeRule
    length: LengthRule
    duplicate: DuplicateRule
    contamination: ContaminationRule

    def of(self, rule: str) -> RuleSettings:
        """Settings of one rule by its name."""
        value: RuleSettings = getattr(self, "schema_" if rule == "schema" else rule)
        return value
