"""`nightgarden whatif`: what the passes would take and leave without some of the rules, and the mix that could be made of it.

Every rule's hits on every raw row are known (`annotate`), so nothing is matched again but near-copies, which depend
on who is left, and repaired rows. Needs no pass to have run: it also answers when one refused. Writes nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from nightgarden.curation.accounts import Key, keys, pass_order
from nightgarden.curation.annotate import RAW, annotations_file
from nightgarden.curation.decide import Judged, decide
from nightgarden.curation.gate import mix
from nightgarden.curation.rebalance import quotas
from nightgarden.errors import Refusal, UserError
from nightgarden.jsonl import read_lines
from nightgarden.params import Curation
from nightgarden.records import OPS

NOTHING: frozenset[str] = frozenset()


def whatif(without: Sequence[str], curation: Curation, root: Path) -> dict[str, Any]:
    """The counts as the settings give them (`now`), and as they would be (`then`).

    Args:
        without: names of passes that take nothing.
        curation: the settings that `annotate` ran with.
        root: the checkout.

    Returns:
        `without`, `now`, `then` and `shares`, the mix that is wanted. Of `now` and `then` each: `dropped`, `repaired`,
        `merged` (rows per pass), `kept` (rows per op after the last pass), `dataset` and `mix` (rows and shares per op
        after rebalance; null where it refuses) and `refused` (why, else null).

    Raises:
        UserError: no such pass, or `annotate` has not run.
    """
    order = pass_order(curation)
    if unknown := sorted(set(without) - set(order)):
        raise UserError(f"got --without {unknown[0]}; the passes of params.yaml are {', '.join(order)}.")
    return {
        "without": [rule for rule in order if rule in without],
        "now": _counts(order, curation, root),
        "then": _counts([rule for rule in order if rule not in without], curation, root),
        "shares": list(curation.rebalance.shares),
    }


def _counts(order: Sequence[str], curation: Curation, root: Path) -> dict[str, Any]:
    outcome = decide(judged(curation, root), order, curation, root)
    dataset: list[int] | None = None
    refused = None
    try:
        dataset = quotas(outcome.kept, curation.rebalance)
    except Refusal as error:
        refused = str(error)
    rules = pass_order(curation)
    counts = {"dropped": outcome.taken, "repaired": outcome.repaired, "merged": outcome.merged}
    return {name: {rule: count[rule] for rule in rules} for name, count in counts.items()} | {
        "kept": outcome.kept,
        "dataset": dataset,
        "mix": None if dataset is None else [round(share, 4) for share in mix(dataset)],
        "refused": refused,
    }


def judged(curation: Curation, root: Path) -> Iterator[Judged]:
    """Every raw row with the rules that hit it, from the annotation files."""
    marked = heapq.merge(*(_marked(rule, root) for rule in pass_order(curation)))
    hits = groupby(marked, key=lambda pair: pair[0])
    end: tuple[Key, Any] = ((len(OPS), ""), ())
    key, rules = next(hits, end)
    for line, own in zip(read_lines(root / RAW), keys(root / RAW), strict=True):
        while key < own:
            key, rules = next(hits, end)
        yield Judged(line, *own, frozenset(rule for _, rule in rules) if key == own else NOTHING)


def _marked(rule: str, root: Path) -> Iterator[tuple[Key, str]]:
    return ((key, rule) for key in keys(root / annotations_file(rule)))


def told(found: dict[str, Any]) -> str:
    """The answer as two tables, as they are beside as they would be."""
    now, then = found["now"], found["then"]
    lines = [f"Without {', '.join(found['without']) or 'nothing'}.", "", f"{'pass':18}{'drops':>8}{'would':>8}"]
    for rule, dropped in now["dropped"].items():
        line = f"{rule:18}{dropped:8,}{then['dropped'][rule]:8,}{_change(dropped, then['dropped'][rule]):>8}"
        if now["repaired"][rule] or then["repaired"][rule]:
            line += f"   repairs {now['repaired'][rule]:,}, would repair {then['repaired'][rule]:,}"
        lines.append(line.rstrip())
    lines += ["", f"{'op':26}{'kept':>8}{'would':>8}{'':8}{'dataset':>16}{'would be':>16}{'wanted':>9}"]
    rows = [(f"{op} {name}", *(_of(counts, op) for counts in (now, then)), found["shares"][op]) for op, name in enumerate(OPS)]
    rows.append(("all", _of(now, slice(None)), _of(then, slice(None)), 1.0))
    for name, (kept, dataset), (kept_then, dataset_then), share in rows:
        change = _change(kept, kept_then)
        lines.append(f"{name:26}{kept:8,}{kept_then:8,}{change:>8}{dataset:>16}{dataset_then:>16}{share:9.1%}")
    refusals = [f"{when}: {reason}" for when, reason in (("Now", now["refused"]), ("Then", then["refused"])) if reason]
    return "\n".join([*lines, *(["", *refusals] if refusals else [])])


def _of(counts: dict[str, Any], ops: int | slice) -> tuple[int, str]:
    """Rows kept of one op, or of all, and its rows in the dataset with their share."""
    part = ops if isinstance(ops, slice) else slice(ops, ops + 1)
    dataset = "no mix"
    if counts["dataset"] is not None:
        dataset = f"{sum(counts['dataset'][part]):,} {sum(counts['mix'][part]):7.1%}"
    return sum(counts["kept"][part]), dataset


def _change(now: int, then: int) -> str:
    return f"{then - now:+,}" if then != now else ""
