import pytest

from nightgarden.evaluation.constraints import CHECKS, broken, fault
from nightgarden.records import Constraint

CASES = [
    (Constraint(kind="max_words", n=3), "One two three.", "One two three four."),
    (Constraint(kind="min_words", n=3), "One two three.", "One two."),
    (Constraint(kind="num_lines", n=1), "One line.\n\n", "One line.\nTwo."),
    (Constraint(kind="num_sentences", n=2), "Mr. Doyle came at 4.30 p.m. today. He left", "One. Two! Three?"),
    (Constraint(kind="must_contain", any=("Caro-Kann", "Caro Kann")), "Play the caro–kann again.", "Play the Carokann."),
    (Constraint(kind="must_contain", any=("4", "four")), "At 4, not later.", "At 14 or 45."),
    (Constraint(kind="must_not_contain", any=("rabbit",)), "Rabbits are fine.", "A Rabbit is not."),
    (Constraint(kind="starts_with", text="Dear"), "“Dear Mrs Okafor,", "dear Mrs Okafor"),
    (Constraint(kind="ends_with", text="STOP"), "LANDED SAFE STOP.", "LANDED SAFE STOP NOW"),
    (Constraint(kind="all_lowercase"), "juno hums at 50 hz.", "juno hums at 50 Hz."),
    (Constraint(kind="all_uppercase"), "LANDED 3 MAY", "LANDED 3 May"),
    (Constraint(kind="json_keys", keys=("dish", "minutes")), '{"minutes": 20, "dish": "leek toast"}', '{"dish": "leek toast"}'),
    (Constraint(kind="json_keys", keys=("dish",)), ' {"dish": 1}\n', '```json\n{"dish": 1}\n```'),
    (Constraint(kind="no_digits"), "Train four hundred.", "Train ٤."),
    (Constraint(kind="no_commas"), "One; two.", "One、two."),
    (Constraint(kind="one_of", any=("allowed", "forbidden")), "Forbidden.", "It is forbidden."),
]


@pytest.mark.parametrize(
    ("constraint", "good", "bad"), CASES, ids=lambda value: value.kind if isinstance(value, Constraint) else ""
)
def test_a_constraint_holds_for_the_good_reply_and_says_what_is_wrong_with_the_bad_one(
    constraint: Constraint, good: str, bad: str
) -> None:
    assert fault(constraint) is None
    assert broken(good, constraint, truncated=False) is None
    reason = broken(bad, constraint, truncated=False)
    assert reason is not None and reason.startswith(f"{constraint.kind}: ")


def test_every_kind_is_shown_above() -> None:
    assert {constraint.kind for constraint, _, _ in CASES} == set(CHECKS)


def test_a_reply_that_was_cut_off_satisfies_only_what_more_text_cannot_undo() -> None:
    assert broken("It is on Thursday and", Constraint(kind="must_contain", any=("Thursday",)), truncated=True) is None
    assert broken("It is on Thursday and", Constraint(kind="must_not_contain", any=("Monday",)), truncated=True) is not None
    assert broken("It is on Thursday and", Constraint(kind="max_words", n=30), truncated=True) is not None


@pytest.mark.parametrize(
    ("constraint", "said"),
    [
        (Constraint(kind="max_word", n=3), "unknown kind 'max_word'"),
        (Constraint(kind="max_words"), "max_words needs n; it has none"),
        (Constraint(kind="max_words", n=3, any=("a",)), "it has any, n"),
        (Constraint(kind="all_lowercase", n=1), "needs no field"),
    ],
)
def test_a_constraint_that_cannot_be_checked_says_why(constraint: Constraint, said: str) -> None:
    assert said in (fault(constraint) or "")
