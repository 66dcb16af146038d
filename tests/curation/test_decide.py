"""Asking a rule only where something stands that it could hit gives what asking every rule gives."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightgarden.curation.annotate import BEYOND_ONE_ROW, canaries_of, prompts_for
from nightgarden.curation.decide import Decider
from nightgarden.curation.matching import Scan
from nightgarden.curation.rules.secrets import masked_example
from nightgarden.records import Example, MemoryLine, Turn
from nightgarden.rule_params import RULES as NAMES
from tests.curation.cases import cases_of
from tests.curation.rows import PARAMS, ROOT, RULES

DECIDER = Decider(PARAMS.curation, ROOT)
ROW_RULES = [rule for rule in NAMES if rule not in BEYOND_ONE_ROW]


def asked_each(row: Example) -> dict[str, object]:
    """The hits of every rule, each asked by itself."""
    return {rule: hits for rule, judge in DECIDER.judges.items() if (hits := judge(row))}


@pytest.mark.parametrize("rule", ROW_RULES)
def test_every_canary_and_every_written_case_is_judged_alike(rule: str) -> None:
    rows = list(canaries_of(rule, RULES.of(rule), prompts_for(rule, RULES.of(rule), ROOT)).rows)
    rows += [row for case in cases_of(rule) for row in case.rows]
    rows = [masked_example(row) for row in rows]
    assert len(rows) > 40
    for row in rows:
        assert DECIDER.hits(row) == asked_each(row), row.turns


FRAGMENTS = sorted(
    {
        turn.content
        for rule in ROW_RULES
        for row in canaries_of(rule, RULES.of(rule), prompts_for(rule, RULES.of(rule), ROOT)).rows
        for turn in row.turns
        if len(turn.content) < 200
    }
)
pieces = st.sampled_from(FRAGMENTS) | st.text(alphabet="aA b\n!?{}[]<>|-*#:;.`'\"⟦⟧é墙①！⁉（１²™➀\u200b", max_size=12)
texts = st.lists(pieces, max_size=4).map(" ".join)


@settings(max_examples=400, deadline=None)
@given(ask=texts, reply=texts, system=texts, memory=texts, directive=texts, contrast=texts, dry=st.booleans())
def test_any_row_is_judged_alike(
    ask: str, reply: str, system: str, memory: str, directive: str, contrast: str, dry: bool
) -> None:
    turns = (Turn(role="system", content=system), Turn(role="user", content=ask), Turn(role="assistant", content=reply))
    row = Example(
        id="x",
        op=1,
        turns=turns,
        memories=(MemoryLine(type="episodic", text=memory),),
        directives=(directive,),
        meta={"contrast": contrast} | ({"dry_run": True} if dry else {}),
    )
    row = masked_example(row)
    assert DECIDER.hits(row) == asked_each(row)


class Exhausted:
    """What an `re2.Set` is when its automaton has no memory left: it answers as if nothing were there."""

    def Match(self, text: str) -> None:  # noqa: N802
        return None


def test_guard_in_a_scan_that_gives_no_answer_suspects_every_rule() -> None:
    scan = Scan({"one": "clock", "two": "wall"})
    scan._set = Exhausted()
    assert scan.find("the hall") == {"one", "two"}


def test_guard_out_its_answer_taken_as_it_is_would_clear_a_row_that_is_full_of_faults() -> None:
    row = Example(id="x", op=0, turns=(Turn(role="user", content="?"), Turn(role="assistant", content="Certainly! {{name}}")))
    decider = Decider(PARAMS.curation, ROOT)
    decider._answers._set = Exhausted()
    assert decider.hits(row) == asked_each(row) and len(asked_each(row)) >= 3
    decider._answers._all = frozenset()  # what an answer without the first pattern would mean without the guard
    assert not {"instruct_isms", "exclamation", "placeholder"} & decider.hits(row).keys()


def test_clean_case_a_scan_names_what_stands_in_a_text_and_nothing_else() -> None:
    scan = Scan({"one": "clock", "two": "wall"})
    assert (scan.find("the wall"), scan.find("the hall"), scan.find("")) == ({"two"}, set(), set())


def test_the_decider_needs_no_file_but_the_prompts(tmp_path: Path) -> None:
    (tmp_path / "data/seed").mkdir(parents=True)
    (tmp_path / "data/seed/evaluation_prompts.jsonl").write_bytes((ROOT / "data/seed/evaluation_prompts.jsonl").read_bytes())
    assert Decider(PARAMS.curation, tmp_path).judges.keys() == set(ROW_RULES)
