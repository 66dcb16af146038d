"""The `annotate` stage: one rule on every raw row, all of its hits.

One file per rule, so that one rule's setting makes only its own file stale. Rules are loaded by name
for the same reason. Knows nothing of dropping.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from nightgarden.curation import canaries as known
from nightgarden.curation.accounts import order
from nightgarden.curation.canaries import Canaries
from nightgarden.curation.matching import ROW
from nightgarden.curation.shards import spread
from nightgarden.errors import UserError
from nightgarden.jsonl import encode, read, read_lines, whole_file
from nightgarden.params import Curation
from nightgarden.records import Annotation, Example, Hit, Prompt, Turn
from nightgarden.rule_params import RuleSettings

log = logging.getLogger(__name__)

RAW = Path("data/synthesised/examples.jsonl")
"""Every row that there is: what ingest took and what a teacher wrote."""
PROMPTS = Path("data/seed/evaluation_prompts.jsonl")
MORE_PROMPTS = Path("data/contamination")
"""Prompts of other evaluations, one .jsonl file each, that a user puts there (its README says how)."""
BEYOND_ONE_ROW = ("duplicate",)
"""Rules that compare rows with each other."""
WITH_PROMPTS = ("contamination",)
"""Rules that compare rows with the evaluation's prompts."""
SNIPPET = 80
"""Characters of a hit's text that its snippet shows at most."""

Hits = tuple[Hit, ...]


class _PromptLine(msgspec.Struct):
    """What contamination needs of a line of prompts: ours with `id` and `messages`, or IFEval's with `key` and `prompt`."""

    id: str | None = None
    category: str = ""
    messages: tuple[Turn, ...] = ()
    key: int | str | None = None
    prompt: str | None = None

    def as_prompt(self, file: str) -> Prompt:
        """The prompt, named by its file where it is not one of ours."""
        if self.prompt is not None:
            return Prompt(id=f"{file}:{self.key}", category=file, turns=(Turn(role="user", content=self.prompt),))
        return Prompt(id=self.id or file, category=self.category, turns=self.messages)


class _Annotated(NamedTuple):
    """What a shard of rows came to."""

    num_rows: int
    num_hit: int
    num_hits: int
    lines: bytes
    canaries: frozenset[str]
    """Ids of the canaries that were hit."""


def annotations_file(rule: str) -> Path:
    """Where a rule's annotations lie, relative to the root."""
    return Path(f"data/annotations/{rule}.jsonl")


def load(rule: str) -> Any:
    """The module of a rule (its interface: `rules/__init__.py`)."""
    return importlib.import_module(f"nightgarden.curation.rules.{rule}")


def read_prompts(root: Path) -> tuple[Prompt, ...]:
    """The evaluation's prompts, and those of every other evaluation that lies in MORE_PROMPTS.

    Raises:
        UserError: missing, not readable, or a line without a prompt.
    """
    found: list[Prompt] = []
    for path in (root / PROMPTS, *sorted((root / MORE_PROMPTS).glob("*.jsonl"))):
        lines: Iterator[_PromptLine] = read(path, _PromptLine)
        found += [line.as_prompt(path.stem) for line in lines]
        if not (found and all(prompt.turns for prompt in found)):
            raise UserError(f"{path}: every line needs `id` and `messages`, or `key` and `prompt` as in IFEval.")
    return tuple(found)


def prompts_for(rule: str, settings: RuleSettings, root: Path) -> tuple[Prompt, ...]:
    """The evaluation's prompts for the rules that compare with them, nothing for the others."""
    return read_prompts(root) if rule in WITH_PROMPTS and settings.enabled else ()


def judge_of(rule: str, settings: RuleSettings, prompts: Sequence[Prompt] = ()) -> Callable[[Example], Hits]:
    """What gives the hits of a rule on one row; not for a rule beyond one row."""
    module = load(rule)
    made: Callable[[Example], Hits] = (
        module.judge(settings, prompts) if rule in WITH_PROMPTS else partial(_judge, module.hits, settings)
    )
    return made


def _judge(hits: Callable[[Example, RuleSettings], Hits], settings: RuleSettings, row: Example) -> Hits:
    return hits(row, settings)


def find(rule: str, rows: Iterable[Example], settings: RuleSettings, prompts: Sequence[Prompt] = ()) -> dict[str, Hits]:
    """Row id -> its hits with their snippets, for the rows that have any; nothing where the rule is switched off."""
    if not settings.enabled:
        return {}
    if rule in BEYOND_ONE_ROW:
        losing: dict[str, Hits] = load(rule).losers(list(rows), settings)
        return losing
    judge = judge_of(rule, settings, prompts)
    return {row.id: with_snippets(row, hits) for row in rows if (hits := judge(row))}


def with_snippets(row: Example, hits: Hits) -> Hits:
    """The hits with the text of each span, and what stands around it as far as there is room."""
    return tuple(
        hit if hit.end == 0 or hit.turn == ROW else msgspec.structs.replace(hit, snippet=_snippet(row, hit)) for hit in hits
    )


