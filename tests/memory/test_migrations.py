from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgarden import clock, jsonl
from nightgarden.errors import UserError
from nightgarden.memory import migrations
from nightgarden.records import SCHEMA, Event, Label

ROOT = Path(__file__).parents[2]
FIRST_LINE = (  # as it stands in data/seed/days/2026-09-07.jsonl, schema 1
    '{"schema": 1, "record": "event", "id": "e0907-01", "at": "2026-09-07T06:08:00+02:00", "speaker": "user", "text": '
    '"Morning. Awake since ten to four, first day back. Three weeks of sea and my head was in the office before my feet '
    'were on the floor."}'
)


def test_a_real_line_of_schema_1_keeps_its_moment_and_its_wall_clock(tmp_path: Path) -> None:
    (tmp_path / "day.jsonl").write_text(FIRST_LINE + "\n")
    (event,) = migrations.read(tmp_path / "day.jsonl")
    assert isinstance(event, Event)
    assert (event.schema, event.at, event.offset_minutes) == (2, "2026-09-07T04:08:00Z", 120)
    assert event.text.startswith("Morning. Awake since ten to four")


def test_every_line_of_the_seed_days_and_labels_lifts() -> None:
    files = sorted((ROOT / "data/seed/days").glob("*.jsonl")) + sorted((ROOT / "data/seed/labels").glob("*.jsonl"))
    records = [record for path in files for record in migrations.read(path)]
    assert {record.schema for record in records} == {SCHEMA}


def test_a_line_of_the_current_schema_passes_unchanged() -> None:
    lifted = migrations.lift(msgspec.json.decode(FIRST_LINE))
    assert migrations.lift(lifted) == lifted


def test_a_label_has_no_time_and_only_changes_its_number(tmp_path: Path) -> None:
    line = {"schema": 1, "record": "label", "task": "importance", "item": "m0907-01", "value": 4, "by": "hand-written"}
    jsonl.write(tmp_path / "labels.jsonl", [line])
    (label,) = migrations.read(tmp_path / "labels.jsonl")
    assert label == Label(schema=2, task="importance", item="m0907-01", value=4, by="hand-written")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": 3}, "schema 3 is unknown; this version reads 1 to 2"),
        ({"schema": "2"}, "schema '2' is unknown"),
        ({"schema": None}, "schema None is unknown"),
        ({"at": "2026-09-07T06:08:00"}, "without an offset"),
        ({"at": None}, "`at` is None"),
        ({"at": "2026-09-07T06:08:00.5+02:00"}, "whole seconds"),
        ({"mood": "fine"}, "mood"),
        ({"record": "dream"}, "dream"),
    ],
)
def test_a_line_that_fits_no_schema_is_refused_with_its_place(tmp_path: Path, change: dict, said: str) -> None:
    jsonl.write(tmp_path / "day.jsonl", [msgspec.json.decode(FIRST_LINE), msgspec.json.decode(FIRST_LINE) | change])
    with pytest.raises(UserError, match=r"day\.jsonl:2: ") as caught:
        migrations.read(tmp_path / "day.jsonl")
    assert said in str(caught.value)


ZONES = st.integers(-840, 840).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MIN, MAX = datetime(1900, 1, 1), datetime(2200, 1, 1)  # noqa: DTZ001 - hypothesis takes naive limits


@given(st.datetimes(MIN, MAX, timezones=ZONES))
def test_the_moment_never_moves_whatever_the_offset(moment: datetime) -> None:
    moment = moment.replace(microsecond=0)
    lifted = migrations.m002_times_in_utc({"schema": 1, "record": "event", "at": moment.isoformat()})
    assert clock.parse(lifted["at"]) == moment
    assert timedelta(minutes=lifted["offset_minutes"]) == moment.utcoffset()
