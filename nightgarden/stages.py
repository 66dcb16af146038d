"""The stages of dvc.yaml by name: which function does the work, how it is called, what is part of its identity.

Names modules and imports none, so that a stage loads no more than its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A stage of dvc.yaml: the function behind its name and how to call it."""

    module: str
    function: str
    takes: Literal["curation", "shards", "params"]
    """`curation`: (settings, root); `shards`: (settings, root, workers); `params`: (params, root, place). A key comes first."""
    experiment: str
    sections: tuple[str, ...]
    """Sections of params.yaml that are part of its identity."""
    native_inputs: tuple[str, ...] = ()
    curve: str | None = None
    artifacts: tuple[str, ...] = ()
    sync: bool = False


def _curation(module: str, function: str, *, takes: Literal["curation", "shards"] = "curation", sync: bool = False) -> Stage:
    return Stage(
        module=f"nightgarden.curation.{module}",
        function=function,
        takes=takes,
        experiment="curation",
        sections=("curation",),
        sync=sync,
    )


STAGES: dict[str, Stage] = {
    "ingest": _curation("ingest", "ingest", takes="shards"),
    "synthesise": Stage(
        module="nightgarden.curation.synthesise",
        function="synthesise",
        takes="params",
        experiment="curation",
        sections=("curation",),
        native_inputs=("models/base/smollm2-135m/digests.json",),
    ),
    "annotate": _curation("annotate", "annotate", takes="shards"),
    "filter": _curation("filter", "filter_pass"),
    "funnel": _curation("report", "funnel"),
    "rebalance": _curation("rebalance", "rebalance"),
    "split": _curation("split", "split"),
    "render": Stage(
        module="nightgarden.curation.render",
        function="render",
        takes="params",
        experiment="curation",
        sections=("base", "models", "training"),
        native_inputs=("models/base",),
    ),
    "gate": _curation("gate", "gate", sync=True),
    "card": _curation("card", "card"),
    "train": Stage(
        module="nightgarden.training.loop",
        function="train",
        takes="params",
        experiment="training",
        sections=("base", "models", "training"),
        native_inputs=("models/base",),
        curve="reports/training_loss.json",
        sync=True,
    ),
    "evaluate": Stage(
        module="nightgarden.evaluation.evaluate",
        function="evaluate",
        takes="params",
        experiment="evaluation",
        sections=("base", "models", "evaluation"),
        native_inputs=("models/base", "models/adapters/candidate"),
        artifacts=("data/scores/report.html", "data/scores/table.json"),
        sync=True,
    ),
    "label": Stage(
        module="nightgarden.teacher.label", function="label", takes="params", experiment="nights", sections=("base", "night")
    ),
    "distil": Stage(
        module="nightgarden.night.steps",
        function="distil",
        takes="params",
        experiment="nights",
        sections=("night",),
        native_inputs=("models/base/minilm", "models/student"),
        sync=True,
    ),
}
"""Every stage by the word after `python -m nightgarden`."""
