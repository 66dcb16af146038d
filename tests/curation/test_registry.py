"""Every rule of the registry is broken in turn, both ways: its canaries stop the run each time."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nightgarden.curation.annotate import BEYOND_ONE_ROW, annotate, canaries_of, load, prompts_for
from nightgarden.curation.filter import filter_pass
from nightgarden.errors import Refusal
from nightgarden.records import OPS, Example, Hit
from nightgarden.rule_params import RULES as NAMES
from nightgarden.rule_params import RuleSettings
from tests.curation.rows import PARAMS, ROOT, RULES, example, ours, settings, take_in, write_lines

HIT = (Hit(turn=-1, start=0, end=0, reason="planted"),)


def say(rule: str, hits: tuple[Hit, ...]) -> tuple[str, Callable[..., Any]]:
    """Name of the function that decides in a rule's module, and one that says the same of every row."""
    if rule in BEYOND_ONE_ROW:
        return "losers", lambda rows, *rest, **more: {row.id: hits for row in rows if hits}
    if hasattr(load(rule), "judge"):
        return "judge", lambda *given: lambda row: hits
    return "hits", lambda row, settings: hits


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """One row, read and annotated by every rule as it should be."""
    write_lines(tmp_path / "data/inbox/a.jsonl", [ours(example("Water it from below."))])
    (tmp_path / "data/seed").mkdir()
    for name in ("evaluation_prompts.jsonl",):
        (tmp_path / "data/seed" / name).write_bytes((ROOT / "data/seed" / name).read_bytes())
    take_in(CURATION, tmp_path)
    return tmp_path


CURATION = settings(sources={"a": {"path": "data/inbox/a.jsonl"}})


@pytest.mark.parametrize("rule", NAMES)
@pytest.mark.parametrize(("hits", "says"), [((), "missed the bad canary"), (HIT, "the clean canary")], ids=["blind", "ghosts"])
def test_a_broken_rule_stops_its_annotation_and_its_pass(
    rule: str, hits: tuple[Hit, ...], says: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    annotate(rule, CURATION, root)
    first = CURATION.model_copy(update={"passes": {rule: CURATION.passes["schema"]}})
    assert filter_pass(rule, first, root)["rows_in"] == 1
    monkeypatch.setattr(load(rule), *say(rule, hits))
    for stage in (lambda: annotate(rule, CURATION, root), lambda: filter_pass(rule, first, root)):
        with pytest.raises(Refusal, match=f"rule {rule} .*{says}"):
            stage()


def lacking(rule: str, given: RuleSettings) -> list[str]:
    """What a rule's canaries lack: a bad row, or a clean row of an op."""
    canaries = canaries_of(rule, given, prompts_for(rule, given, ROOT))
    ops = {row.op for row in canaries.clean}
    lacks = [] if canaries.bad else ["a bad row"]
    return lacks + [f"a clean row of op {op}" for op in range(len(OPS)) if op not in ops]


@pytest.mark.parametrize("rule", NAMES)
def test_every_rule_has_bad_canaries_and_a_clean_one_of_every_op(rule: str) -> None:
    assert lacking(rule, RULES.of(rule)) == []


def test_a_rule_without_a_canary_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from nightgarden.curation.canaries import Canaries

    clean: tuple[Example, ...] = canaries_of("schema", RULES.of("schema")).clean
    monkeypatch.setattr(load("schema"), "canaries", lambda given: Canaries(bad=(), clean=clean[:3]))
    assert lacking("schema", RULES.of("schema")) == ["a bad row", "a clean row of op 3"]


def test_the_registry_is_the_folder_of_rules() -> None:
    files = {path.stem for path in (ROOT / "nightgarden/curation/rules").glob("*.py")} - {"__init__"}
    assert files == set(NAMES) == set(PARAMS.curation.passes)