def _snippet(row: Example, hit: Hit) -> str:
    """The span in the middle of what may be shown. `ingest` left no secret in the text."""
    around = max(0, SNIPPET - (hit.end - hit.start)) // 2
    return row.turns[hit.turn].content[max(0, hit.start - around) : hit.end + around][:SNIPPET]


def canaries_of(rule: str, settings: RuleSettings, prompts: Sequence[Prompt] = ()) -> Canaries:
    """The canaries of a rule under its settings; none where it is switched off."""
    if not settings.enabled:
        return Canaries(bad=(), clean=())
    module = load(rule)
    made: Canaries = module.canaries(settings, prompts) if rule in WITH_PROMPTS else module.canaries(settings)
    return made


def find_with_canaries(
    rule: str, rows: Iterable[Example], settings: RuleSettings, prompts: Sequence[Prompt] = ()
) -> dict[str, Hits]:
    """`find` with the rule's canaries among the rows; they are judged and taken out again.

    Raises:
        Refusal: a bad canary was missed or a clean one hit.
    """
    canaries = canaries_of(rule, settings, prompts)
    found = find(rule, [*canaries.rows, *rows], settings, prompts)
    known.judge(rule, canaries, found.keys() | canaries.keepers, "hit")
    return known.without(found)


def annotate_shard(rule: str, settings: RuleSettings, prompts: Sequence[Prompt], lines: Sequence[bytes]) -> _Annotated:
    """Annotations of a shard of encoded rows, encoded."""
    decoder = msgspec.json.Decoder(Example)
    rows = [decoder.decode(line) for line in lines]
    return _encoded(rows, find(rule, rows, settings, prompts))


def _told(found: Mapping[str, Hits], lines: Sequence[bytes]) -> _Annotated:
    """As `annotate_shard`, with hits that are known already."""
    decoder = msgspec.json.Decoder(Example)
    return _encoded([decoder.decode(line) for line in lines], found)


def _encoded(rows: Sequence[Example], found: Mapping[str, Hits]) -> _Annotated:
    hit = [row for row in rows if row.id in found]
    real = [row for row in hit if not row.id.startswith(known.PREFIX)]
    return _Annotated(
        num_rows=sum(not row.id.startswith(known.PREFIX) for row in rows),
        num_hit=len(real),
        num_hits=sum(len(found[row.id]) for row in real),
        lines=b"".join(encode(Annotation(id=row.id, op=row.op, hits=found[row.id])) + b"\n" for row in real),
        canaries=frozenset(row.id for row in hit) - {row.id for row in real},
    )


def _shards(
    rule: str, settings: RuleSettings, prompts: Sequence[Prompt], canaries: Canaries, raw: Path, workers: int
) -> Iterator[_Annotated]:
    """The canaries and the raw rows, shard by shard; a rule beyond one row judges them together first."""
    if rule in BEYOND_ONE_ROW:
        losing = load(rule).losers_of(raw, settings, canaries.rows) if settings.enabled else {}
        work: Callable[[list[bytes]], _Annotated] = partial(_told, losing)
    else:
        work = partial(annotate_shard, rule, settings, prompts)
    return spread(work, chain(map(encode, canaries.rows), read_lines(raw)), 1 if rule in BEYOND_ONE_ROW else workers)


def annotate(rule: str, curation: Curation, root: Path, workers: int = 1) -> dict[str, float | int | str]:
    """Apply one rule to every raw row and write its annotations, in the order of the rows.

    Returns:
        `rows` seen, `rows_hit`, `hits`.

    Raises:
        Refusal: a canary was judged wrongly; nothing is written.
    """
    settings = curation.rules.of(rule)
    prompts = prompts_for(rule, settings, root)
    canaries = canaries_of(rule, settings, prompts)
    num_rows = num_hit = num_hits = 0
    taken: set[str] = set()
    with whole_file(root / annotations_file(rule)) as file:
        for shard in _shards(rule, settings, prompts, canaries, root / RAW, workers):
            file.write(shard.lines)
            num_rows, num_hit, num_hits = num_rows + shard.num_rows, num_hit + shard.num_hit, num_hits + shard.num_hits
            taken |= shard.canaries
        known.judge(rule, canaries, taken | canaries.keepers, "hit")
    log.info("annotate %s: %d of %d rows hit", rule, num_hit, num_rows)
    return {"rows": num_rows, "rows_hit": num_hit, "hits": num_hits}


def hits_of(rows: Iterable[Example], annotations: Iterable[Annotation]) -> Iterator[tuple[Example, Hits]]:
    """Each row with its hits; both sorted by op and id, annotations of rows that are no longer there are passed over."""
    waiting = iter(annotations)
    next_one = next(waiting, None)
    for row in rows:
        while next_one is not None and order(next_one) < order(row):
            next_one = next(waiting, None)
        yield row, next_one.hits if next_one is not None and next_one.id == row.id else ()
