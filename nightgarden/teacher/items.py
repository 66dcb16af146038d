"""What a frozen night holds that can be judged, in the one form that teacher and student both read.

Knows the records of a day; does not know who judges them or what becomes of the answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from nightgarden import jsonl
from nightgarden.records import DayRecord, Event, Feedback, Head, Label, Memory, Recall, Record, Reply

NIGHTS = Path("data/nights")

FELT = ("remark", "thought")
"""Kinds of memory that carry a feeling: what the person said and what the companion thought."""
OPEN = ("thought", "insight")
"""Kinds of memory that may be worth thinking about later."""


class Item(Record, frozen=True, kw_only=True):
    """One thing to judge, and a lesson's input."""

    id: str
    """As a label names it: a memory, a reply, `REPLY/unsent` or `RECALL/MEMORY`."""
    text: str
    pair: str | None = None
    """The recalled memory, with relevance only; `text` is then the query."""
    origin: str
    """The memory, recall or event that the item comes from: items of one origin are never split."""
    touched: bool = False
    """Whether the memory came back in a recall or lay in a prompt: it is worth asking about first."""


class Day:
    """The records of one frozen night by kind and id, in the order of the file."""

    def __init__(self, lines: Iterable[DayRecord | Label]) -> None:
        self.labels: list[Label] = []
        self.memories: dict[str, Memory] = {}
        self.events: dict[str, Event] = {}
        self.recalls: dict[str, Recall] = {}
        self.replies: dict[str, Reply] = {}
        self.feedback: list[Feedback] = []
        for line in lines:
            match line:
                case Label():
                    self.labels.append(line)
                case Memory():
                    self.memories[line.id] = line
                case Event():
                    self.events[line.id] = line
                case Recall():
                    self.recalls[line.id] = line
                case Reply():
                    self.replies[line.id] = line
                case Feedback():
                    self.feedback.append(line)


def read_day(night: str, root: Path) -> Day:
    """The frozen file of a night.

    Raises:
        UserError: missing, or a line that is no record of the current schema.
    """
    return Day(jsonl.read(root / NIGHTS / night / "day.jsonl", DayRecord | Label))


def items(day: Day) -> dict[Head, dict[str, Item]]:
    """Everything that each task may ask about, by id, in time order."""
    used = {name for recall in day.recalls.values() for name in recall.memories}
    used |= {name for reply in day.replies.values() for name in reply.memories}
    memories = [
        (memory.kind, Item(id=name, text=memory.text, origin=name, touched=name in used)) for name, memory in day.memories.items()
    ]
    return {
        "importance": {item.id: item for _, item in memories},
        "appraisal": {item.id: item for kind, item in memories if kind in FELT},
        "reaction": {item.id: item for reply in day.replies.values() for item in _drafts(reply, day.events)},
        "relevance": {item.id: item for recall in day.recalls.values() for item in _candidates(recall, day.memories)},
        "interest": {item.id: item for kind, item in memories if kind in OPEN},
    }


def answer_form(event: str, reply: str) -> str:
    """A reply with what it answered, as the reaction head and its teacher read it."""
    return f"Companion: {reply}\nAnswering: {event}"


def _drafts(reply: Reply, events: Mapping[str, Event]) -> list[Item]:
    """The reply that was sent, and the draft that was not."""
    said = events[reply.event].text
    sent = Item(id=reply.id, text=answer_form(said, reply.text), origin=reply.event)
    if reply.unsent is None:
        return [sent]
    return [sent, Item(id=f"{reply.id}/unsent", text=answer_form(said, reply.unsent), origin=reply.event)]


def _candidates(recall: Recall, memories: Mapping[str, Memory]) -> list[Item]:
    return [
        Item(id=f"{recall.id}/{name}", text=recall.query, pair=memories[name].text, origin=recall.id) for name in recall.memories
    ]


def by_worth(wanted: Sequence[Item], most: int, *, touched_first: bool = False) -> list[Item]:
    """At most `most` items, spread evenly over time, since a prefix would leave a long night's last days unheard.

    Args:
        wanted: items in time order.
        most: how many at most.
        touched_first: those that the conversation touched come before the others.
    """
    touched = [item for item in wanted if item.touched and touched_first]
    rest = [item for item in wanted if not (item.touched and touched_first)]
    first = _spread(touched, most)
    return first + _spread(rest, most - len(first))


def _spread(rows: Sequence[Item], most: int) -> list[Item]:
    """`most` rows at even distances, in their order; all if there are no more."""
    if len(rows) <= most:
        return list(rows)
    return [rows[index * len(rows) // most] for index in range(most)]


def rated_by_user(day: Day) -> dict[str, str]:
    """Reply id -> reaction, where the person gave a rating: 1-2 cold, 3 neutral, 4-5 warm; the last one counts."""
    named = {1: "cold", 2: "cold", 3: "neutral", 4: "warm", 5: "warm"}
    return {
        record.reply: named[record.rating]
        for record in day.feedback
        if record.kind == "rating" and record.rating in named and record.reply in day.replies
    }
