from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgarden import clock, jsonl, params
from nightgarden.errors import UserError
from nightgarden.night import freeze as freezing
from nightgarden.night import stages
from nightgarden.night.freeze import freeze, window_reason
from nightgarden.records import Label
from nightgarden.teacher.items import NIGHTS, read_day

ROOT = Path(__file__).parents[2]
SEED = ROOT / "data/seed"
CORE = SEED / "days/core.jsonl"
WINDOW = params.load(ROOT / "params.yaml").night.window


def day(number: int) -> Path:
    return SEED / f"days/2026-09-{number:02d}.jsonl"


def labels(number: int) -> Path:
    return SEED / f"labels/2026-09-{number:02d}.jsonl"


def frozen(root: Path, night: str) -> Path:
    return root / NIGHTS / night / "day.jsonl"


def test_two_nights_take_each_day_once_and_bring_what_they_name(tmp_path: Path) -> None:
    first = freeze("2026-09-08", [day(7), day(8)], [labels(7), labels(8)], CORE, tmp_path)
    second = freeze("2026-09-09", [day(9)], [labels(9)], CORE, tmp_path)
    lines = [line for number in (7, 8) for line in day(number).read_text().splitlines()]
    assert first["records"] == len(lines)
    found = read_day("2026-09-09", tmp_path)
    named = {name for recall in found.recalls.values() for name in recall.memories}
    named |= {name for reply in found.replies.values() for name in reply.memories}
    assert named <= set(found.memories)
    older = [memory for memory in found.memories.values() if memory.at < "2026-09-08T22"]
    assert len(older) == second["copied"] > 0
    assert {memory.id for memory in older} <= named
    assert [night.days for night in stages.read_nights(tmp_path)] == [("2026-09-07", "2026-09-08"), ("2026-09-09",)]


def test_a_frozen_day_is_lifted_sorted_and_has_its_labels_last(tmp_path: Path) -> None:
    freeze("2026-09-07", [day(7)], [labels(7)], CORE, tmp_path)
    lines = frozen(tmp_path, "2026-09-07").read_text().splitlines()
    assert all('"schema":2' in line for line in lines)
    kinds = ['"record":"label"' in line for line in lines]
    assert kinds == sorted(kinds)
    found = list(jsonl.read(frozen(tmp_path, "2026-09-07"), freezing.DayRecord | Label))
    times = [(line.at, line.id) for line in found if not isinstance(line, Label)]
    assert times == sorted(times)


def test_freezing_again_is_harmless_and_other_content_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = tmp_path / "2026-09-07.jsonl"
    changed.write_text(day(7).read_text().replace("Awake since ten to four", "Slept until seven"))
    freeze("2026-09-07", [day(7)], [labels(7)], CORE, tmp_path)
    before = frozen(tmp_path, "2026-09-07").read_bytes()
    freeze("2026-09-07", [day(7)], [labels(7)], CORE, tmp_path)
    with pytest.raises(UserError, match="is frozen .* and the days now hold other content"):
        freeze("2026-09-07", [changed], [labels(7)], CORE, tmp_path)
    assert frozen(tmp_path, "2026-09-07").read_bytes() == before

    monkeypatch.setattr(freezing, "_write_once", jsonl.write)
    freeze("2026-09-07", [changed], [labels(7)], CORE, tmp_path)
    assert frozen(tmp_path, "2026-09-07").read_bytes() != before


def test_a_kill_between_the_writes_is_mended_by_running_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as killed:
        killed.setattr(stages, "add_night", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            freeze("2026-09-07", [day(7)], [labels(7)], CORE, tmp_path)
    assert frozen(tmp_path, "2026-09-07").is_file() and not stages.read_nights(tmp_path)
    freeze("2026-09-07", [day(7)], [labels(7)], CORE, tmp_path)
    assert [night.night for night in stages.read_nights(tmp_path)] == ["2026-09-07"]


@pytest.mark.parametrize(
    ("night", "days", "said"),
    [
        ("2026-09-08", [7, 8], "does not follow night 2026-09-07"),
        ("2026-09-07", [7, 8], "none after the night"),
        ("2026-09-07", [6], "is listed with the days"),
        ("2026-09-06", [6], "does not follow night 2026-09-07"),
        ("tonight", [8], "'tonight' is not a date"),
        ("2026-09-08", [], "it needs at least one"),
    ],
)
def test_nights_follow_one_another(tmp_path: Path, night: str, days: list[int], said: str) -> None:
    freeze("2026-09-07", [day(7)], [], CORE, tmp_path)
    with pytest.raises(UserError, match=said):
        freeze(night, [day(number) for number in days], [], CORE, tmp_path)
    assert not frozen(tmp_path, "2026-09-08").exists()


def test_a_name_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="names c-.*which is in no day, earlier night or core file"):
        freeze("2026-09-07", [day(7)], [], None, tmp_path)


