"""The demo's own parts: what was asked for, its clock, its server, and a table made of nothing but files."""

import os
from pathlib import Path

import msgspec
import pytest

from infra import demo, settings, summary
from nightgarden import params
from nightgarden.errors import UserError
from nightgarden.jsonl import write, write_json
from nightgarden.records import HEADS, LedgerLine, Quarantined
from nightgarden.rule_params import RULES
from nightgarden.tracking import Point, SpooledRun
from nightgarden.trust.record import HeadRecord, NightRecord

HELD_OUT = {"op0": {"before": 3.0, "after": 2.5}}
SIDES = {"stock": {"bullets": 0.4}, "adapted": {"bullets": None}}


@pytest.fixture
def loaded(repository: Path) -> params.Params:
    return params.load(repository / "params.yaml")


def spooled(name: str, at: int, seconds: float) -> SpooledRun:
    points = [Point("time_train_seconds", seconds), Point("loss_first", 3.5), Point("loss_last", 2.25)]
    return SpooledRun(key=name, experiment="x", name=name, started_ms=at, ended_ms=at, tags={}, params={}, points=points)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The files that a finished demo leaves, one row a day."""
    counts = {"rows_in": 10, "kept": 9, "dropped": 1}
    write_json(tmp_path / "reports/passes/ingest.json", {"rows_in": 12, "examples": 10, "quarantined": 2, "merged": 0})
    made = {"rows_in": 10, "made": 3, "rows": 12, "merged": 1, "model": "m"}
    write_json(tmp_path / "reports/passes/synthesise.json", made)
    for name in (*RULES, "rebalance"):
        write_json(tmp_path / f"reports/passes/{name}.json", counts)
    report = {"loss_first": 3.5, "loss_last": 2.25, "held_out": HELD_OUT}
    write_json(tmp_path / "reports/training.json", report)
    promote = {"verdict": "keep", "reason": "no score improves"}
    write_json(
        tmp_path / "reports/evaluation.json", SIDES | {"template": "agree", "good": {"bullets": "low"}, "promote": promote}
    )
    write_json(tmp_path / "data/dataset/gate.json", {"rows": 9, "mix": [0.25, 0.3, 0.25, 0.2]})
    heads = {name: HeadRecord(skill=0.5, before=None, trust=0.5, n=9, baseline=0.4, why="") for name in HEADS}
    heads["interest"] = HeadRecord(skill=None, before=None, trust=None, n=0, baseline=None, why="no held-out lesson yet")
    night = NightRecord(night="2026-09-18", end="Promoted", reason="first model", serving="2026-09-18", heads=heads, labels={})
    write_json(tmp_path / "data/nights/2026-09-18/record.json", night)
    return tmp_path


def test_the_report_has_the_promised_shape(tree: Path, loaded: params.Params) -> None:
    write_json(tree / "state/spool/sent/1.json", spooled("train", 1, 99.0))
    write_json(tree / "state/spool/waiting/2.json", spooled("train", 2, 60.5))
    write_json(tree / "state/spool/waiting/3.json", spooled("evaluate", 3, 7.0))
    found = summary.collect(tree, tree / "state", loaded, ["2026-09-18"], 12.34)
    assert found["rows"] == {"in": 12, "kept": 9, "mix": [0.25, 0.3, 0.25, 0.2]}
    assert [line["name"] for line in found["passes"]] == ["ingest", "synthesise", *RULES, "rebalance"]
    assert found["passes"][0] == {"name": "ingest", "in": 12, "kept": 10, "quarantined": 2, "merged": 0}
    assert found["passes"][1] == {"name": "synthesise", "in": 13, "kept": 12, "quarantined": 0, "merged": 1}
    assert found["training"] == {"loss_first": 3.5, "loss_last": 2.25, "seconds": 60.5}, "of the newest training"
    assert found["evaluation"] == SIDES | {"template": "agree"}
    trust = dict.fromkeys(HEADS, 0.5) | {"interest": None}
    (night,) = found["nights"]
    assert (night["date"], night["end"], night["trust"]) == ("2026-09-18", "Promoted", trust)
    assert (night["n"]["interest"], night["why"]["interest"]) == (0, "no held-out lesson yet")
    assert found["seconds"] == 12.3 and len(found) == 6


def test_seconds_are_those_of_the_training_that_is_shown_and_null_says_why(tree: Path, loaded: params.Params) -> None:
    other = msgspec.structs.replace(spooled("train", 9, 7.0), points=[Point("time_train_seconds", 7.0), Point("loss_first", 1.0)])
    write_json(tree / "state/spool/sent/9.json", other)
    (tree / "state/spool/bad").mkdir()
    (tree / "state/spool/bad/0.json").write_text("{half")
    found = summary.collect(tree, tree / "state", loaded, ["2026-09-18"], 1)
    assert found["training"]["seconds"] is None and found["training"]["restored"] == "from DVC's cache"


def test_the_table_shows_every_number_and_why_one_is_missing(tree: Path, loaded: params.Params) -> None:
    found = summary.collect(tree, tree / "state", loaded, ["2026-09-18"], 1)
    shown = summary.table(found, tree)
    assert "12 rows in, 9 kept; bootstrap 25.0%, identity stripping 30.0%" in shown
    assert "steps, 3.500 -> 2.250, restored from DVC's cache" in shown
    assert "op0             3.000  2.500" in shown
    assert "template: agree; keep: no score improves" in shown
    assert "bullets   low  0.400        –" in shown
    assert "interest        –      –         0  no held-out lesson yet" in shown


def test_the_users_own_rows_are_followed_through_every_pass(tmp_path: Path) -> None:
    lines = [{"file": f"data/inbox/input_own.{end}", "line": at, "id": f"o{at}"} for at, end in enumerate(["json"] * 4)]
    write(tmp_path / "data/raw/positions.jsonl", [*lines, {"file": "data/inbox/input_own_2.json", "line": 1, "id": "x"}])
    dropped = [
        LedgerLine(id=name, op=0, rule=rule, hits=())
        for name, rule in (("o0", "placeholder"), ("o1", "placeholder"), ("x", "bullets"))
    ]
    write(tmp_path / "data/curated/ledger.jsonl", dropped)
    write(tmp_path / "data/curated/rebalance/ledger.jsonl", [LedgerLine(id="o2", op=0, rule="rebalance", hits=())])
    aside = Quarantined(file="data/inbox/input_own.json", line=9, reason="not an object", raw="7")
    write(tmp_path / "data/raw/quarantine.jsonl", [aside])
    shown = summary.own_part(tmp_path, "input_own")
    assert "YOUR FILE  5 different rows" in shown and "line 9: not an object" in shown
    numbers = {line.rsplit(None, 1)[0].strip(): line.rsplit(None, 1)[1] for line in shown.splitlines()[4:8]}
    assert numbers == {"quarantined": "1", "placeholder": "2", "rebalance": "1", "kept in the dataset": "1"}


def test_size_and_input_come_from_the_command_line_or_the_environment(tmp_path: Path) -> None:
    assert demo.parse([], {}) == demo.Wish(size="full", input_file=None) and demo.parse([], {}).form().empty
    small = demo.parse(["--size", "small"], {})
    assert (small.nights, small.form().changes()) == (
        ("2026-09-18",),
        {"curation.rebalance.rows": 64, "evaluation.prompts": 8, "evaluation.seeds": 1},
    )
    asked = demo.parse([], {"SIZE": "small", "INPUT": str(tmp_path / "x.json")})
    assert (asked.size, asked.form().input_file) == ("small", str(tmp_path / "x.json"))
    with pytest.raises(SystemExit):
        demo.parse(["--size", "tiny"], {})


def test_every_night_runs_in_the_window_on_its_own_morning(loaded: params.Params) -> None:
    moments = [demo.morning_after(night, loaded).isoformat() for night in demo.NIGHTS]
    assert moments == ["2026-09-19T03:10:00+02:00", "2026-09-20T03:10:00+02:00", "2026-09-21T03:10:00+02:00"]


def test_a_named_server_that_does_not_answer_is_refused_and_without_one_the_start_may_take_two_minutes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", dict(os.environ))
    nobody = {"NIGHTGARDEN_PREFECT_PORT": "1"}
    with pytest.raises(UserError, match="nothing answers there"):
        demo.choose_server(settings.load(tmp_path, nobody | {"PREFECT_API_URL": "http://127.0.0.1:1/api"}))
    assert demo.choose_server(settings.load(tmp_path, nobody)) == "a temporary Prefect server"
    assert os.environ["PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS"] == "120"
    assert os.environ["PREFECT_HOME"] == str(tmp_path / ".nightgarden/prefect")
