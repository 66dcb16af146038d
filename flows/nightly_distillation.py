"""Flow 4: one night. The day is frozen and labelled, the student learns, and serves only if it earned it."""

from datetime import date
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed
from pydantic import AwareDatetime

from tasks.artifacts import show_night
from tasks.nights import choose, commit_night, freeze_night, why_not
from tasks.overrides import NightForm
from tasks.publish import publish_student
from tasks.reproduce import pipeline
from tasks.worktree import workplace

AS_IN_PARAMS = NightForm()


@flow(name="nightly-distillation")
def nightly_distillation(
    night: date | None = None, now: AwareDatetime | None = None, overrides: NightForm = AS_IN_PARAMS
) -> State[Any]:
    """Freeze, label, distil, publish, commit; or skip with the reason.

    Args:
        night: the last day that the night takes. Empty = the local day of twelve hours ago.
        now: the moment that window and quiet are judged by, with its offset from UTC. Empty = the machine's clock.
        overrides: what differs from params.yaml in this run; such a run works in a git worktree of its own.
    """
    with workplace(overrides) as place:
        tonight = choose(place, night, now)
        if reason := why_not(place, tonight):
            return Completed(name="Skipped", message=reason)
        freeze_night(place, tonight)
        with pipeline(place) as dvc:
            dvc.reproduce(f"data/nights/dvc.yaml:distil-{tonight.night}")
        ending = publish_student(place)
        show_night(place, tonight.night)
        commit_night(place, tonight.night, f"Night {tonight.night}: {ending.end}\n\n{ending.reason}")
    return Completed(name=ending.end, message=ending.reason)
