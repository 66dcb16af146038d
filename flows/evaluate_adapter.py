"""Flow 3: the adapted model beside the stock model."""

from prefect import flow

from tasks.artifacts import show_evaluation
from tasks.overrides import EvaluationForm
from tasks.reproduce import pipeline
from tasks.worktree import workplace

AS_IN_PARAMS = EvaluationForm()


@flow(name="evaluate-adapter")
def evaluate_adapter(overrides: EvaluationForm = AS_IN_PARAMS) -> None:
    """Measure the adapter, after whatever of dataset and training is stale; promotes nothing.

    Args:
        overrides: what differs from params.yaml in this run; such a run works in a git worktree of its own.
    """
    with workplace(overrides) as place, pipeline(place) as dvc:
        dvc.reproduce("evaluate")
        show_evaluation(place)
