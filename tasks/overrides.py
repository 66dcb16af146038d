"""Forms over params.yaml: every field empty = as in the file.

A field takes its limits from `nightgarden.params`, so a form cannot allow what the file refuses. Knows no
flow and no working tree.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo

from nightgarden.params import Params
from nightgarden.sections import Section

LIMITS = {Ge: "ge", Gt: "gt", Le: "le", Lt: "lt"}


def setting(path: str) -> FieldInfo:
    """The field of `Params` that a dotted path names."""
    section: type[Section] = Params
    *way, last = path.split(".")
    for part in way:
        section = _section(section.model_fields[part].annotation)
    return section.model_fields[last]


def _section(annotation: Any) -> type[Section]:
    for candidate in (annotation, *get_args(annotation)):
        if isinstance(candidate, type) and issubclass(candidate, Section):
            return candidate
    raise TypeError(f"{annotation} is no section of params.yaml")


def override(path: str, words: str) -> Any:
    """An empty field that stands for one setting, with that setting's limits.

    Args:
        path: dotted path in params.yaml.
        words: what it is.
    """
    limits: dict[str, Any] = {
        name: getattr(limit, name) for limit in setting(path).metadata for kind, name in LIMITS.items() if isinstance(limit, kind)
    }
    return Field(
        default=None, description=f"{words}. Empty = as in params.yaml ({path}).", json_schema_extra={"setting": path}, **limits
    )


class Overrides(BaseModel):
    """What one run changes; a run with any of it works in a git worktree of its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def settings(cls) -> dict[str, str]:
        """Field name -> dotted path in params.yaml."""
        extras = {name: field.json_schema_extra for name, field in cls.model_fields.items()}
        return {name: str(extra["setting"]) for name, extra in extras.items() if isinstance(extra, dict)}

    def changes(self) -> dict[str, Any]:
        """Dotted path in params.yaml -> new value, for the fields that were filled in."""
        filled = self.model_dump(mode="json", exclude_none=True)
        return {path: filled[name] for name, path in self.settings().items() if name in filled}

    @property
    def source_file(self) -> str | None:
        """A file of outside rows to take as one more source, if the form has that field and it was filled in."""
        return getattr(self, "input_file", None)

    @property
    def empty(self) -> bool:
        """Whether the run is exactly as in params.yaml."""
        return not self.changes() and not self.source_file


class CurationForm(Overrides):
    """What one run of the curation changes; such a run works in a git worktree of its own."""

    input_file: str | None = Field(
        default=None,
        description="A file of chat data on this machine (.json, .jsonl, packed or not, .parquet), one more source of op 0.",
    )
    rows: int | None = override("curation.rebalance.rows", "Rows to keep in all")
    held_out: float | None = override("curation.split.held_out", "Share of the rows held out")
    max_exclamations: int | None = override("curation.rules.exclamation.max_marks", "Exclamation marks allowed in an answer")
    exclamation_scope: Literal["assistant", "whole_row"] | None = override(
        "curation.rules.exclamation.scope", "Where exclamation marks count"
    )
    max_bullet_lines: int | None = override("curation.rules.bullets.max_lines", "List lines allowed in an answer")
    max_answer_words: int | None = override("curation.rules.length.max_answer_words", "Longest answer, in words")
    min_jaccard: float | None = override("curation.rules.duplicate.min_jaccard", "Similarity from which a row is a near-copy")


class TrainingForm(Overrides):
    """What one run of the training changes; such a run works in a git worktree of its own."""

    base: str | None = override("base", "Model spec that is trained and measured")
    rank: int | None = override("training.rank", "LoRA rank")
    alpha: int | None = override("training.alpha", "LoRA alpha")
    learning_rate: float | None = override("training.learning_rate", "Learning rate")
    epochs: float | None = override("training.epochs", "Passes over the training rows")
    batch_size: int | None = override("training.batch_size", "Rows per optimiser step")
    training_seed: int | None = override("training.seed", "Seed of the training order")


class EvaluationForm(Overrides):
    """What one run of the evaluation changes; such a run works in a git worktree of its own."""

    prompts: int | None = override("evaluation.prompts", "Prompts to use, balanced over the categories")
    seeds: int | None = override("evaluation.seeds", "Replies per prompt and side")
    temperature: float | None = override("evaluation.temperature", "Sampling temperature; 0 = greedy")
    max_new_tokens: int | None = override("evaluation.max_new_tokens", "Longest reply, in tokens")


class BuildForm(CurationForm, TrainingForm, EvaluationForm):
    """What one run from raw rows to adapter changes; such a run works in a git worktree of its own."""


class NightForm(Overrides):
    """What one night changes; such a night works in a git worktree of its own."""

    max_epochs: int | None = override("night.student.max_epochs", "Most epochs per head")
    head_learning_rate: float | None = override("night.student.learning_rate", "Learning rate of the heads")
    held_out_lessons: float | None = override("night.trust.held_out", "Share of the lessons held out")
    consult_from: float | None = override("night.trust.consult_from", "Trust from which a head is consulted")
