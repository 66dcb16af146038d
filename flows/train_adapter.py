"""Flow 2: the gated dataset becomes a LoRA adapter."""

from prefect import flow

from tasks.artifacts import show_training
from tasks.overrides import TrainingForm
from tasks.reproduce import pipeline
from tasks.worktree import workplace

AS_IN_PARAMS = TrainingForm()


@flow(name="train-adapter")
def train_adapter(overrides: TrainingForm = AS_IN_PARAMS) -> None:
    """Train the adapter, after whatever of the dataset is stale.

    Args:
        overrides: what differs from params.yaml in this run; such a run works in a git worktree of its own.
    """
    with workplace(overrides) as place, pipeline(place) as dvc:
        dvc.reproduce("train")
        show_training(place)
