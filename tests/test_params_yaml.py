"""params.yaml: valid as shipped; faults are named with what to do."""

from pathlib import Path

import pytest
import yaml

from nightgarden import params
from nightgarden.errors import UserError

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def raw() -> dict:
    return yaml.safe_load((ROOT / "params.yaml").read_text())


def test_the_shipped_file_is_valid_and_names_three_models(raw: dict) -> None:
    loaded = params.parse(raw)
    assert set(loaded.models) == {"smollm2-135m", "mistral-7b-v0.3", "mistral-small-24b"}
    assert loaded.curation.last_pass == "contamination"
    assert loaded.curation.rebalance.shares == (0.25, 0.30, 0.25, 0.20)


@pytest.mark.parametrize(
    ("path", "key", "near"),
    [
        (["curation", "rules", "exclamation"], "max_mark", "max_marks"),
        (["curation", "rules", "exclamation"], "context", "contexts"),
        (["training"], "learning_rat", "learning_rate"),
        ([], "trainin", "training"),
        (["night", "window"], "quiet_minute", "quiet_minutes"),
        (["models", "smollm2-135m"], "fold", "folder"),
        (["curation", "sources", "op0_bootstrap"], "pth", "path"),
    ],
)
def test_an_unknown_key_is_refused_and_the_near_one_named(raw: dict, path: list[str], key: str, near: str) -> None:
    section = raw
    for part in path:
        section = section[part]
    section[key] = 1
    with pytest.raises(UserError, match=f"{key}: unknown key; did you mean .*{near}"):
        params.parse(raw)


def test_a_key_that_a_shell_would_run_is_refused(raw: dict) -> None:
    raw["curation"]["passes"]["pii; touch X; #"] = {"prev": "schema", "prevfile": "data/curated/schema/examples.jsonl"}
    with pytest.raises(UserError, match="use only a-z, 0-9 and _"):
        params.parse(raw)


def test_a_predecessor_that_is_no_pass_is_refused_before_any_stage_runs(raw: dict) -> None:
    raw["curation"]["passes"]["bullets"]["prev"] = "exclamations"
    with pytest.raises(UserError, match="prev must be one of"):
        params.parse(raw)


@pytest.mark.parametrize("prev", [{"secrets": "schema"}, {"placeholder": "secrets"}], ids=["two behind one", "a ring"])
def test_passes_that_are_not_one_chain_are_refused_and_named(raw: dict, prev: dict[str, str]) -> None:
    for key, before in prev.items():
        raw["curation"]["passes"][key] |= {"prev": before, "prevfile": f"data/curated/{before}/examples.jsonl"}
    with pytest.raises(UserError, match=r"\[.*\] do not stand in the one chain from synthesise"):
        params.parse(raw)


def test_a_model_lies_where_dvc_yaml_looks_for_it(raw: dict) -> None:
    raw["models"]["mistral-7b-v0.3"]["folder"] = "models/base/elsewhere"
    with pytest.raises(UserError, match="must be models/base/mistral-7b-v0.3"):
        params.parse(raw)


@pytest.mark.parametrize("path", ["/etc/passwd", "../other/file.json", "a b.json", "$(touch X)"])
def test_a_source_outside_the_repository_is_refused(raw: dict, path: str) -> None:
    raw["curation"]["sources"]["op0_bootstrap"]["path"] = path
    with pytest.raises(UserError, match="relative path"):
        params.parse(raw)


def test_a_missing_file_says_where_to_stand(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Run from the repository's root"):
        params.load(tmp_path / "params.yaml")


def test_sections_are_frozen(raw: dict) -> None:
    with pytest.raises(ValueError, match="frozen"):
        params.parse(raw).training.rank = 4


def test_greedy_is_one_seed() -> None:
    whole = yaml.safe_load((ROOT / "params.yaml").read_text())
    whole["evaluation"] |= {"temperature": 0.0}
    with pytest.raises(UserError, match="temperature 0 with seeds 3: a greedy reply is the same for every seed"):
        params.parse(whole)
    whole["evaluation"] |= {"seeds": 1}
    assert params.parse(whole).evaluation.seeds == 1
