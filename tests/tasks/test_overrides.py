"""Forms over params.yaml: empty as shipped, and never wider than the file itself."""

from pathlib import Path
from typing import get_args

import pytest
import yaml

from nightgarden import params
from tasks import overrides
from tasks.overrides import Overrides
from tasks.worktree import change

FORMS = [overrides.CurationForm, overrides.TrainingForm, overrides.EvaluationForm, overrides.BuildForm, overrides.NightForm]
SCHEMA_WORDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}


@pytest.mark.parametrize("form", FORMS)
def test_an_empty_form_changes_nothing(form: type[Overrides]) -> None:
    assert form().empty and form().changes() == {}


@pytest.mark.parametrize("form", FORMS)
def test_every_field_has_the_type_and_the_limits_of_its_setting_one_level_deep(form: type[Overrides]) -> None:
    schema = form.model_json_schema()
    assert "$defs" not in schema, "one level deep"
    assert len(form.settings()) >= len(form.model_fields) - 1, "only input_file is no setting"
    for name, path in form.settings().items():
        found = overrides.setting(path)
        shown = schema["properties"][name]["anyOf"][0]
        wanted = {
            word: getattr(limit, key) for limit in found.metadata for key, word in SCHEMA_WORDS.items() if hasattr(limit, key)
        }
        assert {key: value for key, value in shown.items() if key in SCHEMA_WORDS.values()} == wanted, name
        kinds = get_args(form.model_fields[name].annotation)
        assert found.annotation in kinds or set(get_args(found.annotation)) <= set(kinds), (name, found.annotation)


def test_what_a_form_accepts_params_yaml_accepts(repository: Path) -> None:
    filled = {"rows": 64, "held_out": 0.2, "exclamation_scope": "whole_row", "rank": 4, "learning_rate": 1e-3, "prompts": 8}
    settings = yaml.safe_load((repository / "params.yaml").read_text())
    change(settings, overrides.BuildForm(**filled).changes())
    loaded = params.parse(settings)
    assert (loaded.curation.rebalance.rows, loaded.training.rank, loaded.evaluation.prompts) == (64, 4, 8)
    assert loaded.curation.rules.exclamation.scope == "whole_row"
