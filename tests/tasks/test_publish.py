"""Pointers: promoted adapters keep their bytes, a kept candidate moves nothing, a student follows the newest night."""

import json
from pathlib import Path

import pytest

from nightgarden.errors import UserError
from nightgarden.jsonl import read_json, write_json, write_text
from nightgarden.models import champion as champion_module
from nightgarden.stage import Place
from tasks import publish
from tasks.artifacts import evaluation_page
from tests.miniature import EVALUATION


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(root=tmp_path, state=tmp_path / "state", tracking_uri="sqlite:////nowhere")


def candidate(root: Path, weights: str, verdict: str = "promote", against: str | None = None) -> None:
    write_text(root / publish.CANDIDATE / "adapter_model.safetensors", weights)
    write_json(root / publish.CANDIDATE / "card.json", {"adapter": f"sha-{weights}"})
    write_text(root / publish.SCORES, weights)
    promote = {"verdict": verdict, "reason": f"{verdict} it"}
    write_json(root / "reports/evaluation.json", {"promote": promote, "against": against and f"sha-{against}"})


def champion(root: Path) -> champion_module.Champion:
    return read_json(root / champion_module.POINTER, champion_module.Champion)


def test_a_champion_keeps_its_weights_and_scores_when_the_candidate_is_gone(place: Place) -> None:
    candidate(place.root, "one")
    assert publish.publish_adapter.fn(place) == publish.Ending(end="Promoted", reason="promote it")
    first = champion(place.root)
    candidate(place.root, "two", against="one")
    publish.publish_adapter.fn(place)
    second = champion(place.root)
    assert (place.root / first.folder / "adapter_model.safetensors").read_text() == "one"
    assert (place.root / first.scores).read_text() == "one"
    assert (second.adapter, second.previous) == ("sha-two", first.folder)


def test_promoting_the_champion_again_changes_nothing(place: Place) -> None:
    candidate(place.root, "one")
    publish.publish_adapter.fn(place)
    before = (place.root / champion_module.POINTER).read_bytes()
    publish.publish_adapter.fn(place)
    assert (place.root / champion_module.POINTER).read_bytes() == before


def test_a_candidate_that_is_not_better_is_kept_back_with_the_reason(place: Place) -> None:
    candidate(place.root, "one", verdict="keep")
    assert publish.publish_adapter.fn(place) == publish.Ending(end="Kept", reason="keep it")
    assert not (place.root / champion_module.POINTER).exists()


def test_an_old_verdict_that_dvc_restored_does_not_depose_a_champion_that_came_since(place: Place) -> None:
    candidate(place.root, "one")
    publish.publish_adapter.fn(place)
    candidate(place.root, "two", against="one")
    publish.publish_adapter.fn(place)
    candidate(place.root, "one")
    ending = publish.publish_adapter.fn(place)
    assert ending.end == "Kept" and "compared with stock only" in ending.reason and "dvc repro -f -s evaluate" in ending.reason
    assert champion(place.root).adapter == "sha-two"


def test_a_copy_that_was_cut_off_is_made_anew(place: Place) -> None:
    candidate(place.root, "one")
    publish.publish_adapter.fn(place)
    home = (place.root / champion(place.root).folder).parent
    home.rename(home.with_suffix(".part"))
    (home.with_suffix(".part") / "adapter/adapter_model.safetensors").write_text("hal")
    publish.publish_adapter.fn(place)
    assert (home / "adapter/adapter_model.safetensors").read_text() == "one" and not home.with_suffix(".part").exists()


def test_without_a_night_there_is_no_student_to_publish(place: Place) -> None:
    with pytest.raises(UserError, match="no night is done"):
        publish.publish_student.fn(place)


def test_the_evaluation_page_says_verdict_reason_and_a_dash_for_nothing_judged() -> None:
    page = evaluation_page(json.loads(json.dumps(EVALUATION)))
    assert "# Adapter: promote" in page and "| bullets | low | 0.400 | – | 0 |" in page
