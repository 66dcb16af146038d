import json
import shutil
from pathlib import Path

import pytest

from nightgarden import jsonl, params
from nightgarden.errors import UserError
from nightgarden.night import stages, steps
from nightgarden.night.steps import Prediction
from nightgarden.records import HEADS, Lesson
from nightgarden.stage import Place
from nightgarden.teacher.items import NIGHTS
from nightgarden.trust import record
from nightgarden.trust.split import Assignment

ROOT = Path(__file__).parents[2]
PARAMS = params.load(ROOT / "params.yaml")
FIRST, SECOND = "2026-11-01", "2026-11-02"


def outputs(root: Path, night: str) -> dict[str, bytes]:
    files = [
        *(root / NIGHTS / night).iterdir(),
        *(root / stages.STUDENTS / night).iterdir(),
        root / stages.REPORTS / f"{night}.json",
    ]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(files)}


def test_a_night_distilled_again_elsewhere_gives_the_same_bytes(nights: Place, tmp_path: Path) -> None:
    root = shutil.copytree(nights.root, tmp_path / "again", symlinks=True, ignore=shutil.ignore_patterns("state", "student"))
    elsewhere = Place(root=root, state=tmp_path / "fresh", tracking_uri="none")
    shutil.copytree(nights.root / stages.STUDENTS / FIRST, root / stages.STUDENTS / FIRST)
    steps.distil(SECOND, PARAMS, root, elsewhere)
    assert outputs(root, SECOND) == outputs(nights.root, SECOND)


def test_a_night_keeps_its_own_lessons_and_carries_every_side_on(nights: Place) -> None:
    lessons = {night: list(jsonl.read(nights.root / NIGHTS / night / "lessons.jsonl", Lesson)) for night in (FIRST, SECOND)}
    tables = {night: list(jsonl.read(nights.root / NIGHTS / night / "split.jsonl", Assignment)) for night in (FIRST, SECOND)}
    assert {row.night for row in lessons[SECOND]} == {SECOND}
    assert tables[SECOND][: len(tables[FIRST])] == tables[FIRST]
    drafts = [row for row in lessons[SECOND] if row.id.startswith("reaction/p9")]
    assert len(drafts) == 2 and len({row.group for row in drafts}) == 1


def test_the_stored_predictions_are_of_held_out_lessons_by_both_models(nights: Place) -> None:
    rows = list(jsonl.read(nights.root / NIGHTS / SECOND / "predictions.jsonl", Prediction))
    held_out = {row.group for row in jsonl.read(nights.root / NIGHTS / SECOND / "split.jsonl", Assignment) if row.held_out}
    lessons = [row for night in (FIRST, SECOND) for row in jsonl.read(nights.root / NIGHTS / night / "lessons.jsonl", Lesson)]
    assert {row.lesson for row in rows} == {row.id for row in lessons if row.group in held_out}
    assert all(row.candidate and row.serving for row in rows)


def test_the_metrics_file_says_why_where_it_has_no_number(nights: Place) -> None:
    told = json.loads((nights.root / stages.REPORTS / f"{FIRST}.json").read_text())
    assert told["night_number"] == 1 and told["end"] == "Promoted"
    for head in HEADS:
        assert (told["skill"][head] is None) == (head in told["why"])
    assert told["why"]["relevance"] == "0 held-out lessons; a skill needs at least 2"


def test_the_report_leaves_undefined_heads_out(nights: Place, tmp_path: Path) -> None:
    now = record.read(nights.root / NIGHTS / SECOND / "record.json")
    report = steps._report(now, 2, 10)
    assert {key for key in report if key.startswith("trust/")} == {"trust/importance", "trust/reaction"}
    assert {key for key in report if key.startswith("n/")} == {f"n/{head}" for head in HEADS}


def test_a_night_that_was_not_frozen_is_named(nights: Place) -> None:
    with pytest.raises(UserError, match="does not list the night 2027-01-01"):
        steps.distil("2027-01-01", PARAMS, nights.root, nights)


def test_the_page_says_how_the_night_ended_whose_labels_they_are_and_draws_trust(nights: Place) -> None:
    page = (nights.root / NIGHTS / SECOND / "report.html").read_text()
    assert ">Promoted</span>" in page
    assert "44 hand-written labels" in page
    assert "<svg" in page and "consulted from 0.2" in page
    assert "http://" not in page and "https://" not in page and "<script" not in page
    assert "Consulted from now on: importance, reaction." in page
