"""The flows under a real Prefect server, on a miniature repository: names, ends, artifacts, no blind retries."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterFlowRunId, FlowRunFilter, FlowRunFilterId
from prefect.client.schemas.objects import State

from flows.build_adapter import build_adapter
from flows.curate_dataset import curate_dataset
from flows.train_adapter import train_adapter
from nightgarden.errors import Refusal
from nightgarden.stage import Place
from tasks.overrides import TrainingForm
from tests.miniature import dvc, git

pytestmark = pytest.mark.usefixtures("prefect_server")


def seen_in_ui(state: State[Any]) -> tuple[list[str], list[str]]:
    """Names of the run's tasks, and keys of its artifacts, in order."""

    async def ask() -> tuple[list[str], list[str]]:
        run = state.state_details.flow_run_id
        async with get_client() as client:
            tasks = await client.read_task_runs(flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[run])))
            shown = await client.read_artifacts(artifact_filter=ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[run])))
        tasks.sort(key=lambda task: task.expected_start_time or task.created)
        return [task.name for task in tasks], sorted(artifact.key or "" for artifact in shown)

    return asyncio.run(ask())


def test_build_adapter_runs_every_stale_stage_as_a_task_then_promotes(unmade: Place, miniature_template: Path) -> None:
    state = build_adapter(return_state=True)
    assert (state.name, state.message) == ("Promoted", "It improves on stock: bullets.")
    names, artifacts = seen_in_ui(state)
    assert [name for name in names if not name.startswith("show")] == [
        "funnel",
        "gate@short",
        "card",
        "train",
        "evaluate",
        "promote or keep",
    ]
    assert artifacts == ["evaluation", "funnel", "held-out-loss", "waterfall"]
    assert (unmade.root / "dvc.lock").read_bytes() == (miniature_template / "made/dvc.lock").read_bytes()
    champion = json.loads((unmade.root / "models/adapters/champion.json").read_text())
    assert json.loads((unmade.root / champion["folder"] / "adapter.json").read_text())["rank"] == 16


def test_fresh_stages_share_one_task(made: Place) -> None:
    state = curate_dataset(return_state=True)
    assert state.is_completed()
    assert seen_in_ui(state)[0].count("up to date") == 2, "one for each step of the flow, whatever the number of stages"
    assert git(made.root, "status", "--porcelain") == ""


def test_a_gates_refusal_ends_the_run_with_its_words_and_is_never_tried_again(
    unmade: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MINIATURE", "gate@short:refuse")
    state = curate_dataset(return_state=True)
    assert state.is_failed() and "only 3 rows; 32 are needed" in str(state.message)
    with pytest.raises(Refusal):
        state.result()
    assert (tmp_path / "log").read_text().split() == ["funnel", "gate@short"]


def test_a_form_with_a_value_runs_in_a_worktree_and_leaves_the_checkout_clean(made: Place) -> None:
    state = train_adapter(overrides=TrainingForm(rank=4), return_state=True)
    assert state.is_completed() and git(made.root, "status", "--porcelain") == ""
    (tree,) = (made.state / "runs").iterdir()
    assert tree.name.startswith("train-adapter-")
    assert json.loads((tree / "models/adapters/candidate/adapter.json").read_text())["rank"] == 4
    assert f"run/{tree.name}" in git(made.root, "branch")
    assert "up to date" in dvc(made.root, "status")
