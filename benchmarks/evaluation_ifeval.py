"""A slice of IFEval through our generation and checks and through lm-evaluation-harness's, item by item.

Both are given the same token ids and write greedily. On both sides the clock runs over chat template, ids, replies and
scores; processes, imports and weights are there before it starts.
"""

from __future__ import annotations

import json
import logging
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from benchmarks.evaluation_ours import ROOT, Opened, Took
from nightgarden import jsonl
from nightgarden.errors import UserError
from nightgarden.evaluation import ifeval, prompts
from nightgarden.evaluation.ifeval import Args, Item, Judged
from nightgarden.models import specs
from nightgarden.records import Turn
from nightgarden.templates import registry

log = logging.getLogger(__name__)

PEERS = ROOT / ".peers/bin/python"
DATA = "evaluation/ifeval_prompts.jsonl"
VERSION = "0.4.13"
KNOWN = {
    "length_constraints:number_sentences": "sentences: our splitter against punkt",
    "language:response_language": "language of a text that is short or mixed",
    "change_case:english_capital": "language of a text that is short or mixed",
    "change_case:english_lowercase": "language of a text that is short or mixed",
}
"""Kinds that may differ, and why."""


class Theirs(msgspec.Struct, frozen=True, kw_only=True):
    """An item as lm-eval tells of it."""

    key: int
    prompt_ids: tuple[int, ...]
    text: str
    strict: tuple[bool, ...]
    loose: tuple[bool, ...]


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """A run of theirs."""

    seconds: float
    batch_size: int
    threads: int
    items: tuple[Theirs, ...]


@dataclass(frozen=True, kw_only=True)
class Ours:
    """An item as we answered it."""

    item: Item
    prompt_ids: tuple[int, ...]
    text: str
    judged: Judged


def require_peer() -> None:
    """Refuse to compare with a rival that is not here.

    Raises:
        UserError: says what to do.
    """
    ask = "from importlib.metadata import version; print(version('lm_eval'))"
    came = subprocess.run([str(PEERS), "-c", ask], capture_output=True, text=True, check=False) if PEERS.is_file() else None
    if came is None or came.stdout.strip() != VERSION:
        raise UserError(f"lm_eval {VERSION} is not in .peers. Run `make peers` first.")


def sliced(public: str | None, count: int) -> list[Item]:
    """Items that cover all kinds as evenly as `count` allows, in the order of the file.

    Raises:
        UserError: the public data is not here.
    """
    path = Path(public or "/nowhere") / DATA
    if not path.is_file():
        raise UserError(
            f"no {DATA} in $NIGHTGARDEN_PUBLIC_DATA ({public or 'not set'}). Set it to the folder with the public data."
        )
    items = ifeval.load(path)
    left = list(items)
    chosen: list[Item] = []
    lacking: set[str] = set()
    while left and len(chosen) < count:
        lacking = lacking or set(ifeval.CHECKS)
        best = max(left, key=lambda item: len(lacking.intersection(item.instruction_id_list)))
        lacking -= set(best.instruction_id_list) or lacking
        left.remove(best)
        chosen.append(best)
    return sorted(chosen, key=items.index)


def ours(held: Opened, items: Sequence[Item]) -> tuple[Took, list[Ours]]:
    """Answer greedily with the stock side at our own batch size, and judge."""
    from nightgarden.evaluation import generate  # brings torch, which reads how threads wait when it is imported

    settings = held.params.evaluation.model_copy(update={"temperature": 0.0, "seeds": 1})
    work = replace(held.work, settings=settings)
    started = time.perf_counter()
    asked = [generate.Request(prompt_ids=ids_of(held, item), seed=0) for item in items]
    replies = generate.replies(held.sides, "stock", asked, work)
    done = []
    for item, request, reply in zip(items, asked, replies, strict=True):
        text = held.tokenizer.decode(list(reply.ids), skip_special_tokens=True)
        done.append(Ours(item=item, prompt_ids=request.prompt_ids, text=text, judged=ifeval.judge(item, text)))
    seconds = time.perf_counter() - started
    tokens = sum(len(reply.ids) + (not reply.truncated) for reply in replies)
    return Took(seconds=seconds, replies=len(replies), tokens=tokens), done


