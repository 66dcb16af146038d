"""Forms over params.yaml: empty as shipped, and never wider than the file itself."""

import pytest
import yaml

from nightgarden import params
from tasks import overrides
from tasks.overrides import Overrides

FORMS = [overrides.CurationForm, overrides.TrainingForm, overrides.EvaluationForm, overrides.BuildForm, overrides.NightForm]


@pytest.mark.parametrize("form", FORMS)
def test_an_empty_form_changes_nothing(form: type[Overrides]) -> None:
    assert form().empty and form().changes() == {}


@pytest.mark.parametrize("form", FORMS)
def test_every_field_names_a_setting_with_its_limits_one_level_deep(form: type[Overrides]) -> None:
    schema = form.model_json_schema()
    assert "$defs" not in schema, "one level deep"
    for name, path in form.paths.items():
        limits = {key for key in schema["properties"][name]["anyOf"][0] if key != "type"}
        found = overrides.setting(path)
        assert path in schema["properties"][name]["description"]
        assert bool(limits) == bool(found.metadata or "Literal" in str(found.annotation)), (name, limits, found)


def test_what_a_form_accepts_params_yaml_accepts(repository) -> None:
    from tasks.worktree import change

    filled = {"rows": 64, "held_out": 0.2, "exclamation_scope": "whole_row", "rank": 4, "learning_rate": 1e-3, "prompts": 8}
    settings = yaml.safe_load((repository / "params.yaml").read_text())
    change(settings, overrides.BuildForm(**filled).changes())
    loaded = params.parse(settings)
    assert (loaded.curation.rebalance.rows, loaded.training.rank, loaded.evaluation.prompts) == (64, 4, 8)
    assert loaded.curation.rules.exclamation.scope == "whole_row"
