"""A stage that is killed publishes nothing: ten kills, most of them while a file is being written."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nightgarden.curation.annotate import annotate
from nightgarden.curation.filter import filter_pass
from nightgarden.curation.ingest import ingest
from nightgarden.curation.synthesise import synthesise
from tests.curation.rows import PARAMS, ROOT, example, files_below, ours, place, settings, take_in, write_lines

NUM_ROWS = 6000
CURATION = settings(sources={"a": {"path": "data/inbox/a.jsonl"}})
CODE = """
import sys; from pathlib import Path; from tests.curation.test_kills import run
print("go", flush=True); run(sys.argv[1], Path(sys.argv[2]))
"""


def run(stage: str, root: Path) -> None:
    """One stage on the rows of this test."""
    stages: dict[str, Callable[[], object]] = {
        "ingest": lambda: ingest(CURATION, root),
        "synthesise": lambda: synthesise(PARAMS.model_copy(update={"curation": CURATION}), root, place(root)),
        "annotate": lambda: annotate("exclamation", CURATION, root),
        "filter": lambda: filter_pass("schema", CURATION, root),
    }
    stages[stage]()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    """A folder in which every stage has run, and what it then held."""
    root = tmp_path_factory.mktemp("whole")
    rows = [
        ours(example(f"Answer {n}{'!' if n % 3 else '.'} And some more words to write.", ask=f"{n}?")) for n in range(NUM_ROWS)
    ]
    write_lines(root / "data/inbox/a.jsonl", rows)
    take_in(CURATION, root)
    annotate("exclamation", CURATION, root)
    annotate("schema", CURATION, root)
    filter_pass("schema", CURATION, root)
    return root, files_below(root)


def killed(stage: str, root: Path, delay: float) -> bool:
    """Run a stage in a process of its own and kill it while it writes; whether a temporary file was open then."""
    child = subprocess.Popen([sys.executable, "-c", CODE, stage, str(root)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "go\n"
    while child.poll() is None and not list(root.rglob("*.part")):
        time.sleep(0.001)
    time.sleep(delay)
    is_open = child.poll() is None and bool(list(root.rglob("*.part")))
    if child.poll() is None:
        os.kill(child.pid, signal.SIGKILL)
    child.wait()
    for left in root.rglob("*.part"):
        left.unlink()  # what git ignores and nobody reads; gone before the next kill looks for its own
    return is_open


@pytest.mark.parametrize("published", [True, False], ids=["over whole files", "over nothing"])
def test_of_ten_kills_none_leaves_half_a_file(whole: tuple[Path, dict[str, bytes]], published: bool) -> None:
    root, before = whole
    chance, landed = random.Random(868), 0
    for number, stage in enumerate(["ingest", "annotate", "filter", "synthesise", "annotate"] if published else ["filter"] * 5):
        outs = {name for name in before if name.startswith("data/curated")}
        if not published:
            for name in outs:
                (root / name).unlink(missing_ok=True)
        landed += killed(stage, root, chance.uniform(0, 0.03) * (number % 2))
        found = files_below(root)
        assert all(found[name] == before[name] for name in found), "a file is whole, or it is not there"
        assert published is (outs <= found.keys()) or found == before
    print(f"kills that landed while a temporary file was open: {landed} of 5")  # noqa: T201 - pytest -s shows it
    assert landed >= 3
    filter_pass("schema", CURATION, root)
    assert files_below(root) == before
