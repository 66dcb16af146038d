"""The rows that travel between rooms, as frozen structs.

Knows the shape of every row and nothing about files, rules or models. Times are ISO 8601
strings with an offset, as they stand in the files; `clock.py` parses them.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

SCHEMA = 2
"""Version of the day records below; older lines are lifted by `memory/migrations.py`."""

Role = Literal["system", "user", "assistant"]
MemoryType = Literal["episodic", "semantic", "procedural", "reflective"]
MemoryKind = Literal["remark", "said", "insight", "thought"]
Source = Literal["user", "tool", "teacher", "consolidated", "model"]
Feeling = Literal["joy", "sadness", "frustration", "anxiety", "curiosity", "affection"]
FEELINGS: tuple[Feeling, ...] = ("joy", "sadness", "frustration", "anxiety", "curiosity", "affection")
Reaction = Literal["cold", "neutral", "warm"]
REACTIONS: tuple[Reaction, ...] = ("cold", "neutral", "warm")
Head = Literal["importance", "appraisal", "reaction", "relevance", "interest"]
HEADS: tuple[Head, ...] = ("importance", "appraisal", "reaction", "relevance", "interest")

OPS: tuple[str, ...] = ("bootstrap", "identity stripping", "context supremacy", "memory channels")
"""Names of the four operation types; the index is the op number."""


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of every row: frozen, keyword-only, unknown keys refused."""


class Turn(Record, frozen=True, kw_only=True):
    """One utterance of a chat."""

    role: Role
    content: str


class MemoryLine(Record, frozen=True, kw_only=True):
    """A memory as it stands in a prompt: what the memory block renders."""

    type: MemoryType
    text: str
    date: str | None = None
    """Local day, YYYY-MM-DD, or None for a timeless fact."""
    correction: bool = False
    """True where the user corrected a fact; it outranks older memories."""


class Example(Record, frozen=True, kw_only=True):
    """A prompt with the answer we want: a system turn if any, then user and assistant turns."""

    id: str
    """Content id (`digests.example_id`): same content, same id on any machine."""
    op: int
    """Operation type, 0..3, index into OPS."""
    turns: tuple[Turn, ...]
    memories: tuple[MemoryLine, ...] = ()
    directives: tuple[str, ...] = ()
    meta: dict[str, Any] = msgspec.field(default_factory=dict)
    """Provenance and foreign keys; never rendered. `meta.contrast` holds op 1's instruct-style answer."""


class Quarantined(Record, frozen=True, kw_only=True):
    """A line of a source that no shape fits, kept aside with its place."""

    file: str
    line: int
    """1-based line, element number in a JSON array, or row number in a table."""
    offset: int | None = None
    """Bytes of the unpacked file before the row; None for the row of a table."""
    reason: str
    raw: str
    """The raw text, or `sha256:...` where a secret was found in it."""


class Hit(Record, frozen=True, kw_only=True):
    """One place where a rule matched."""

    turn: int
    """Index into `Example.turns`; -1 for the row as a whole."""
    start: int
    end: int
    """Character span [start, end) in the turn's text; 0, 0 for the turn as a whole."""
    reason: str
    snippet: str = ""
    """The text of the span with some of its surroundings, at most 80 characters, secrets masked; empty where there is no span."""


class Annotation(Record, frozen=True, kw_only=True):
    """Every hit of one rule on one row; rows without a hit have no annotation."""

    id: str
    op: int
    hits: tuple[Hit, ...]


class LedgerLine(Record, frozen=True, kw_only=True):
    """One row that one pass did not hand on as it was, and why."""

    id: str
    op: int
    rule: str
    hits: tuple[Hit, ...]
    into: str | None = None
    """Id of the repaired row that went on in its stead; None for a row that was dropped."""
    sole: bool | None = None
    """True when no other rule has a hit on the row. None in a pass's own ledger: a pass reads only its own
    annotations, so that one rule's setting cannot make every pass stale; the funnel stage fills it in."""
    engine: str = ""
    """Rule engine, its version and the rule's hash: `re2-1.1/3fa2...`."""


class Constraint(Record, frozen=True, kw_only=True):
    """A checkable demand of an evaluation prompt; `kind` names the check, one field carries its value."""

    kind: str
    n: int | None = None
    any: tuple[str, ...] = ()
    text: str | None = None
    keys: tuple[str, ...] = ()
    args: dict[str, int | str | tuple[str, ...]] = {}
    """Arguments of an instruction of IFEval, whose kind has a colon."""


class Prompt(Record, frozen=True, kw_only=True):
    """An evaluation prompt: a chat that ends with the user, and what a good reply must satisfy."""

    id: str
    category: str
    turns: tuple[Turn, ...]
    memories: tuple[MemoryLine, ...] = ()
    directives: tuple[str, ...] = ()
    constraints: tuple[Constraint, ...] = ()


class Event(Record, frozen=True, kw_only=True, tag_field="record", tag="event"):
    """Something said in the conversation."""

    schema: int
    id: str
    at: str
    offset_minutes: int
    speaker: Literal["user", "companion"]
    text: str


class Memory(Record, frozen=True, kw_only=True, tag_field="record", tag="memory"):
    """A stored thing that can be recalled."""

    schema: int
    id: str
    at: str
    offset_minutes: int
    type: MemoryType
    kind: MemoryKind
    source: Source
    text: str


class Recall(Record, frozen=True, kw_only=True, tag_field="record", tag="recall"):
    """One search of the memory: what was asked and which memories came back."""

    schema: int
    id: str
    at: str
    offset_minutes: int
    query: str
    memories: tuple[str, ...]


class Reply(Record, frozen=True, kw_only=True, tag_field="record", tag="reply"):
    """What the companion answered to an event."""

    schema: int
    id: str
    at: str
    offset_minutes: int
    event: str
    text: str
    memories: tuple[str, ...] = ()
    """Ids of the memories that lay in the prompt."""
    unsent: str | None = None
    """A second draft that was not sent."""


class Feedback(Record, frozen=True, kw_only=True, tag_field="record", tag="feedback"):
    """The person's answer to a reply."""

    schema: int
    id: str
    at: str
    offset_minutes: int
    reply: str
    kind: Literal["reaction", "rating", "fact_correction", "style_correction"]
    text: str = ""
    rating: int | None = None
    """1..5, with kind `rating` only."""
    topic: str | None = None


DayRecord = Event | Memory | Recall | Reply | Feedback


class Label(Record, frozen=True, kw_only=True, tag_field="record", tag="label"):
    """A judgement on one item of a day.

    `value`: importance integer 1..10; appraisal an integer 0..100 per feeling; reaction cold,
    neutral or warm; relevance 0 or 1 (item is `recall/memory`); interest integer 0..100.
    """

    schema: int
    task: Head
    item: str
    value: int | str | dict[Feeling, int]
    by: str
    """Who judged: `hand-written`, `user`, or the teacher's model name with its prompt version."""


class Lesson(Record, frozen=True, kw_only=True):
    """One labelled item for the student."""

    id: str
    head: Head
    text: str
    """What the student reads; relevance joins query and memory."""
    pair: str | None = None
    """Second text, relevance only: the recalled memory."""
    target: tuple[float, ...]
    """importance (1..10,); appraisal six in [0, 1]; reaction class index (0..2,); relevance (0|1,); interest in [0, 1]."""
    by: str
    night: str
    """The night (YYYY-MM-DD) that brought the lesson."""
    group: str
    """Group of near-duplicates: the unit of the held-out split."""
