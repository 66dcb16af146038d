from pathlib import Path

import pytest

from nightgarden import jsonl
from nightgarden.errors import UserError
from nightgarden.records import HEADS
from nightgarden.trust import ledger, record
from nightgarden.trust.gate import Verdict
from nightgarden.trust.skill import Skill, undefined

GOOD = {"reaction": Skill(value=0.4, n=40, baseline=0.5), "interest": undefined(1, "1 held-out lesson; a skill needs at least 2")}
WORSE = {"reaction": Skill(value=0.1, n=44, baseline=0.5)}
FIRST = record.close("2026-09-18", Verdict(end="Promoted", reason="first model"), GOOD, None, None, {})


def test_a_promoted_model_serves_with_its_own_trust() -> None:
    assert FIRST.serving == "2026-09-18"
    assert FIRST.heads["reaction"].trust == 0.4
    assert FIRST.heads["interest"].trust is None
    assert FIRST.heads["interest"].why == "1 held-out lesson; a skill needs at least 2"
    assert set(FIRST.heads) == set(HEADS)


def test_without_promotion_the_serving_model_and_its_trust_stay_together() -> None:
    verdict = Verdict(end="RolledBack", reason="worse")
    second = record.close("2026-09-19", verdict, WORSE, {"reaction": Skill(value=0.35, n=44, baseline=0.5)}, FIRST, {})
    assert second.serving == "2026-09-18"
    head = second.heads["reaction"]
    assert (head.skill, head.before, head.trust) == (0.1, 0.35, 0.4)


def test_a_first_night_that_is_held_leaves_no_model_and_says_why() -> None:
    held = record.close("2026-09-18", Verdict(end="Held", reason="nothing measured"), GOOD, None, None, {})
    assert held.serving is None
    assert held.heads["reaction"].trust is None
    assert held.heads["reaction"].why == "no promoted model has measured this head"


def test_a_skill_below_0_becomes_trust_0_and_stays_visible() -> None:
    negative = {"reaction": Skill(value=-0.5, n=40, baseline=0.5)}
    now = record.close("2026-09-18", Verdict(end="Promoted", reason="first model"), negative, None, None, {})
    assert (now.heads["reaction"].skill, now.heads["reaction"].trust) == (-0.5, 0.0)


def test_the_ledger_is_the_records_in_order(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.json" for number in (1, 2)]
    jsonl.write_json(paths[0], FIRST)
    jsonl.write_json(paths[1], record.close("2026-09-19", Verdict(end="RolledBack", reason="worse"), WORSE, WORSE, FIRST, {}))
    history = ledger.read(paths)
    assert history[0] == FIRST
    assert [night.end for night in history] == ["Promoted", "RolledBack"]
    assert ledger.trajectory(history, "reaction") == [0.4, 0.4]
    assert ledger.trajectory(history, "interest") == [None, None]


def test_a_missing_record_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"record\.json"):
        record.read(tmp_path / "record.json")
