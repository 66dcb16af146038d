"""What a run shows in the Prefect UI: tables, pictures and pages made from the reports on disk.

Computes nothing; the files under reports/ and data/ are the truth.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from prefect import task
from prefect.artifacts import create_image_artifact, create_markdown_artifact, create_table_artifact
from prefect.cache_policies import NO_CACHE

from nightgarden.jsonl import read_json
from nightgarden.records import HEADS
from nightgarden.stage import Place
from nightgarden.teacher.items import NIGHTS
from nightgarden.trust import record


def data_uri(picture: Path) -> str:
    """An SVG as a data URI: the UI then needs no file server."""
    return f"data:image/svg+xml;base64,{base64.b64encode(picture.read_bytes()).decode()}"


def cell(value: Any) -> str:
    """A table cell: numbers short, nothing as a dash."""
    return "–" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


def table(rows: list[dict[str, Any]]) -> str:
    """Rows with the same keys as a markdown table."""
    if not rows:
        return "(no rows)"
    head = list(rows[0])
    lines = [head, ["---"] * len(head), *([cell(row.get(name)) for name in head] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


@task(task_run_name="show the funnel", cache_policy=NO_CACHE)
def show_funnel(place: Place) -> None:
    """Rows in and kept by every pass, as a table and as the waterfall."""
    rows: list[dict[str, Any]] = read_json(place.root / "reports/funnel.json", list)
    create_table_artifact(rows, key="funnel", description="What each pass took; `sole`: no other rule hit the row")
    create_image_artifact(data_uri(place.root / "reports/waterfall.svg"), key="waterfall", description="Rows by op")


@task(task_run_name="show the training", cache_policy=NO_CACHE)
def show_training(place: Place) -> None:
    """Held-out loss per op before and after, in nats per labelled token."""
    report: dict[str, Any] = read_json(place.root / "reports/training.json", dict)
    rows = [{"op": op, **losses} for op, losses in report["held_out"].items()]
    words = f"{'; '.join(report['verdict'])}. {report['steps']} steps."
    create_table_artifact(rows, key="held-out-loss", description=words)


@task(task_run_name="show the evaluation", cache_policy=NO_CACHE)
def show_evaluation(place: Place) -> None:
    """Both sides score by score, the verdict of each family, and whether the adapter is promoted."""
    create_markdown_artifact(evaluation_page(read_json(place.root / "reports/evaluation.json", dict)), key="evaluation")


def evaluation_page(report: dict[str, Any]) -> str:
    """reports/evaluation.json as a short page."""
    promote = report["promote"]
    scores = [
        {
            "score": name,
            "good": report["good"][name],
            "stock": report["stock"][name],
            "adapted": report["adapted"][name],
            "judged": report["counts"]["adapted"][name][1],
        }
        for name in report["good"]
    ]
    families = [{"family": name, **verdict} for name, verdict in report["families"].items()]
    return (
        f"# Adapter: {promote['verdict']}\n\n{promote['reason']}\n\n"
        f"Template: **{report['template']}**; {report['prompts']} prompts, {report['seeds']} replies each side\n\n"
        f"{table(families)}\n\n{table(scores)}\n\nSide by side: `data/scores/report.html`\n"
    )


@task(task_run_name="show {night}", cache_policy=NO_CACHE)
def show_night(place: Place, night: str) -> None:
    """The morning page in short: how the night ended and why, and what each head may say."""
    done = record.read(place.root / NIGHTS / night / "record.json")
    rows = [
        {"head": head, "trust": one.trust, "skill": one.skill, "before": one.before, "held out": one.n, "why": one.why}
        for head in HEADS
        for one in [done.heads[head]]
    ]
    serving = f"The model of night {done.serving} serves." if done.serving else "No model serves yet."
    page = (
        f"# Night {night}: {done.end}\n\n{done.reason}\n\n{serving}\n\n{table(rows)}\n\nFull page: `{NIGHTS / night}/report.html`"
    )
    create_markdown_artifact(page, key=f"night-{night}", description=f"{done.end}: {done.reason}")
