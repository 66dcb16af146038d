"""params.yaml as frozen sections; the only reader of that file.

Literals here are identity: they change a result. Where a thing runs is an argument elsewhere.
A key that no section knows is refused with the nearest known names.
"""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from nightgarden import strict_yaml
from nightgarden.errors import UserError
from nightgarden.faults import explain
from nightgarden.rule_params import RULES, Rules
from nightgarden.sections import Count, InsidePath, Key, Section, Share

PARAMS_FILE = Path("params.yaml")
FIRST = "synthesise"
"""The stage whose rows the first pass reads."""


class ModelSpec(Section):
    """Where a base model lies, and which hub repository it comes from, if any."""

    folder: InsidePath
    """Relative to the repository: `models/base/NAME`, on which dvc.yaml depends by the model's name."""
    repo: str | None = None
    """Hub repository id; downloaded only by `nightgarden fetch NAME`."""
    revision: str | None = None
    template: Key
    """Name of the chat template in templates/registry.py."""
    dtype: Literal["float32", "bfloat16"]
    """dtype of the loaded parameters, asserted after loading."""
    sibling: str | None = None
    """Name of the instruct model that was made from this base model: a third column of an evaluation."""

    @model_validator(mode="after")
    def _at_a_revision(self) -> ModelSpec:
        if (self.repo is None) != (self.revision is None):
            raise ValueError("give `repo` and `revision` together, or neither for a model that you put there yourself")
        return self


class SourceSpec(Section):
    """One file of raw rows, or one dataset."""

    path: InsidePath | None = None
    dataset: str | None = Field(None, pattern=r"^[A-Za-z0-9_][A-Za-z0-9_./-]*$")
    """A name that curation/sources/hub.py knows, a Hugging Face id (`OWNER/NAME`), or a folder of Parquet or JSON files here."""
    revision: str | None = Field(None, pattern=r"^[0-9a-f]{40}$")
    """Commit of the hub's repository, 40 hex digits: a branch's name would stand for other rows tomorrow. None takes
    the commit that hub.py knows of a known name."""
    config: str | None = None
    split: str = "train"
    op: int | None = Field(None, ge=0, le=3)
    """Op for every row of an outside file; None where rows carry their own."""
    rows: int | None = Field(None, ge=1)
    """Rows to take from the start of the file; None takes all."""
    licence: str | None = None
    """Under which the rows may be used, such as an SPDX identifier; the data card says where none is told."""

    @model_validator(mode="after")
    def _one_place(self) -> SourceSpec:
        if (self.path is None) == (self.dataset is None):
            raise ValueError("give `path` for a file, or `dataset` for a Hugging Face dataset, and not both")
        if self.path is not None and (self.revision or self.config):
            raise ValueError("`revision` and `config` belong to a `dataset`, not to a file")
        return self

    @property
    def place(self) -> str:
        """What stands for the source in positions and quarantine: the file, or the dataset, revision and split."""
        if self.path is not None:
            return self.path
        at = f"@{self.revision}" if self.revision else ""
        return "/".join(filter(None, (f"{self.dataset}{at}", self.config, self.split)))


class Synthesis(Section):
    """New rows of ops 1 to 3, asked of a teacher; where its server is, and how many calls go at once, is no setting."""

    rows: tuple[Count, Count, Count]
    """Rows to make, of ops 1, 2 and 3: at most one of each line of data/seed/synthesis."""
    model: str | None = None
    """Model name at the server; None = the embedded model, which starts and stops itself."""
    temperature: float = Field(ge=0)
    max_tokens: int = Field(ge=1)
    """An answer that is cut here makes no row, and the next line is asked about."""
    seed: int
    price_per_million_prompt: float | None = Field(None, ge=0)
    price_per_million_completion: float | None = Field(None, ge=0)
    """Prices of a million tokens, in the currency of your bill; None = unknown, and the cost is then unknown too."""


class Waiver(Section):
    """A reviewed exception from a loss budget: who allowed a pass to take how many rows of an op, when and why."""

    op: int = Field(ge=0, le=3)
    rows: int = Field(ge=1)
    """Seed rows of the op that the pass may take in all."""
    why: str = Field(min_length=1)
    by: str = Field(min_length=1)
    date: datetime.date


