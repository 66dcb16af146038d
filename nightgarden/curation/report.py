"""The `funnel` stage: the ledgers joined, the counts of every pass, and their picture.

Only here every rule's annotations meet, so only here a ledger line can say whether its rule was the
only one that hit the row. Decides nothing.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from io import BytesIO
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec

from nightgarden.curation import accounts
from nightgarden.curation.accounts import Key, Report, pass_order
from nightgarden.curation.annotate import annotations_file
from nightgarden.jsonl import encode, read, read_json, whole_file, write_json
from nightgarden.params import Curation
from nightgarden.records import OPS, Annotation, LedgerLine

COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44")
"""One per op; Paul Tol's bright scheme, told apart by colour-blind readers."""


class Overlap:
    """How rules share the raw rows: rows that each pair hits, and rows that a rule alone hits."""

    def __init__(self, order: Sequence[str]) -> None:
        self.order = order
        self._pairs: Counter[tuple[str, str]] = Counter()
        self._sole: Counter[str] = Counter()

    def add(self, rules: Set[str]) -> None:
        """Count one row by the rules that hit it."""
        self._pairs.update((one, two) for one in rules for two in rules)
        self._sole.update(rules if len(rules) == 1 else ())

    def report(self) -> dict[str, Any]:
        """`rules`, `rows` (rule by rule; on the diagonal all that a rule hits) and `sole`."""
        rows = [[self._pairs[one, two] for two in self.order] for one in self.order]
        return {"rules": list(self.order), "rows": rows, "sole": [self._sole[rule] for rule in self.order]}


def joined_ledger(curation: Curation, root: Path, overlap: Overlap) -> Iterator[LedgerLine]:
    """Ledger lines of all passes by op and id, with `sole` filled in; `overlap` counts every row that is hit."""
    order = pass_order(curation)
    streams = [_named(rule, "hit", root / annotations_file(rule), Annotation) for rule in order]
    streams += [_named(rule, "gone", root / f"data/curated/{rule}/ledger.jsonl", LedgerLine) for rule in order]
    for _, together in groupby(heapq.merge(*streams, key=itemgetter(0)), key=itemgetter(0)):
        lines = list(together)
        rules = {rule for _, rule, kind, _ in lines if kind == "hit"}
        if rules:
            overlap.add(rules)
        for _, rule, kind, line in lines:
            if kind == "gone":
                yield msgspec.structs.replace(line, sole=rules <= {rule})


def _named(rule: str, kind: str, path: Path, of: Any) -> Iterator[tuple[Key, str, str, Any]]:
    """Each line of a file with its key and where it comes from."""
    return ((accounts.order(line), rule, kind, line) for line in read(path, of))


def funnel(curation: Curation, root: Path) -> Report:
    """Write data/curated/ledger.jsonl, reports/funnel.json, reports/overlap.json and reports/waterfall.svg.

    Returns:
        Rows before the first and after the last pass, and rows dropped by each.
    """
    order = pass_order(curation)
    counts: list[dict[str, int]] = [read_json(root / f"reports/passes/{rule}.json", dict[str, int]) for rule in order]
    overlap, sole = Overlap(order), Counter[str]()
    with whole_file(root / "data/curated/ledger.jsonl") as file:
        for line in joined_ledger(curation, root, overlap):
            sole[line.rule] += bool(line.sole)
            file.write(encode(line) + b"\n")
    table = [
        {"pass": rule, "rows": count["rows_in"], "sole": sole[rule]}
        | {fate: count[fate] for fate in ("kept", "dropped", "repaired", "merged")}
        for rule, count in zip(order, counts, strict=True)
    ]
    write_json(root / "reports/funnel.json", table)
    write_json(root / "reports/overlap.json", overlap.report())
    draw(order, counts, root / "reports/waterfall.svg")
    report: Report = {"rows_in": counts[0]["rows_in"], "kept": counts[-1]["kept"]}
    return report | {f"dropped_{rule}": count["dropped"] for rule, count in zip(order, counts, strict=True)}


def draw(order: Sequence[str], counts: Sequence[dict[str, int]], path: Path) -> None:
    """The waterfall: what is there before the first pass, what each pass takes, what is left; stacked by op.

    The same counts give the same bytes: no date, ids of the drawing salted by a constant.
    """
    import matplotlib
    from matplotlib.figure import Figure

    settings = {"svg.hashsalt": "nightgarden", "svg.fonttype": "none", "font.size": 10, "font.family": "sans-serif"}
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(9, 0.42 * len(order) + 2.2), layout="constrained")
        _bars(figure.add_subplot(), order, counts)
        figure.legend(loc="outside lower center", ncols=len(OPS), frameon=False)
        drawing = BytesIO()
        figure.savefig(drawing, format="svg", metadata={"Date": None, "Creator": None})
    with whole_file(path) as file:
        file.write(drawing.getvalue())


def _taken(count: dict[str, int]) -> str:
    """What a pass did, in words short enough to stand behind its bar."""
    merged = f", {count['merged']:,} merged" if count["merged"] else ""
    repaired = f", {count['repaired']:,} repaired" if count["repaired"] else ""
    return f"−{count['dropped']:,}{repaired}{merged}"  # noqa: RUF001


def _bars(axes: Any, order: Sequence[str], counts: Sequence[dict[str, int]]) -> None:
    """One horizontal bar a pass: pale what goes on, in an op's colour what is taken, at the end of what was there."""
    labels = ["rows in", *(rule.replace("_", " ") for rule in order), "rows kept"]
    rows_in, kept = counts[0]["rows_in"], counts[-1]["kept"]
    for op, (name, colour) in enumerate(zip(OPS, COLOURS, strict=True)):
        first = sum(counts[0][f"op{o}_in"] for o in range(op))
        last = sum(counts[-1][f"op{o}_in"] - counts[-1][f"op{o}_dropped"] for o in range(op))
        axes.barh(0, counts[0][f"op{op}_in"], left=first, color=colour, label=f"op {op} {name}")
        axes.barh(len(order) + 1, counts[-1][f"op{op}_in"] - counts[-1][f"op{op}_dropped"], left=last, color=colour)
        for place, count in enumerate(counts, 1):
            before = sum(count[f"op{o}_dropped"] for o in range(op))
            axes.barh(place, count[f"op{op}_dropped"], left=count["kept"] + before, color=colour)
    for place, count in enumerate(counts, 1):
        axes.barh(place, count["kept"], color="#e4e4e4", zorder=0)
        axes.text(count["rows_in"] + rows_in * 0.01, place, _taken(count), va="center")
    for place, total in ((0, rows_in), (len(order) + 1, kept)):
        axes.text(total + rows_in * 0.01, place, str(total), va="center", weight="bold")
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.set_xlim(0, rows_in * 1.1)
    axes.set_xlabel("rows")
    axes.set_title("What each pass took (grey: rows that go on)", loc="left")
    axes.spines[["top", "right"]].set_visible(False)
