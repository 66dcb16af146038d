"""The rater as a setting of the stage: its scores reach report and page only after its exam."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from nightgarden.chat.served import Served
from nightgarden.errors import UserError
from nightgarden.evaluation import evaluate as stage
from nightgarden.evaluation import runs
from nightgarden.params import Params, RaterSettings
from nightgarden.stage import Place
from tests.evaluation.test_rater import Scripted, knowing, said, standing

__all__ = ["standing"]


def rating(params: Params) -> Params:
    asked = params.evaluation.model_copy(update={"rater": RaterSettings(by="server", model="judge")})
    return params.model_copy(update={"evaluation": asked})


def test_guard_in_a_rater_that_fails_its_exam_gives_no_score_to_the_report(
    standing: tuple[type[Scripted], Served], root: Path, place: Place, params: Params
) -> None:
    handler, chat = standing
    handler.says = staticmethod(lambda asked: said(1))
    stage.evaluate(rating(params), root, replace(place, server_url=chat.url, server_key="none"))
    found = json.loads((root / stage.REPORT).read_text())["rater"]
    assert not found["exam"]["passed"] and found["scores"] == {} and "1 different scores" in found["exam"]["reasons"][0]
    page = (root / stage.PAGE).read_text()
    assert "judge did not pass its exam, so none of its scores is shown" in page
    assert json.loads((root / stage.SCORES / runs.RATINGS).read_text())["ratings"] == []
    assert len(handler.asked) == 30 + 8, "fifteen anchors twice, four prompts on two sides"


def test_clean_case_a_rater_that_passes_is_shown_by_side(
    standing: tuple[type[Scripted], Served], root: Path, place: Place, params: Params
) -> None:
    handler, chat = standing
    handler.says = staticmethod(knowing)
    stage.evaluate(rating(params), root, replace(place, server_url=chat.url, server_key="none"))
    found = json.loads((root / stage.REPORT).read_text())["rater"]
    assert found["exam"]["passed"] and found["template"] == "unverified"
    assert {side: one["of"] for side, one in found["scores"].items()} == {"stock": 4, "adapted": 4}
    assert all(3 <= one["mean"] <= 4 and sum(one["counts"]) == 4 for one in found["scores"].values())
    assert "judge passed its exam" in (root / stage.PAGE).read_text()


def test_a_rater_without_a_server_stops_before_anything_is_generated(root: Path, place: Place, params: Params) -> None:
    with pytest.raises(UserError, match="evaluation.rater.model is 'judge' and OPENAI_BASE_URL is not set"):
        stage.evaluate(rating(params), root, place)
    assert not (root / stage.REPORT).exists() and not place.state.exists()
