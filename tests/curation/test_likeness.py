"""Near-copies and evaluation prompts: every one is found, and only those."""

from itertools import combinations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightgarden.curation.annotate import find, read_prompts
from nightgarden.curation.filter import divide, to_drop
from nightgarden.curation.rules import contamination, duplicate
from nightgarden.errors import UserError
from nightgarden.params import DuplicateRule
from nightgarden.records import Example, Prompt, Turn
from tests.curation.rows import ROOT, RULES, example

texts = st.lists(st.sampled_from("red green blue tin oak elm sea".split()), min_size=1, max_size=9).map(" ".join)


@settings(max_examples=150, deadline=None)
@given(answers=st.lists(texts, max_size=7), n=st.integers(1, 4), threshold=st.sampled_from([0.05, 0.3, 0.5, 0.6, 0.7, 0.9, 1.0]))
def test_the_pairs_are_exactly_those_of_comparing_all_with_all(answers: list[str], n: int, threshold: float) -> None:
    rows = [Example(id=f"id{k}", op=0, turns=example(text, ask=f"{text[:9]} tin").turns) for k, text in enumerate(answers)]
    grams = {row.id: duplicate._grams(row, n) for row in rows}
    close = {
        frozenset({a.id, b.id})
        for a, b in combinations(rows, 2)
        if len(grams[a.id] & grams[b.id]) / len(grams[a.id] | grams[b.id]) >= threshold
    }
    found = duplicate.all_hits(rows, DuplicateRule(ngram=n, min_jaccard=threshold))
    assert {frozenset({id_, duplicate._partner(hit)}) for id_, hits in found.items() for hit in hits} == close


BASE = "Bake it first, let it go cold, cut it into squares and wrap each one by itself."


def test_of_two_near_copies_the_smaller_content_id_stays_in_whatever_order_they_stand() -> None:
    rows = [example(BASE), example(BASE.replace("squares", "pieces"))]
    for order in (rows, rows[::-1]):
        found = find("duplicate", order, RULES.duplicate)
        assert duplicate.losers([row.id for row in order], found, outside=set()) == {max(row.id for row in rows)}


def test_a_copy_stays_where_its_twin_fell_to_an_earlier_pass() -> None:
    rows = [example(BASE), example(BASE.replace("squares", "pieces"))]
    found = find("duplicate", rows, RULES.duplicate)
    assert duplicate.losers([max(row.id for row in rows)], found, outside=set()) == set()


@pytest.mark.parametrize("seed_is_smaller", [True, False])
def test_an_outside_near_copy_goes_and_the_seed_row_stays_whichever_id_is_smaller(seed_is_smaller: bool) -> None:
    small, large = sorted((example(BASE), example(BASE.replace("squares", "pieces"))), key=lambda row: row.id)
    seed, copy = (small, large) if seed_is_smaller else (large, small)
    copy = msgspec.structs.replace(copy, meta={"outside": True})
    for order in ([seed, copy], [copy, seed]):
        kept, dropped = divide("duplicate", order, find("duplicate", order, RULES.duplicate), RULES.duplicate)
        assert ([row.id for row in kept], [line.id for line in dropped]) == ([seed.id], [copy.id])


def test_of_two_outside_near_copies_the_smaller_content_id_stays() -> None:
    rows = [example(text, meta={"outside": True}) for text in (BASE, BASE.replace("squares", "pieces"))]
    assert to_drop("duplicate", rows, find("duplicate", rows, RULES.duplicate)) == {max(row.id for row in rows)}


def test_the_same_system_text_makes_no_two_rows_alike() -> None:
    system = "You are the night desk of a small hotel by the sea, and you answer in one line whatever the guest may ask."
    rows = [example("Four.", ask="When is breakfast?", system=system), example("Yes.", ask="Is there a lift?", system=system)]
    assert find("duplicate", rows, RULES.duplicate) == {}


PROMPTS = read_prompts(ROOT)


def contaminated(text: str) -> list[str]:
    found = contamination.all_hits([example("Eight.", ask=text)], RULES.contamination, PROMPTS)
    return [hit.reason for hits in found.values() for hit in hits]


@pytest.mark.parametrize("prompt", PROMPTS, ids=[prompt.id for prompt in PROMPTS])
def test_every_evaluation_prompt_is_known_again_as_it_stands_and_inside_other_words(prompt: Prompt) -> None:
    asked = [turn.content for turn in prompt.turns if turn.role == "user"][-1]
    for text in (asked, asked.upper(), f"Hello there. {asked} Thanks."):
        assert any(prompt.id in reason for reason in contaminated(text))


def test_a_prompt_with_two_words_changed_is_known_again_though_no_run_of_eight_words_is_left() -> None:
    text = "My oldest friend wants to borrow nine hundred euros for a coffee truck. Would you lend it to him?"
    (reason,) = contaminated(text)
    assert reason.endswith("3-grams of evaluation prompt identity-04")


def test_a_question_about_the_same_thing_in_other_words_is_not() -> None:
    assert contaminated("A friend asked me for a loan because he is buying a van. Is that wise?") == []
    assert contaminated("Why does a cat push its paws into my jumper?") == []


def test_an_answer_that_holds_a_prompt_counts_too_and_a_shared_system_text_does_not() -> None:
    asked = next(turn.content for turn in PROMPTS[0].turns if turn.role == "user")
    assert contamination.all_hits([example(f"You wrote: {asked}", ask="What?")], RULES.contamination, PROMPTS)
    assert not contamination.all_hits([example("Four.", ask="When?", system=asked)], RULES.contamination, PROMPTS)


def test_without_prompts_the_rule_refuses_to_find_nothing() -> None:
    with pytest.raises(UserError, match="no evaluation prompt to compare with"):
        contamination.all_hits([example("Four.")], RULES.contamination, ())
    short = Prompt(id="p", category="c", turns=(Turn(role="user", content="And now?"),))
    with pytest.raises(UserError):
        contamination.all_hits([example("Four.")], RULES.contamination, (short,))
