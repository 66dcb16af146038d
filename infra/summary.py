"""What the demo found, read from the files that the stages wrote: one JSON object and one table.

Computes nothing new; a number in the table is also in a file. Knows where reports lie, not how to run anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from nightgarden.jsonl import read, read_json
from nightgarden.params import Params
from nightgarden.records import HEADS, OPS, LedgerLine, Quarantined
from nightgarden.teacher.items import NIGHTS
from nightgarden.tracking import SpooledRun
from nightgarden.trust import record

Row = Sequence[str | int | float | None]


def collect(root: Path, state: Path, settings: Params, nights: Iterable[str], seconds: float) -> dict[str, Any]:
    """The content of reports/demo.json: `rows`, `passes`, `training`, `evaluation`, `nights` and `seconds`.

    What is null has its reason beside it: `why` of a head, `restored` of a training.

    Args:
        root: the tree that the demo ran in.
        state: the state folder, for the seconds of the training.
        settings: params.yaml of that tree.
        nights: their dates, in order.
        seconds: the demo's own wall time.
    """
    passes = pass_counts(root, list(settings.curation.passes))
    training: dict[str, Any] = read_json(root / "reports/training.json", dict)
    evaluation: dict[str, Any] = read_json(root / "reports/evaluation.json", dict)
    gate: dict[str, Any] = read_json(root / "data/dataset/gate.json", dict)
    done = [record.read(root / NIGHTS / night / "record.json") for night in nights]
    return {
        "rows": {"in": passes[0]["in"], "kept": gate["rows"], "mix": gate["mix"]},
        "passes": passes,
        "training": {key: training[key] for key in ("loss_first", "loss_last")} | time_taken(state, training),
        "evaluation": {key: evaluation[key] for key in ("stock", "adapted", "template")},
        "nights": [night_numbers(night) for night in done],
        "seconds": round(seconds, 1),
    }


def pass_counts(root: Path, order: Sequence[str]) -> list[dict[str, Any]]:
    """Rows in, kept, quarantined and merged (equal rows) by ingest, the synthesis, every pass and the mix.

    A pass drops the rest; what a teacher wrote comes in with the synthesis.
    """
    ingest: dict[str, int] = read_json(root / "reports/passes/ingest.json", dict[str, int])
    rows: list[dict[str, Any]] = [
        {"name": "ingest", "in": ingest["rows_in"], "kept": ingest["examples"]}
        | {key: ingest[key] for key in ("quarantined", "merged")}
    ]
    made: dict[str, Any] = read_json(root / "reports/passes/synthesise.json", dict[str, Any])
    came = made["rows_in"] + made["made"]
    rows.append({"name": "synthesise", "in": came, "kept": made["rows"], "quarantined": 0, "merged": made["merged"]})
    for name in (*order, "rebalance"):
        counts: dict[str, int] = read_json(root / f"reports/passes/{name}.json", dict[str, int])
        rows.append({"name": name, "in": counts["rows_in"], "kept": counts["kept"], "quarantined": 0, "merged": 0})
    return rows


def time_taken(state: Path, training: dict[str, Any]) -> dict[str, Any]:
    """`seconds` of the training that gave these losses, the last time it ran with this state folder.

    Null if it never did: DVC restored it from its cache, and `restored` says so.
    """
    runs: list[SpooledRun] = [
        read_json(path, SpooledRun) for folder in ("waiting", "sent") for path in (state / "spool" / folder).glob("*.json")
    ]
    found: list[tuple[int, float]] = []
    for run in runs:
        numbers = {point.key: point.value for point in run.points}
        if run.name == "train" and all(numbers.get(key) == training[key] for key in ("loss_first", "loss_last")):
            found.append((run.started_ms, numbers["time_train_seconds"]))
    return {"seconds": max(found)[1]} if found else {"seconds": None, "restored": "from DVC's cache"}


def night_numbers(night: record.NightRecord) -> dict[str, Any]:
    """How one night ended; per head trust, skill and held-out lessons, and why a number is missing."""
    heads = {head: night.heads[head] for head in HEADS}
    return {"date": night.night, "end": night.end} | {
        key: {head: getattr(one, key) for head, one in heads.items()} for key in ("trust", "skill", "n", "why")
    }


def own_rows(root: Path, key: str) -> tuple[Counter[str], list[Quarantined], int]:
    """What became of the user's own file: rows that each pass took, quarantined lines, rows read.

    Args:
        root: the tree that the demo ran in.
        key: the file's name below data/inbox, without its ending.
    """
    name = f"data/inbox/{key}."
    lines: list[dict[str, Any]] = list(read(root / "data/raw/positions.jsonl", dict[str, Any]))
    ours = {line["id"] for line in lines if line["file"].startswith(name)}
    ledgers = [root / "data/curated/ledger.jsonl", root / "data/curated/rebalance/ledger.jsonl"]
    dropped: list[LedgerLine] = []
    for path in ledgers:
        dropped.extend(read(path, LedgerLine))
    aside: list[Quarantined] = list(read(root / "data/raw/quarantine.jsonl", Quarantined))
    quarantined = [line for line in aside if line.file.startswith(name)]
    return Counter(line.rule for line in dropped if line.id in ours), quarantined, len(ours) + len(quarantined)


def grid(head: Row, rows: Iterable[Row]) -> str:
    """A text table: words to the left, numbers to the right, nothing as a dash."""
    cells = [[_cell(value) for value in row] for row in (head, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = [
        "  ".join(cell.ljust(w) if at == 0 else cell.rjust(w) for at, (cell, w) in enumerate(zip(row, widths, strict=True)))
        for row in cells
    ]
    return "\n".join(f"  {line.rstrip()}" for line in (lines[0], "-" * len(lines[0]), *lines[1:]))


def _cell(value: str | int | float | None) -> str:
    return "–" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


def table(found: dict[str, Any], root: Path) -> str:
    """The one summary table, in four parts."""
    rows, training, evaluation = found["rows"], found["training"], found["evaluation"]
    losses: dict[str, Any] = read_json(root / "reports/training.json", dict)["held_out"]
    report: dict[str, Any] = read_json(root / "reports/evaluation.json", dict)
    mix = ", ".join(f"{name} {share:.1%}" for name, share in zip(OPS, rows["mix"], strict=True))
    took = training["seconds"]
    parts = [
        f"DATASET  {rows['in']} rows in, {rows['kept']} kept; {mix}",
        grid(("pass", "in", "kept", "quarantined", "merged"), [tuple(line.values()) for line in found["passes"]]),
        f"TRAINING  loss, first to last tenth of the steps, {training['loss_first']:.3f} -> {training['loss_last']:.3f}"
        + (f" in {took:.0f} s" if took is not None else ", restored from DVC's cache"),
        grid(("held-out loss", "before", "after"), [(op, line["before"], line["after"]) for op, line in losses.items()]),
        f"EVALUATION  template: {evaluation['template']}; {report['promote']['verdict']}: {report['promote']['reason']}",
        grid(
            ("score", "good", "stock", "adapted"),
            [(name, good, evaluation["stock"][name], evaluation["adapted"][name]) for name, good in report["good"].items()],
        ),
        "NIGHTS",
        *(night_part(root, night["date"]) for night in found["nights"]),
    ]
    return "\n\n".join(parts)


def night_part(root: Path, night: str) -> str:
    """One night: how it ended and why, and what each head may say; a dash says why."""
    done = record.read(root / NIGHTS / night / "record.json")
    rows = [(head, one.trust, one.skill, one.n, one.why) for head in HEADS for one in [done.heads[head]]]
    return f"  {night}: {done.end}, {done.reason}\n" + grid(("head", "trust", "skill", "held out", "why"), rows)


def own_part(root: Path, key: str) -> str:
    """What became of the user's own file, pass by pass."""
    taken, quarantined, read_rows = own_rows(root, key)
    left = read_rows - len(quarantined) - sum(taken.values())
    rows: list[Row] = [("quarantined", len(quarantined)), *taken.most_common(), ("kept in the dataset", left)]
    aside = [f"  line {line.line}: {line.reason}" for line in quarantined[:10]]
    return "\n".join([f"YOUR FILE  {read_rows} different rows", "", grid(("taken by", "rows"), rows), *aside])
