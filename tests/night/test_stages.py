import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from nightgarden.errors import UserError
from nightgarden.night import stages
from nightgarden.night.stages import Night

ROOT = Path(__file__).parents[2]
NAMES = ("2026-09-18", "2026-09-19", "2026-09-20")


@pytest.fixture
def three(tmp_path: Path) -> Path:
    for night in NAMES:
        stages.add_night(Night(night=night, days=(night,)), tmp_path)
    return tmp_path


def blocks(root: Path) -> dict:
    return yaml.safe_load((root / stages.STAGES).read_text())["stages"]


def test_past_nights_are_frozen_and_tonight_is_not(three: Path) -> None:
    found = blocks(three)
    assert list(found) == [f"{step}-{night}" for night in NAMES for step in ("label", "distil")]
    assert [bool(block.get("frozen")) for block in found.values()] == [True, True, True, True, False, False]
    assert found["label-2026-09-20"]["cmd"] == "python -m nightgarden label 2026-09-20"


def test_a_night_reads_the_nights_before_it_and_none_after(three: Path) -> None:
    deps = blocks(three)["distil-2026-09-19"]["deps"]
    assert {"data/nights/2026-09-18/record.json", "data/nights/2026-09-18/lessons.jsonl", "models/student/2026-09-18"} <= set(
        deps
    )
    assert not any("2026-09-20" in dep for dep in deps)


def test_no_output_is_written_by_two_stages(three: Path) -> None:
    outs = [str(out) for block in blocks(three).values() for out in [*block["outs"], *block.get("metrics", [])]]
    assert len(outs) == len(set(outs))


def test_a_past_block_stays_as_it_was_written_when_the_code_grows(three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = blocks(three)
    monkeypatch.setattr(stages, "code", lambda start: ["nightgarden/new.py"])
    stages.add_night(Night(night="2026-09-21", days=("2026-09-21",)), three)
    after = blocks(three)
    assert after["distil-2026-09-20"] == before["distil-2026-09-20"] | {"frozen": True}
    assert "nightgarden/new.py" in after["distil-2026-09-21"]["deps"]
    stages.write_stages(three, keep_past=False)
    replayed = blocks(three)
    assert not any(block.get("frozen") for block in replayed.values())
    assert all("nightgarden/new.py" in block["deps"] for block in replayed.values())


def test_listing_a_night_again_changes_no_byte(three: Path) -> None:
    before = [(three / path).read_bytes() for path in (stages.LIST, stages.STAGES)]
    stages.add_night(Night(night=NAMES[2], days=(NAMES[2],)), three)
    assert before == [(three / path).read_bytes() for path in (stages.LIST, stages.STAGES)]


@pytest.mark.parametrize("start", [stages.LABEL, stages.DISTIL])
def test_the_named_code_covers_what_is_really_loaded(start: str) -> None:
    module = "nightgarden." + start.removesuffix(".py").replace("/", ".")
    script = f"import sys, {module}; print(*(m.__file__ for n, m in sys.modules.items() if n.startswith('nightgarden')))"
    answer = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = {Path(path).relative_to(ROOT).as_posix() for path in answer.stdout.split() if Path(path).stat().st_size}
    docstring_only = {path for path in loaded if path.endswith("__init__.py") and (ROOT / path).stat().st_size < 200}
    assert loaded - docstring_only - stages.EXEMPT <= set(stages.code(start))


def test_dvc_reads_the_written_stages(three: Path) -> None:
    (three / "params.yaml").write_text((ROOT / "params.yaml").read_text())
    for command in (["git", "init", "-q"], [sys.executable, "-m", "dvc", "init", "-q"]):
        subprocess.run(command, cwd=three, check=True)
    listed = subprocess.run(
        [sys.executable, "-m", "dvc", "stage", "list", "--name-only", str(stages.STAGES)],
        cwd=three,
        capture_output=True,
        text=True,
        check=True,
    )
    assert listed.stdout.split() == [f"{stages.STAGES}:{step}-{night}" for night in NAMES for step in ("label", "distil")]


@pytest.mark.parametrize(
    "text",
    ["- night: 2026-09-18", "nights: 3", "- [unclosed", "- {night: '2026-09-19', days: []}\n- {night: '2026-09-18', days: []}"],
)
def test_a_broken_list_is_the_users_to_repair(tmp_path: Path, text: str) -> None:
    (tmp_path / stages.LIST).parent.mkdir(parents=True)
    (tmp_path / stages.LIST).write_text(text)
    with pytest.raises(UserError, match=r"nights\.yaml"):
        stages.read_nights(tmp_path)


def test_dates_without_quotes_are_read_as_names(tmp_path: Path) -> None:
    (tmp_path / stages.LIST).parent.mkdir(parents=True)
    (tmp_path / stages.LIST).write_text("- night: 2026-09-18\n  days: [2026-09-17, 2026-09-18]\n")
    assert stages.read_nights(tmp_path) == [Night(night="2026-09-18", days=("2026-09-17", "2026-09-18"))]
