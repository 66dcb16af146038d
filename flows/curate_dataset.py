"""Flow 1: raw rows become a gated dataset."""

from prefect import flow

from tasks.artifacts import show_funnel
from tasks.overrides import CurationForm
from tasks.reproduce import pipeline
from tasks.worktree import workplace

AS_IN_PARAMS = CurationForm()


@flow(name="curate-dataset")
def curate_dataset(overrides: CurationForm = AS_IN_PARAMS) -> None:
    """Ingest, the twelve filter passes, the mix, the split, the gate and the data card.

    Args:
        overrides: what differs from params.yaml in this run; such a run works in a git worktree of its own.
    """
    with workplace(overrides) as place, pipeline(place) as dvc:
        dvc.reproduce("funnel")
        show_funnel(place)
        dvc.reproduce("card")
