"""The `annotate` stage: one rule on every raw row, all of its hits.

One file per rule, so that one rule's setting makes only its own file stale. Rules are loaded by name
for the same reason. Knows nothing of dropping.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from nightgarden.curation import canaries as known
from nightgarden.curation.canaries import Canaries
from nightgarden.jsonl import read, write
from nightgarden.params import Curation, RuleSettings
from nightgarden.records import Annotation, Example, Hit, Prompt, Turn

log = logging.getLogger(__name__)

RAW = Path("data/raw/examples.jsonl")
PROMPTS = Path("data/seed/evaluation_prompts.jsonl")
BEYOND_ONE_ROW = ("duplicate", "contamination")
"""Rules that compare rows with each other, or with the evaluation's prompts."""


class _PromptLine(msgspec.Struct):
    """What contamination needs of a line of the prompts' file; its other fields are evaluation's."""

    id: str
    category: str
    messages: tuple[Turn, ...]


def annotations_file(rule: str) -> Path:
    """Where a rule's annotations lie, relative to the root."""
    return Path(f"data/annotations/{rule}.jsonl")


def load(rule: str) -> Any:
    """The module of a rule (its interface: `rules/__init__.py`)."""
    return importlib.import_module(f"nightgarden.curation.rules.{rule}")


def read_prompts(root: Path) -> tuple[Prompt, ...]:
    """The evaluation's prompts.

    Raises:
        UserError: missing or not readable.
    """
    lines: list[_PromptLine] = list(read(root / PROMPTS, _PromptLine))
    return tuple(Prompt(id=line.id, category=line.category, turns=line.messages) for line in lines)


def prompts_for(rule: str, settings: RuleSettings, root: Path) -> tuple[Prompt, ...]:
    """The evaluation's prompts for the one rule that compares with them, nothing for the others."""
    return read_prompts(root) if rule == "contamination" and settings.enabled else ()


def find(
    rule: str, rows: Sequence[Example], settings: RuleSettings, prompts: Sequence[Prompt] = ()
) -> dict[str, tuple[Hit, ...]]:
    """Row id -> its hits, for the rows that have any; nothing where the rule is switched off."""
    if not settings.enabled:
        return {}
    module = load(rule)
    if rule in BEYOND_ONE_ROW:
        found: dict[str, tuple[Hit, ...]] = module.all_hits(rows, settings, prompts)
        return found
    return {row.id: hits for row in rows if (hits := module.hits(row, settings))}


def canaries_of(rule: str, settings: RuleSettings, prompts: Sequence[Prompt] = ()) -> Canaries:
    """The canaries of a rule under its settings; none where it is switched off."""
    if not settings.enabled:
        return Canaries(bad=(), clean=())
    module = load(rule)
    made: Canaries = module.canaries(settings, prompts) if rule in BEYOND_ONE_ROW else module.canaries(settings)
    return made


def find_with_canaries(
    rule: str, rows: Sequence[Example], settings: RuleSettings, prompts: Sequence[Prompt] = ()
) -> dict[str, tuple[Hit, ...]]:
    """`find` with the rule's canaries among the rows; they are judged and taken out again.

    Raises:
        Refusal: a bad canary was missed or a clean one hit.
    """
    canaries = canaries_of(rule, settings, prompts)
    found = find(rule, [*canaries.rows, *rows], settings, prompts)
    known.judge(rule, canaries, found.keys(), "hit")
    return known.without(found)


def annotate(rule: str, curation: Curation, root: Path) -> dict[str, float | int | str]:
    """Apply one rule to every raw row and write its annotations, sorted by id.

    Returns:
        `rows` seen, `rows_hit`, `hits`.

    Raises:
        Refusal: a canary was judged wrongly; nothing is written.
    """
    settings = curation.rules.of(rule)
    rows: list[Example] = list(read(root / RAW, Example))
    found = find_with_canaries(rule, rows, settings, prompts_for(rule, settings, root))
    write(root / annotations_file(rule), (Annotation(id=id_, hits=found[id_]) for id_ in sorted(found)))
    report = {"rows": len(rows), "rows_hit": len(found), "hits": sum(map(len, found.values()))}
    log.info("annotate %s: %d of %d rows hit", rule, len(found), len(rows))
    return dict(report)