def test_an_id_cannot_stand_on_two_records(tmp_path: Path) -> None:
    twice = tmp_path / "2026-09-07.jsonl"
    twice.write_text(day(7).read_text() + day(7).read_text().splitlines()[0] + "\n")
    with pytest.raises(UserError, match="stands on two records"):
        freeze("2026-09-07", [twice], [], CORE, tmp_path)
    freeze("2026-09-07", [day(7)], [], CORE, tmp_path)
    again = tmp_path / "2026-09-08.jsonl"
    again.write_text(day(7).read_text())
    with pytest.raises(UserError, match="came in an earlier night already"):
        freeze("2026-09-08", [again], [], CORE, tmp_path)


def berlin(text: str) -> datetime:
    return clock.parse(text)


@pytest.mark.parametrize(
    ("now", "said"),
    [
        ("2026-09-19T03:00:00+02:00", None),
        ("2026-09-19T05:59:59+02:00", None),
        ("2026-09-19T06:00:00+02:00", "it is 06:00 in Europe/Berlin; nights run from 03:00 to 06:00"),
        ("2026-09-19T02:59:00+02:00", "it is 02:59"),
        ("2026-09-19T01:30:00+00:00", None),
    ],
)
def test_a_night_starts_in_the_window_on_the_wall_clock(now: str, said: str | None) -> None:
    reason = window_reason(berlin(now), WINDOW, None)
    assert reason == said or (said and said in (reason or ""))


@pytest.mark.parametrize(
    ("now", "open_"),
    [
        # 2026-10-25: at 03:00 summer time the clock goes back to 02:00.
        ("2026-10-25T00:59:00Z", False),  # 02:59 for the first time
        ("2026-10-25T01:00:00Z", False),  # 02:00 for the second time
        ("2026-10-25T02:00:00Z", True),  # 03:00 winter time
        # 2026-03-29: at 02:00 winter time the clock jumps to 03:00.
        ("2026-03-29T00:59:00Z", False),  # 01:59
        ("2026-03-29T01:00:00Z", True),  # 03:00 summer time
    ],
)
def test_the_window_moves_with_summer_time(now: str, open_: bool) -> None:
    assert (window_reason(berlin(now), WINDOW, None) is None) == open_


def test_the_quiet_time_is_a_difference_of_moments_across_the_change() -> None:
    now = berlin("2026-10-25T02:10:00Z")
    heard = berlin("2026-10-25T02:55:00+02:00")
    assert window_reason(now, WINDOW, heard) is None
    reason = window_reason(now, WINDOW, now - timedelta(minutes=29, seconds=30))
    assert reason == "the last event was 29 minutes ago; a night needs 30 quiet minutes"


def test_a_window_may_cross_midnight() -> None:
    late = WINDOW.model_copy(update={"start": "23:00", "end": "02:00"})
    assert window_reason(berlin("2026-09-19T23:30:00+02:00"), late, None) is None
    assert window_reason(berlin("2026-09-19T01:30:00+02:00"), late, None) is None
    assert window_reason(berlin("2026-09-19T12:00:00+02:00"), late, None) is not None


@given(st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC)), st.integers(0, 100))  # noqa: DTZ001
def test_no_night_ever_starts_by_day_or_in_company(now: datetime, minutes: int) -> None:
    if window_reason(now, WINDOW, now - timedelta(minutes=minutes)) is None:
        assert 3 <= clock.local(now, "Europe/Berlin").hour < 6
        assert minutes >= 30
