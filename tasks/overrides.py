"""Forms over params.yaml: every field empty = as in the file.

A field takes its type and limits from `nightgarden.params`, so a form cannot allow what the file refuses.
Knows no flow and no working tree.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Optional, get_args

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.fields import FieldInfo

from nightgarden.params import Params, Section


class Overrides(BaseModel):
    """What one run changes; a run with any of it works in a git worktree of its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    paths: ClassVar[dict[str, str]] = {}
    """Field name -> dotted path in params.yaml."""

    def changes(self) -> dict[str, Any]:
        """Dotted path in params.yaml -> new value, for the fields that were filled in."""
        filled = self.model_dump(mode="json", exclude_none=True)
        return {path: filled[name] for name, path in self.paths.items() if name in filled}

    @property
    def source_file(self) -> str | None:
        """A file of outside rows to take as one more source, if the form has that field and it was filled in."""
        return getattr(self, "input_file", None)

    @property
    def empty(self) -> bool:
        """Whether the run is exactly as in params.yaml."""
        return not self.changes() and not self.source_file


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


INPUT_FILE = "A .json or .jsonl file on this machine (alpaca, ShareGPT or messages), taken as one more source of op 0"


def form(name: str, fields: dict[str, tuple[str, str]], *, takes_file: bool = False) -> type[Overrides]:
    """A form with one optional field per setting.

    Args:
        name: class name, shown in the schema.
        fields: field name -> (dotted path in params.yaml, what it is).
        takes_file: adds the field `input_file`.
    """
    columns: dict[str, Any] = {}
    for column, (path, words) in fields.items():
        found = setting(path)
        limited: Any = Annotated[(found.annotation, *found.metadata)] if found.metadata else found.annotation
        columns[column] = (Optional[limited], Field(None, description=f"{words}. Empty = as in params.yaml ({path})"))  # noqa: UP045
    if takes_file:
        columns["input_file"] = (str | None, Field(None, description=INPUT_FILE))
    made: type[Overrides] = create_model(name, __base__=Overrides, __doc__=Overrides.__doc__, **columns)
    made.paths = {column: path for column, (path, _) in fields.items()}
    return made


CURATION = {
    "rows": ("curation.rebalance.rows", "Rows to keep in all"),
    "held_out": ("curation.split.held_out", "Share of the rows held out"),
    "max_exclamations": ("curation.rules.exclamation.max_marks", "Exclamation marks allowed in an answer"),
    "exclamation_scope": ("curation.rules.exclamation.scope", "Where exclamation marks count"),
    "max_bullet_lines": ("curation.rules.bullets.max_lines", "List lines allowed in an answer"),
    "max_answer_words": ("curation.rules.length.max_answer_words", "Longest answer, in words"),
    "min_jaccard": ("curation.rules.duplicate.min_jaccard", "Similarity from which a row is a near-copy"),
}
TRAINING = {
    "base": ("base", "Model spec that is trained and measured"),
    "rank": ("training.rank", "LoRA rank"),
    "alpha": ("training.alpha", "LoRA alpha"),
    "learning_rate": ("training.learning_rate", "Learning rate"),
    "epochs": ("training.epochs", "Passes over the training rows"),
    "batch_size": ("training.batch_size", "Rows per optimiser step"),
    "training_seed": ("training.seed", "Seed of the training order"),
}
EVALUATION = {
    "prompts": ("evaluation.prompts", "Prompts to use, balanced over the categories"),
    "seeds": ("evaluation.seeds", "Replies per prompt and side"),
    "temperature": ("evaluation.temperature", "Sampling temperature; 0 = greedy"),
    "max_new_tokens": ("evaluation.max_new_tokens", "Longest reply, in tokens"),
}
NIGHT = {
    "max_epochs": ("night.student.max_epochs", "Most epochs per head"),
    "head_learning_rate": ("night.student.learning_rate", "Learning rate of the heads"),
    "held_out_lessons": ("night.trust.held_out", "Share of the lessons held out"),
    "consult_from": ("night.trust.consult_from", "Trust from which a head is consulted"),
}

CurationForm = form("CurationForm", CURATION, takes_file=True)
TrainingForm = form("TrainingForm", TRAINING)
EvaluationForm = form("EvaluationForm", EVALUATION)
BuildForm = form("BuildForm", CURATION | TRAINING | EVALUATION, takes_file=True)
NightForm = form("NightForm", NIGHT)
