"""The instruct sibling of a base model: a third column, asked with the very same ids, compared with nothing."""

import json
from pathlib import Path

import pytest

from nightgarden.errors import Refusal
from nightgarden.evaluation import evaluate as stage
from nightgarden.evaluation import runs
from nightgarden.params import Params
from nightgarden.stage import Place

NAME = "smollm2-sibling"


@pytest.fixture
def with_sibling(root: Path, params: Params) -> Params:
    """The base once more under another name, and named as its own sibling's."""
    base = (root / "models/base").resolve()
    (root / "models/base").unlink()
    (root / "models/base").mkdir()
    for name in ("smollm2-135m", NAME):
        (root / "models/base" / name).mkdir()
        for file in (base / "smollm2-135m").iterdir():
            (root / "models/base" / name / file.name).symlink_to(file)
    spec = params.base_spec.model_copy(update={"sibling": NAME})
    other = params.base_spec.model_copy(update={"folder": f"models/base/{NAME}"})
    return params.model_copy(update={"models": params.models | {params.base: spec, NAME: other}})


def test_the_sibling_is_a_third_column_with_the_same_ids_and_the_verdicts_are_those_of_the_pair(
    root: Path, place: Place, with_sibling: Params, params: Params
) -> None:
    stage.evaluate(params, root, place)
    alone = json.loads((root / stage.REPORT).read_text())
    stage.evaluate(with_sibling, root, place)
    report = json.loads((root / stage.REPORT).read_text())
    assert set(report["counts"]) == {"stock", "adapted", "sibling"} and report["void"]["of"] == alone["void"]["of"] == 4
    assert report["sibling"] == report["stock"], "here it is the very same model"
    assert [report[key] for key in ("families", "tests", "compliance", "promote")] == [
        alone[key] for key in ("families", "tests", "compliance", "promote")
    ]
    run = runs.read(root / stage.SCORES)
    assert run.run.sides == ("stock", "adapted", "sibling") and run.run.sibling == run.run.weights
    shas = {side: [reply.prompt_sha for reply in run.replies if reply.side == side] for side in run.run.sides}
    assert shas["sibling"] == shas["stock"] == shas["adapted"]
    assert "Side by side: stock, adapted, sibling" in (root / stage.PAGE).read_text()


def test_a_sibling_that_makes_other_ids_of_the_prompts_stops_the_run(root: Path, place: Place, with_sibling: Params) -> None:
    """A word that its tokenizer does not merge: control ids, canary and shape are those of the base."""
    path = root / "models/base" / NAME / "tokenizer.json"
    found = json.loads(path.read_text())
    path.unlink()
    found["model"]["merges"] = [pair for pair in found["model"]["merges"] if "".join(pair) != "Ġperson"]
    path.write_text(json.dumps(found))
    with pytest.raises(Refusal, match=r"prompt .* is ids .* to smollm2-135m and .* to smollm2-sibling"):
        stage.evaluate(with_sibling, root, place)
    assert not (root / stage.REPORT).exists()


def test_a_sibling_must_be_another_model_of_params(params: Params) -> None:
    whole = params.model_dump(by_alias=True)
    for name in ("nobody", params.base):
        whole["models"][params.base]["sibling"] = name
        with pytest.raises(ValueError, match=f"sibling is '{name}'; it must be another"):
            Params.model_validate(whole)
    whole["models"][params.base]["sibling"] = "mistral-7b-v0.3"
    assert Params.model_validate(whole).base_spec.sibling == "mistral-7b-v0.3"
