"""`make demo`: from raw rows to a measured adapter and its first nights, on the embedded models, with one table at the end.

Runs the same flows as the UI, against the server of `make up` or a temporary one. SIZE=small and INPUT=FILE are
overrides: they run in a git worktree and leave the checkout as it was. Knows no stage's work.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from infra.services import answers
from infra.settings import START_SECONDS, Settings, load
from nightgarden import params
from nightgarden.errors import Refusal, UserError
from nightgarden.jsonl import write_json

if TYPE_CHECKING:
    from prefect.client.schemas.objects import State

    from nightgarden.stage import Place
    from tasks.overrides import BuildForm

NIGHTS = ("2026-09-18", "2026-09-19", "2026-09-20")
"""The hand-written days are 2026-09-07 to -20: the first night takes twelve of them, the others one each."""
MINUTES_PAST = 10
"""Minutes after the window opens at which the demo's clock stands."""
SMALL_ROWS, SMALL_PROMPTS = 64, 8
REPORT = Path("reports/demo.json")


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What the person asked for."""

    size: str
    """`small` or `full`."""
    input_file: str | None

    @property
    def nights(self) -> tuple[str, ...]:
        """The nights to run."""
        return NIGHTS[:1] if self.size == "small" else NIGHTS

    def form(self) -> BuildForm:
        """The wish as the form of `build-adapter`."""
        from tasks.overrides import BuildForm

        if self.size == "small":
            return BuildForm(input_file=self.input_file, rows=SMALL_ROWS, prompts=SMALL_PROMPTS, seeds=1)
        return BuildForm(input_file=self.input_file)


def parse(arguments: list[str], environ: dict[str, str]) -> Wish:
    """`--size small` and `--input FILE`, or SIZE and INPUT in the environment."""
    parser = argparse.ArgumentParser(prog="python -m infra.demo", description="The whole way of the data, once.")
    parser.add_argument(
        "--size",
        choices=("small", "full"),
        default=environ.get("SIZE") or "full",
        help="small: 64 rows, 8 prompts, a night",
    )
    parser.add_argument("--input", default=environ.get("INPUT") or None, help="a .json or .jsonl file to take as one more source")
    got = parser.parse_args(arguments)
    return Wish(size=got.size, input_file=str(Path(got.input).resolve()) if got.input else None)


def choose_server(settings: Settings) -> str:
    """Set the environment for Prefect before it is imported: the server that runs, or a temporary one of our own.

    Returns:
        Which it is, in words.

    Raises:
        UserError: PREFECT_API_URL names a server that does not answer.
    """
    named = settings.told.get("PREFECT_API_URL")
    if named and not answers(f"{named.rstrip('/')}/health"):
        raise UserError(f"PREFECT_API_URL is {named}, and nothing answers there. Start it (`make up`), or unset the variable.")
    ours = f"{settings.prefect_url}/api"
    url = named or (ours if answers(f"{ours}/health") else None)
    os.environ.update(settings.told)
    if url:
        os.environ["PREFECT_API_URL"] = url
        return f"the Prefect server at {url}"
    os.environ["PREFECT_SERVER_ALLOW_EPHEMERAL_MODE"] = "true"
    os.environ["PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS"] = str(START_SECONDS)
    return "a temporary Prefect server"


@contextmanager
def tree(checkout: Place, form: BuildForm) -> Iterator[Place]:
    """The tree that the demo works in, as working directory: the checkout, or the worktree of these overrides."""
    from tasks.worktree import name_by_content, own_tree

    if form.empty:
        yield checkout
        return
    with own_tree(checkout, name_by_content("demo", checkout, form), form) as place:
        os.chdir(place.root)
        try:
            yield place
        finally:
            os.chdir(checkout.root)


def morning_after(night: str, settings: params.Params) -> datetime:
    """The injected moment of a night: shortly after the window opens, on the day after."""
    window = settings.night.window
    opens = datetime.combine(date.fromisoformat(night) + timedelta(days=1), datetime.strptime(window.start, "%H:%M").time())  # noqa: DTZ007
    return (opens + timedelta(minutes=MINUTES_PAST)).replace(tzinfo=ZoneInfo(window.zone))


def run_nights(place: Place, nights: tuple[str, ...], settings: params.Params) -> None:
    """Run the nights that are not done yet, each on its own clock with the window gate on."""
    from flows.nightly_distillation import nightly_distillation
    from tasks.nights import ended

    for night in nights:
        if done := ended(place, night):
            say(f"night {night} is done already: {done.end}, {done.reason}")
            continue
        state = nightly_distillation(night=date.fromisoformat(night), now=morning_after(night, settings), return_state=True)
        told = finished(state)
        if told.name == "Skipped":
            raise UserError(f"night {night} was skipped: {told.message}")
        say(f"night {night}: {told.name}, {told.message}")


def finished(state: State[Any]) -> State[Any]:
    """The state of a run that ended well.

    Raises:
        UserError, Refusal: what the run raised; any other exception is a bug and keeps its traceback.
    """
    if state.is_failed() or state.is_crashed():
        state.result()
    return state


def say(line: str) -> None:
    """One line of progress between the lines of the run logs."""
    print(f"== {line}", flush=True)


def run(wish: Wish, settings: Settings) -> None:
    """The demo from start to table.

    Raises:
        UserError, Refusal: as the flows.
    """
    started = time.monotonic()
    say(f"starting {choose_server(settings)}; a first start takes up to a minute")
    from flows.build_adapter import build_adapter
    from infra import summary
    from tasks.worktree import here, source_key

    checkout = here()
    with tree(checkout, wish.form()) as place:
        say(f"working in {place.root}")
        state = finished(build_adapter(return_state=True))
        say(f"adapter: {state.name}, {state.message}")
        inside = params.load(place.root / "params.yaml")
        run_nights(place, wish.nights, inside)
        found = summary.collect(place.root, place.state, inside, wish.nights, time.monotonic() - started)
        write_json(checkout.root / REPORT, found)
        print(f"\n{summary.table(found, place.root)}\n")
        if wish.input_file:
            print(f"{summary.own_part(place.root, source_key(Path(wish.input_file)))}\n")
    print(where_next(place, wish, found["seconds"]))


def where_next(place: Place, wish: Wish, seconds: float) -> str:
    """What to open and to type now."""
    enter = f"cd {place.root} && " if place.root != Path.cwd() else ""
    lines = [
        f"{seconds:.0f} s. Where to look next:",
        f"  both sides of every prompt   {place.root}/data/scores/report.html",
        f"  what each pass took          {place.root}/reports/waterfall.svg",
        f"  the last morning page        {place.root}/data/nights/{wish.nights[-1]}/report.html",
        f"  all numbers of this table    {REPORT}",
        "  runs, forms and charts       make up",
        f"  the same without Prefect     {enter}dvc repro",
    ]
    return "\n".join(lines)


def main() -> int:
    """Entry point: exit code 0 done, 2 the user's to repair, 3 a gate refused."""
    wish = parse(sys.argv[1:], dict(os.environ))
    # Without this a plain `kill` would leave the temporary server behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        run(wish, load(Path.cwd()))
    except Refusal as error:
        print(f"\nrefused: {error}", file=sys.stderr)
        return 3
    except UserError as error:
        print(f"\n{error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
