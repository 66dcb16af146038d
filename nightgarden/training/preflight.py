"""The check before every training: each row as the trainer will see it, or a refusal that names the rows.

Runs in seconds on the CPU without weights. What it refuses are the faults that a loss curve does not
show: nothing labelled, a stop token that is never learnt, a second BOS, a lost system prompt, an answer
that does not begin where a reply begins, text cut off in silence. Knows tokenizer and template, no model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from nightgarden.errors import Refusal, UserError
from nightgarden.params import Training
from nightgarden.records import OPS, Example
from nightgarden.templates import registry
from nightgarden.templates.registry import IGNORED, ChatTemplate, Encoded
from nightgarden.training.batches import Row

NAMED = 10
"""Rows that a refusal names; the rest it counts."""
OPEN, CLOSE = "⟦", "⟧"
"""Stand around the labelled text of a shown row."""


@dataclass(frozen=True, kw_only=True)
class OpCount:
    """What one op brings, in rows and tokens."""

    rows: int
    tokens: int
    labelled_tokens: int
    p50: int
    p95: int
    longest: int
    """Row lengths in tokens: median, 95th percentile (nearest rank), maximum."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """What the preflight found."""

    part: str
    """`train` or `held_out`."""
    rows: tuple[Row, ...]
    """Rows without a fault, in the order of the file."""
    dropped: tuple[str, ...]
    """Ids of rows over `max_length` that the policy `drop` left out."""
    faults: tuple[tuple[str, str], ...]
    """Row id and reason; not empty = refused."""
    ops: dict[int, OpCount]
    shown: dict[int, str]
    """Per op the row of median length, decoded, its labelled text between OPEN and CLOSE."""

    def lines(self) -> list[str]:
        """The report as text."""
        found = [f"preflight of {self.part}: {len(self.rows)} rows, {len(self.dropped)} dropped, {len(self.faults)} refused"]
        for op, count in self.ops.items():
            found.append(
                f"op {op} {OPS[op]}: {count.rows} rows, {count.tokens} tokens, {count.labelled_tokens} labelled; "
                f"row length p50 {count.p50}, p95 {count.p95}, longest {count.longest}"
            )
            found.append(f"op {op} as trained, labels between {OPEN} and {CLOSE}: {self.shown[op]}")
        return found


def check(part: str, examples: Iterable[Example], template: ChatTemplate, tokenizer: Any, settings: Training) -> Report:
    """Encode every example and look for what a loss curve would not show.

    Args:
        part: name of the part of the dataset, for the messages.
        examples: the rows.
        template: chat template of the base model.
        tokenizer: tokenizer of the base model.
        settings: `max_length` and `over_length` are read.
    """
    rows: list[Row] = []
    dropped: list[str] = []
    faults: list[tuple[str, str]] = []
    for example in examples:
        try:
            encoded = registry.encode_example(template, tokenizer, example.turns, example.memories, example.directives)
            reason = fault(example, encoded, template, tokenizer)
        except (Refusal, UserError) as error:
            reason = str(error)
        if reason is None and len(encoded.ids) > settings.max_length:
            if settings.over_length == "drop":
                dropped.append(example.id)
                continue
            reason = f"{len(encoded.ids)} tokens; max_length is {settings.max_length} and over_length is raise"
        if reason is None:
            rows.append(Row(id=example.id, op=example.op, ids=encoded.ids, labels=encoded.labels))
        else:
            faults.append((example.id, reason))
    by_op = {op: [row for row in rows if row.op == op] for op in sorted({row.op for row in rows})}
    return Report(
        part=part,
        rows=tuple(rows),
        dropped=tuple(dropped),
        faults=tuple(faults),
        ops={op: _count(of_op) for op, of_op in by_op.items()},
        shown={op: shown(_median(of_op), tokenizer) for op, of_op in by_op.items()},
    )


def require(report: Report) -> None:
    """Stop a training whose rows are not sound.

    Raises:
        Refusal: names the rows with their reasons, or says that no row is left.
    """
    if report.faults:
        named = [f"row {name}: {reason}" for name, reason in report.faults[:NAMED]]
        more = len(report.faults) - len(named)
        kinds = Counter(row.op for row in report.rows)
        raise Refusal(
            f"preflight refuses {len(report.faults)} rows of {report.part} ({sum(kinds.values())} are sound). "
            + "; ".join(named)
            + (f"; and {more} more" if more else "")
            + ". Repair these rows at their source, or change `training` in params.yaml, and run it again."
        )
    if not report.rows:
        raise Refusal(f"no row of {report.part} is left to train on ({len(report.dropped)} dropped for their length).")


def fault(example: Example, encoded: Encoded, template: ChatTemplate, tokenizer: Any) -> str | None:
    """Why an encoded example must not be trained on, or None."""
    if example.meta.get("dry_run"):
        return "it was made by a dry run of the synthesis: nobody wrote it"
    stop = tokenizer.convert_tokens_to_ids(template.stop)
    prompt = registry.encode_prompt(template, tokenizer, example.turns[:-1], example.memories, example.directives)
    system = example.turns[0].content if example.turns[0].role == "system" else ""
    system = registry.system_text(system, example.directives, example.memories)
    return (
        _unlabelled(encoded)
        or _unstopped(encoded, stop, template.stop)
        or _double_bos(encoded, [tokenizer.bos_token_id, template.bos and tokenizer.convert_tokens_to_ids(template.bos)])
        or _lost_system(encoded, system, tokenizer)
        or _displaced(encoded, prompt)
    )


def _unlabelled(encoded: Encoded) -> str | None:
    if all(label == IGNORED for label in encoded.labels):
        return "no labelled token, so nothing is learnt from it"
    pairs = enumerate(zip(encoded.ids, encoded.labels, strict=True))
    wrong = [at for at, (token, label) in pairs if label not in (IGNORED, token)]
    return f"the label at token {wrong[0]} is not the token itself" if wrong else None


def _unstopped(encoded: Encoded, stop: int, name: str) -> str | None:
    """Every labelled run must end with the stop token: an answer that lacks it is never learnt to end."""
    following = [*encoded.labels[1:], IGNORED]
    ends = [label for label, after in zip(encoded.labels, following, strict=True) if label != IGNORED and after == IGNORED]
    unstopped = [label for label in ends if label != stop]
    return f"{len(unstopped)} of {len(ends)} answers do not end with a labelled {name} (token {stop})" if unstopped else None


def _double_bos(encoded: Encoded, bos: Sequence[Any]) -> str | None:
    doubled = [token for token in bos if token is not None and encoded.ids[:2] == [token, token]]
    return f"begins with BOS (token {doubled[0]}) twice" if doubled else None


def _lost_system(encoded: Encoded, system: str, tokenizer: Any) -> str | None:
    text = tokenizer.decode(encoded.ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
    return None if system in text else f"the system text is not in the token ids: {system[:60]!r}"


def _displaced(encoded: Encoded, prompt: list[int]) -> str | None:
    """The answer must begin exactly where a reply begins: the prompt's ids are a prefix, the first label comes after them."""
    if encoded.ids[: len(prompt)] != prompt:
        at = next((i for i, (a, b) in enumerate(zip(encoded.ids, prompt, strict=False)) if a != b), len(encoded.ids))
        return f"the prompt's token ids are not a prefix of the row's: they part at token {at}"
    if encoded.labels[len(prompt) - 1] != IGNORED or encoded.labels[len(prompt)] == IGNORED:
        return f"the labels of the answer do not begin at token {len(prompt)}, where the prompt ends"
    return None


def _count(rows: Sequence[Row]) -> OpCount:
    lengths = sorted(len(row.ids) for row in rows)
    return OpCount(
        rows=len(rows),
        tokens=sum(lengths),
        labelled_tokens=sum(row.labelled for row in rows),
        p50=lengths[(len(lengths) - 1) // 2],
        p95=lengths[-(-len(lengths) * 95 // 100) - 1],
        longest=lengths[-1],
    )


def _median(rows: Sequence[Row]) -> Row:
    return sorted(rows, key=lambda row: (len(row.ids), row.id))[(len(rows) - 1) // 2]


def shown(row: Row, tokenizer: Any) -> str:
    """A row decoded, its labelled text between OPEN and CLOSE."""
    parts: list[str] = []
    start = 0
    for end in range(1, len(row.ids) + 1):
        labelled = row.labels[start] != IGNORED
        if end == len(row.ids) or (row.labels[end] != IGNORED) != labelled:
            text = tokenizer.decode(row.ids[start:end], skip_special_tokens=False, clean_up_tokenization_spaces=False)
            parts.append(f"{OPEN}{text}{CLOSE}" if labelled else text)
            start = end
    return "".join(parts)