class PassSpec(Section):
    """One filter pass: who comes before it, the file that it reads, and what becomes of a row with a hit."""

    prev: Key
    prevfile: InsidePath
    on_hit: Literal["drop", "repair"] = "drop"
    """`repair` hands the row on without what was hit, under a new id; a row that no repair helps is dropped."""
    budget: Share | tuple[Share, Share, Share, Share] | None = None
    """Largest share of an op's seed rows that the pass may drop, one for all ops or one for each; None = any."""
    waivers: tuple[Waiver, ...] = ()

    def allowed(self, op: int, rows: int) -> int:
        """Seed rows of an op, of so many, that the pass may drop."""
        budget = self.budget[op] if isinstance(self.budget, tuple) else self.budget
        if budget is None:
            return rows
        return max(int(budget * rows + 1e-9), sum(waiver.rows for waiver in self.waivers if waiver.op == op))


class RebalanceSettings(Section):
    """The mix of ops."""

    shares: tuple[float, float, float, float]
    """Target share per op; sums to 1."""
    tolerance: float = Field(gt=0, le=0.1)
    """Largest allowed distance of a share from its target."""
    rows: int | None = Field(None, ge=4)
    """Rows to keep in all; None keeps as many as the mix allows."""

    @model_validator(mode="after")
    def _sums_to_one(self) -> RebalanceSettings:
        if abs(sum(self.shares) - 1) > 1e-9:
            raise ValueError(f"shares sum to {sum(self.shares)}; they must sum to 1")
        return self


class SplitSettings(Section):
    """The held-out part, chosen by content id."""

    held_out: float = Field(gt=0, lt=0.5)


class GateSettings(Section):
    """What a dataset must satisfy before it may be trained on."""

    min_rows: int = Field(ge=1)


class Curation(Section):
    """Flow 1: from sources to a gated dataset."""

    sources: dict[Key, SourceSpec]
    synthesis: Synthesis
    rules: Rules
    passes: dict[Key, PassSpec]
    rebalance: RebalanceSettings
    split: SplitSettings
    gate: GateSettings

    @model_validator(mode="after")
    def _chain(self) -> Curation:
        unknown = sorted(set(self.passes) - set(RULES))
        if unknown:
            raise ValueError(f"curation.passes names {unknown}; rules are {list(RULES)}")
        known = {FIRST: "data/synthesised/examples.jsonl"} | {key: f"data/curated/{key}/examples.jsonl" for key in self.passes}
        for key, item in self.passes.items():
            if known.get(item.prev) != item.prevfile or item.prev == key:
                raise ValueError(
                    f"curation.passes.{key}: prev {item.prev!r} with prevfile {item.prevfile!r}; "
                    f"prev must be one of {sorted(set(known) - {key})} and prevfile its examples.jsonl"
                )
        after = {item.prev: key for key, item in self.passes.items()}
        reached, place = [], FIRST
        while (place := after.get(place, "")) and place not in reached:
            reached.append(place)
        if lost := sorted(set(self.passes) - set(reached)):
            raise ValueError(f"curation.passes: {lost} do not stand in the one chain from {FIRST}; each needs a prev of its own")
        return self

    @property
    def first(self) -> str:
        """The stage that the first pass follows."""
        (found,) = {item.prev for item in self.passes.values()} - set(self.passes)
        return found

    @property
    def last_pass(self) -> str:
        """The pass that no other pass follows."""
        followed = {item.prev for item in self.passes.values()}
        (last,) = [key for key in self.passes if key not in followed]
        return last


class Training(Section):
    """Flow 2: the adapter."""

    rank: int = Field(ge=1)
    alpha: int = Field(ge=1)
    dropout: float = Field(ge=0, lt=1)
    learning_rate: float = Field(gt=0)
    epochs: float = Field(gt=0)
    batch_size: int = Field(ge=1)
    """Rows per optimiser step (effective batch)."""
    micro_batch: int = Field(ge=1)
    """Rows per forward pass; divides batch_size."""
    warmup: float = Field(ge=0, lt=1)
    """Share of the steps with a rising learning rate."""
    max_length: int = Field(ge=16)
    """Tokens; longer rows meet `over_length`."""
    over_length: Literal["raise", "drop"]
    checkpoint_steps: int = Field(ge=1)
    seed: int

    @model_validator(mode="after")
    def _divides(self) -> Training:
        if self.batch_size % self.micro_batch:
            raise ValueError(f"micro_batch {self.micro_batch} does not divide batch_size {self.batch_size}")
        return self


class RaterSettings(Section):
    """Who gives each reply 1 to 5, if anybody does; its scores count only once it has passed its exam."""

    by: Literal["nobody", "server"]
    model: str | None = None
    """Model name at the server; None = the embedded model, which starts and stops itself."""


