"""From raw rows to a measured adapter, which is promoted or kept back with the reason."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed

from tasks.artifacts import show_evaluation, show_funnel, show_training
from tasks.overrides import BuildForm
from tasks.publish import publish_adapter
from tasks.reproduce import pipeline
from tasks.worktree import workplace

AS_IN_PARAMS = BuildForm()


@flow(name="build-adapter")
def build_adapter(overrides: BuildForm = AS_IN_PARAMS) -> State[Any]:
    """Curate, train, evaluate; then promote the adapter or keep the one that serves.

    Args:
        overrides: what differs from params.yaml in this run; such a run works in a git worktree of its own.
    """
    with workplace(overrides) as place, pipeline(place) as dvc:
        dvc.reproduce("funnel")
        show_funnel(place)
        dvc.reproduce("card")
        dvc.reproduce("train")
        show_training(place)
        dvc.reproduce("evaluate")
        show_evaluation(place)
        ending = publish_adapter(place)
    return Completed(name=ending.end, message=ending.reason)