def ids_of(held: Opened, item: Item) -> tuple[int, ...]:
    """Ids of an item as a prompt of ours: with our system text, waiting for an answer."""
    turns = (Turn(role="system", content=prompts.SYSTEM), Turn(role="user", content=item.prompt))
    return tuple(registry.encode_prompt(registry.get(held.params.base_spec.template), held.tokenizer, turns))


def theirs(held: Opened, items: Sequence[Item], folder: Path, batch_size: int | None) -> Told:
    """The same items through lm-eval in a process of its own; None takes its default batch size.

    Raises:
        UserError: it failed; its own words are on stderr.
    """
    folder.mkdir()
    spec = held.params.base_spec
    asked = {
        "model": str(specs.folder(spec, ROOT)),
        "dtype": spec.dtype,
        "items": str(folder / "items.jsonl"),
        "system": prompts.SYSTEM,
        "batch_size": batch_size,
        "max_new_tokens": held.params.evaluation.max_new_tokens,
    }
    lines = [json.dumps(msgspec.to_builtins(item)) for item in items]
    (folder / "items.jsonl").write_text("\n".join(lines) + "\n")
    jsonl.write_json(folder / "asked.json", asked)
    log.info("lm-eval on %d items, batch size %s", len(items), batch_size or "by default")
    command = [str(PEERS), str(ROOT / "benchmarks/peer_lm_eval.py"), str(folder / "asked.json"), str(folder / "told.json")]
    if code := subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode:
        raise UserError(f"lm-eval ended with {code}. Run `make peers`; if it ends so again, read its words above.")
    told: Told = jsonl.read_json(folder / "told.json", Told)
    return told


def require_same_ids(mine: Sequence[Ours], told: Told) -> None:
    """Refuse to compare replies to different prompts.

    Raises:
        UserError: names the first item.
    """
    for own, other in zip(mine, told.items, strict=True):
        if (own.item.key, own.prompt_ids) != (other.key, other.prompt_ids):
            raise UserError(
                f"item {own.item.key}: lm-eval was given other token ids, or item {other.key}. The comparison is void."
            )


def disagreements(mine: Sequence[Ours], told: Told) -> dict[int, list[str]]:
    """By key: every instruction that we judge otherwise than they, on their own reply, and why."""
    found: dict[int, list[str]] = {}
    for own, other in zip(mine, told.items, strict=True):
        judged = ifeval.judge(own.item, other.text)
        for way, here, there in (("strict", judged.strict, other.strict), ("loose", judged.loose, other.loose)):
            for number, (fault, passed) in enumerate(zip(here, there, strict=True)):
                if (fault is None) != passed:
                    kind, args = own.item.instruction_id_list[number], own.item.kwargs[number]
                    said = f"we: {fault or 'followed'}; they: {'followed' if passed else 'broken'}"
                    found.setdefault(own.item.key, []).append(f"{way} {kind}: {said} ({why(kind, args)})")
    return found


def why(kind: str, args: Args) -> str:
    """The reason of a disagreement, if it is known."""
    if kind == "keywords:letter_frequency" and not (args.letter or "").isalpha():
        return f"their known defect: the row names {args.letter!r}, they check a random letter"
    return KNOWN.get(kind, "reason unknown")


def rewritten(mine: Sequence[Ours], told: Told) -> tuple[int, dict[int, str]]:
    """How many replies are the same text, and by key what the scores of the others are."""
    same, moved = 0, dict[int, str]()
    for own, other in zip(mine, told.items, strict=True):
        if own.text == other.text:
            same += 1
            continue
        again = ifeval.judge(own.item, other.text)
        shorter = min(len(own.text), len(other.text))
        at = next((n for n in range(shorter) if own.text[n] != other.text[n]), shorter)
        held = [[fault is None for fault in judged.strict + judged.loose] for judged in (own.judged, again)]
        moved[own.item.key] = f"another text from character {at}, {'the same' if held[0] == held[1] else 'other'} scores"
    return same, moved
