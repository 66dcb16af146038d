"""The hand-written cases of every rule: the table of right and wrong, pinned as it is."""

import pytest

from nightgarden.rule_params import RULES as NAMES
from tests.curation.cases import cases_of, table

KNOWN_WRONG = {
    ("instruct_isms", "remember and that are neighbours by chance: she recalls a night"): (
        "the setting lists the words `remember that`; which sense they have, a list of phrases cannot say"
    ),
    ("memory_narration", "according to your lease: a document of the user, no narration"): (
        "the setting lists `according to your`, since what follows (notes, profile, history) is an open class"
    ),
    ("memory_narration", "I remember, spoken by a person in a drafted eulogy"): (
        "the answer is one quotation, as a narrated memory in quotation marks would be; the row is cheaper to lose"
    ),
    ("contamination", "one form of question, another country"): (
        "three of the five 3-grams of `What is the capital of X` are form; a form of seven words has no other grams"
    ),
}
"""Rule and why of each case that is judged wrongly -> why the rule is left so."""


@pytest.mark.parametrize("rule", NAMES)
def test_a_rule_has_twenty_hits_and_twenty_near_misses_that_differ(rule: str) -> None:
    cases = cases_of(rule)
    assert [case.expect for case in cases] == ["hit"] * 20 + ["miss"] * 20
    assert len({case.why for case in cases}) == 40
    assert len({tuple(row.id for row in case.rows) for case in cases}) == 40


@pytest.mark.parametrize("rule", NAMES)
def test_exactly_the_known_wrong_cases_are_wrong(rule: str) -> None:
    wrong = {case.why for case in cases_of(rule) if not case.is_right}
    assert wrong == {why for name, why in KNOWN_WRONG if name == rule}


def test_the_table_hides_no_wrong_case() -> None:
    text = "\n".join(table())
    assert all(f"{rule}: wrongly hit: {why}" in text for rule, why in KNOWN_WRONG)
