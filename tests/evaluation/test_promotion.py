"""From a verdict to what people talk to: five planted cases, the champion in chat, and the way back."""

import shutil
from pathlib import Path

import pytest

from nightgarden import jsonl
from nightgarden.chat.local import Local
from nightgarden.errors import Refusal, UserError
from nightgarden.models import champion
from nightgarden.params import Params
from nightgarden.records import Turn
from nightgarden.stage import Place
from tasks import publish
from tests.evaluation.promotion import CASES, Case, decided

TURNS = (Turn(role="system", content="Be brief."), Turn(role="user", content="Where is the fuse box?"))


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_planted_case_is_decided_right_with_its_reason(case: Case, params: Params) -> None:
    found = decided(case, params.evaluation)
    assert found.verdict == case.verdict
    assert case.reason in found.reason


def promote(root: Path) -> None:
    """The candidate follows a verdict to promote it."""
    jsonl.write_text(root / publish.SCORES, "")
    now = champion.read(root)
    ending = publish.follow(root, "promote", "It improves on stock.", now.adapter if now else None)
    assert ending.end == "Promoted", ending.reason


def said(params: Params, root: Path) -> tuple[str, str]:
    model = Local.companion(params, root, seed=1)
    return model.name, model.reply(TURNS, temperature=0, max_tokens=12)


def change_adapter(root: Path) -> None:
    """Another candidate: the same adapter with its weights turned round."""
    from safetensors.torch import load_file, save_file

    from nightgarden.models import adapters

    path = root / publish.CANDIDATE / adapters.WEIGHTS
    save_file({name: -value for name, value in load_file(path).items()}, path)
    card = jsonl.read_json(root / publish.CANDIDATE / "card.json", dict)
    jsonl.write_json(
        root / publish.CANDIDATE / "card.json", card | {"adapter": adapters.weights_digest(root / publish.CANDIDATE)}
    )


def test_chat_speaks_with_the_champion_and_a_rollback_goes_back_one_step_at_a_time(
    root: Path, place: Place, params: Params
) -> None:
    alone = said(params, root)
    promote(root)
    first = said(params, root)
    change_adapter(root)
    promote(root)
    second = said(params, root)
    assert len({alone, first, second}) == 3 and first[0].startswith("smollm2-135m+")
    champion.roll_back(root, "it sulks")
    assert said(params, root) == first
    champion.roll_back(root, "this one too")
    assert said(params, root) == alone
    with pytest.raises(UserError, match="no champion to roll back"):
        champion.roll_back(root, "again")


def test_an_adapter_that_was_rolled_back_is_not_promoted_again_by_a_verdict_that_dvc_restored(root: Path, place: Place) -> None:
    promote(root)
    taken, _ = champion.roll_back(root, "it sulks")
    ending = publish.follow(root, "promote", "It improves on stock.", None)
    assert ending.end == "Kept" and "it was rolled back: it sulks" in ending.reason
    assert champion.read(root) is None
    (root / champion.home_of(taken.folder) / champion.ROLLED_BACK).unlink()
    promote(root)
    assert champion.read(root) is not None


def test_guard_in_a_champion_whose_card_names_another_template_does_not_speak(root: Path, place: Place, params: Params) -> None:
    promote(root)
    serving = champion.read(root)
    assert serving is not None
    card = jsonl.read_json(root / serving.folder / "card.json", dict)
    card["template"]["golden_ids"]["bare"][-1] += 1
    jsonl.write_json(root / serving.folder / "card.json", card)
    with pytest.raises(Refusal, match="card: trained with another template"):
        Local.companion(params, root, seed=1)


def test_guard_out_it_would_speak(root: Path, place: Place, params: Params, monkeypatch: pytest.MonkeyPatch) -> None:
    from nightgarden.templates import passport

    test_guard_in_a_champion_whose_card_names_another_template_does_not_speak(root, place, params)
    monkeypatch.setattr(passport, "require", lambda seal: None)
    assert said(params, root)[1]


def test_a_champion_that_is_not_whole_is_no_way_back(root: Path, place: Place) -> None:
    promote(root)
    first = champion.read(root)
    change_adapter(root)
    promote(root)
    assert first is not None
    shutil.rmtree(root / champion.home_of(first.folder))
    pointer = (root / champion.POINTER).read_bytes()
    with pytest.raises(UserError, match="does not hold the whole champion before"):
        champion.roll_back(root, "it sulks")
    assert (root / champion.POINTER).read_bytes() == pointer
