"""A rule that went blind, or sees ghosts, stops the run before it publishes anything."""

from pathlib import Path

import pytest

from nightgarden.curation.annotate import annotate, canaries_of, find, find_with_canaries, read_prompts
from nightgarden.curation.filter import filter_pass
from nightgarden.errors import Refusal, UserError
from nightgarden.rule_params import RULES as NAMES
from nightgarden.rule_params import PhraseRule
from tests.curation.rows import ROOT, RULES, divide, example, ours, read_lines, settings, take_in, write_lines

BLIND = PhraseRule(phrases=("a phrase nobody says",))
"""The setting after a careless edit: the phrases of the reference run are gone."""
GHOSTS = PhraseRule(phrases=("previous conversations", "cognitive architecture", "the"))
NARRATED = example("Based on our previous conversations, basil wants light.")


def test_guard_in_a_rule_that_misses_its_canary_is_refused_by_name() -> None:
    with pytest.raises(Refusal, match="rule memory_narration missed the bad canary canary:memory_narration:0"):
        find_with_canaries("memory_narration", [NARRATED], BLIND)
    with pytest.raises(Refusal, match="missed the bad canary"):
        divide("memory_narration", [NARRATED], {}, BLIND)


def test_guard_in_a_rule_that_hits_a_clean_row_is_refused_by_name() -> None:
    with pytest.raises(Refusal, match="rule memory_narration hit the clean canary canary:clean:0"):
        find_with_canaries("memory_narration", [NARRATED], GHOSTS)


def test_guard_out_the_narrated_memory_would_have_passed() -> None:
    assert find("memory_narration", [NARRATED], BLIND) == {}


def test_clean_case_the_narrated_memory_is_hit_and_no_canary_is_left_among_the_hits() -> None:
    found = find_with_canaries("memory_narration", [NARRATED], RULES.memory_narration)
    assert list(found) == [NARRATED.id]


@pytest.mark.parametrize("rule", NAMES)
def test_every_rule_passes_its_canaries_under_the_settings_that_ship_and_none_of_them_stays_among_the_rows(rule: str) -> None:
    row = example("Water it from below and keep it light.")
    prompts = read_prompts(ROOT) if rule == "contamination" else ()
    kept, dropped = divide(rule, [row], find_with_canaries(rule, [row], RULES.of(rule), prompts), RULES.of(rule))
    assert (kept, dropped) == ([row], [])


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        ("exclamation", {"max_marks": 20, "scope": "whole_row"}),
        ("exclamation", {"contexts": ("code",), "scope": "whole_row"}),
        ("exclamation", {"contexts": ("prose", "markdown_image"), "max_marks": 3}),
        ("question_cascade", {"allow_final": True, "max_questions": 0}),
        ("bullets", {"max_lines": 40}),
        ("question_cascade", {"allow_final": True, "max_questions": 9}),
        ("length", {"min_answer_words": 40, "max_answer_words": 80}),
        ("length", {"min_answer_words": 1, "max_answer_words": 3}),
        ("duplicate", {"min_jaccard": 1.0, "ngram": 1}),
        ("duplicate", {"min_jaccard": 0.05, "ngram": 10}),
        ("placeholder", {"markers": ()}),
    ],
)
def test_honest_settings_do_not_trip_the_canaries(rule: str, changes: dict[str, object]) -> None:
    find_with_canaries(rule, [], RULES.of(rule).model_copy(update=changes))


def test_a_switched_off_rule_has_no_canaries() -> None:
    assert canaries_of("secrets", RULES.secrets.model_copy(update={"enabled": False})).rows == ()


def test_a_refused_stage_publishes_nothing(tmp_path: Path) -> None:
    write_lines(tmp_path / "data/inbox/a.jsonl", [ours(NARRATED)])
    sources = {"a": {"path": "data/inbox/a.jsonl"}}
    good = settings(sources=sources)
    blind = settings(sources=sources, rules={"memory_narration": {"phrases": ["a phrase nobody says"]}})
    take_in(good, tmp_path)
    with pytest.raises(Refusal):
        annotate("memory_narration", blind, tmp_path)
    assert not list((tmp_path / "data/annotations").iterdir())
    annotate("memory_narration", good, tmp_path)
    assert [line["id"] for line in read_lines(tmp_path / "data/annotations/memory_narration.jsonl")] == [NARRATED.id]
    for rule in NAMES[: NAMES.index("memory_narration")]:
        annotate(rule, good, tmp_path)
        filter_pass(rule, good, tmp_path)
    with pytest.raises(Refusal):
        filter_pass("memory_narration", blind, tmp_path)
    assert not list((tmp_path / "data/curated/memory_narration").iterdir())
    assert not (tmp_path / "reports/passes/memory_narration.json").exists()


def test_a_blank_phrase_is_refused_since_it_would_match_everywhere() -> None:
    with pytest.raises(UserError, match="blank phrase"):
        find("instruct_isms", [NARRATED], PhraseRule(phrases=("of course", " \u200b")))