class Evaluation(Section):
    """Flow 3: stock and adapted side by side."""

    prompts: int | None = Field(None, ge=4)
    """Prompts to use, balanced over the categories; None uses all."""
    seeds: int = Field(ge=1)
    """Replies per prompt and side."""
    max_new_tokens: int = Field(ge=1)
    temperature: float = Field(ge=0)
    """0 = greedy."""
    top_p: float = Field(gt=0, le=1)
    batch_size: int = Field(ge=1)
    max_reply_words: int | None = Field(ge=1)
    """Longer replies fail the length check; None: only one that is cut off does."""
    alpha: float = Field(gt=0, lt=1)
    """Level of intervals and of the paired tests."""
    first_tokens: int = Field(ge=0)
    """Prompts whose beginnings are crossed between the sides, 20 more replies each and seed; 0 leaves that panel out."""
    rater: RaterSettings

    @model_validator(mode="after")
    def _greedy_once(self) -> Evaluation:
        if self.temperature == 0 and self.seeds > 1:
            raise ValueError(f"temperature 0 with seeds {self.seeds}: a greedy reply is the same for every seed; set seeds to 1")
        return self


class Window(Section):
    """When a night may start."""

    start: str
    end: str
    """HH:MM on the wall clock of `zone`."""
    zone: str
    """IANA name."""
    quiet_minutes: int = Field(ge=0)


class Teacher(Section):
    """Who labels, and how much a night may ask."""

    by: Literal["hand-written", "server"]
    """`hand-written` takes the labels that lie beside the frozen day; `server` asks an OpenAI-compatible server."""
    model: str | None = None
    """Model name at the server; None = the embedded model, which starts and stops itself."""
    temperature: float = Field(ge=0)
    importance: int = Field(ge=0)
    appraisal: int = Field(ge=0)
    recalls: int = Field(ge=0)
    interest: int = Field(ge=0)


class Student(Section):
    """The small model with five heads."""

    hidden: int = Field(ge=1)
    """Units of the one hidden layer of each head."""
    learning_rate: float = Field(gt=0)
    max_epochs: int = Field(ge=1)
    patience: int = Field(ge=1)
    """Epochs without a better inner-validation loss before a head stops."""
    seed: int


class TrustSettings(Section):
    """When a night's model is promoted and a head consulted."""

    held_out: float = Field(gt=0, lt=0.5)
    split: Literal["group", "seed"]
    group_cosine: float = Field(gt=0, le=1)
    """Texts at or above this cosine share a group."""
    min_mean_change: float
    """Mean skill change across heads below which the night is discarded."""
    max_head_drop: float = Field(gt=0)
    consult_from: float = Field(ge=0, le=1)


class Night(Section):
    """Flow 4: nightly distillation."""

    window: Window
    teacher: Teacher
    student: Student
    trust: TrustSettings


class Params(Section):
    """The whole of params.yaml."""

    base: str
    """Name of the model spec that is trained, evaluated and talked to."""
    models: dict[str, ModelSpec]
    curation: Curation
    training: Training
    evaluation: Evaluation
    night: Night

    @model_validator(mode="after")
    def _base_known(self) -> Params:
        if self.base not in self.models:
            raise ValueError(f"base is {self.base!r}; models has {sorted(self.models)}")
        for name, spec in self.models.items():
            if spec.folder != f"models/base/{name}":
                raise ValueError(f"models.{name}.folder is {spec.folder!r}; it must be models/base/{name}, as in dvc.yaml")
            if spec.sibling is not None and (spec.sibling == name or spec.sibling not in self.models):
                raise ValueError(f"models.{name}.sibling is {spec.sibling!r}; it must be another of {sorted(self.models)}")
        return self

    @property
    def base_spec(self) -> ModelSpec:
        """The spec of the base model."""
        return self.models[self.base]


def parse(raw: Any, path: Path = PARAMS_FILE) -> Params:
    """Validate the parsed YAML of params.yaml.

    Raises:
        UserError: unknown keys (with the near ones), wrong types or limits.
    """
    try:
        return Params.model_validate(raw)
    except ValidationError as error:
        raise UserError(explain(error, Params, path)) from error


def load(path: Path = PARAMS_FILE) -> Params:
    """Read and validate params.yaml.

    Raises:
        UserError: missing, not YAML, or not valid.
    """
    return parse(strict_yaml.read(path, "Run from the repository's root."), path)
