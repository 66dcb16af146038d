"""Near-copies and evaluation prompts: every one is found, and only those."""

import random
import re
from itertools import combinations
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightgarden.curation import likeness
from nightgarden.curation.annotate import find, read_prompts
from nightgarden.curation.rules import contamination, duplicate
from nightgarden.errors import UserError
from nightgarden.records import Example, Prompt, Turn
from nightgarden.rule_params import ContaminationRule, DuplicateRule
from tests.curation.rows import ROOT, RULES, divide, example, write_lines

texts = st.lists(st.sampled_from("red green blue tin oak elm sea".split()), min_size=1, max_size=9).map(" ".join)


@settings(max_examples=150, deadline=None)
@given(
    answers=st.lists(texts, max_size=7, unique=True),
    n=st.integers(1, 4),
    threshold=st.sampled_from([0.05, 0.3, 0.5, 0.6, 0.7, 0.9, 1.0]),
    outside=st.sets(st.integers(0, 6)),
)
def test_no_two_near_copies_stay_and_each_that_goes_names_one_that_stays(
    answers: list[str], n: int, threshold: float, outside: set[int]
) -> None:
    rows = [
        Example(
            id=f"id{k}", op=0, turns=example(text, ask=f"{text[:9]} tin").turns, meta={"outside": True} if k in outside else {}
        )
        for k, text in enumerate(answers)
    ]
    grams = {row.id: likeness.grams(row, n) for row in rows}
    gone = duplicate.losers(rows, DuplicateRule(ngram=n, min_jaccard=threshold, max_same_answer=9))
    kept = {row.id for row in rows} - gone.keys()
    alike = {frozenset((a, b)) for a, b in combinations(grams, 2) if likeness.similarity(grams[a], grams[b]) >= threshold}
    assert not any(pair <= kept for pair in alike)
    for id_, (hit,) in gone.items():
        twin = hit.reason.rsplit(" ", 1)[1]
        assert twin in kept and frozenset((id_, twin)) in alike
    is_outside = {row.id: "outside" in row.meta for row in rows}
    for id_ in gone:
        twins = {b for pair in alike if id_ in pair for b in pair - {id_}}
        assert is_outside[id_] or any(not is_outside[twin] for twin in twins), "an outside row takes no seed row"


def test_above_the_exact_size_minhash_finds_the_same_planted_copies() -> None:
    chance = random.Random(7)
    words = [f"w{n}" for n in range(5000)]
    rows = []
    for n in range(400):
        text = chance.choices(words, k=chance.randrange(20, 200))
        rows.append(example(" ".join(text), ask="?"))
        if n % 4 == 0:
            for _ in range(len(text) // 12):
                text[chance.randrange(len(text))] = "other"
            rows.append(example(" ".join(text), ask="?"))
    exact = duplicate.losers(rows, RULES.duplicate)
    assert len(exact) > 60
    assert duplicate.losers(rows, RULES.duplicate, exact_rows=0) == exact


def test_ten_thousand_copies_of_one_answer_are_one_row_and_cost_linear_time() -> None:
    rows = [example(f"{BASE} {n}", ask="?") for n in range(3000)]
    for exact_rows in (0, 20_000):
        assert len(duplicate.losers(rows, RULES.duplicate, exact_rows)) == len(rows) - 1


def test_an_answer_that_stands_under_too_many_prompts_goes_from_all_of_them() -> None:
    sorry = [example("Sorry, something went wrong.", ask=f"Question {n} about the {n * n}th thing of {n}?") for n in range(6)]
    short = [example("No, never.", ask=f"Is {n} a prime, and {n * 7} too?") for n in range(30)]
    found = find("duplicate", [*sorry, *short], RULES.duplicate)
    assert found.keys() == {row.id for row in sorry}
    assert {hit.reason for hits in found.values() for hit in hits} == {"a stock answer: it stands in 6 rows"}
    assert find("duplicate", sorry[:5], RULES.duplicate) == {}


def test_the_op_with_fewer_rows_keeps_its_copy() -> None:
    many = [example(f"Answer number {n} is its own.", ask=f"{n}?", op=0) for n in range(5)]
    one, two = example(BASE, op=0), example(BASE.replace("squares", "pieces"), op=3)
    assert duplicate.losers([*many, one, two], RULES.duplicate).keys() == {one.id}


BASE = "Bake it first, let it go cold, cut it into squares and wrap each one by itself."


def test_of_two_near_copies_the_smaller_content_id_stays_in_whatever_order_they_stand() -> None:
    rows = [example(BASE), example(BASE.replace("squares", "pieces"))]
    for order in (rows, rows[::-1]):
        assert duplicate.losers(order, RULES.duplicate).keys() == {max(row.id for row in rows)}


def test_a_copy_stays_where_its_twin_fell_to_an_earlier_pass() -> None:
    rows = [example(BASE), example(BASE.replace("squares", "pieces"))]
    larger = max(rows, key=lambda row: row.id)
    raw = find("duplicate", rows, RULES.duplicate)
    assert raw.keys() == {larger.id}
    assert divide("duplicate", [larger], raw, RULES.duplicate) == ([larger], [])


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
    assert find("duplicate", rows, RULES.duplicate).keys() == {max(row.id for row in rows)}


def test_the_same_system_text_makes_no_two_rows_alike() -> None:
    system = "You are the night desk of a small hotel by the sea, and you answer in one line whatever the guest may ask."
    rows = [example("Four.", ask="When is breakfast?", system=system), example("Yes.", ask="Is there a lift?", system=system)]
    assert find("duplicate", rows, RULES.duplicate) == {}


PROMPTS = read_prompts(ROOT)
JUDGE = contamination.judge(RULES.contamination, PROMPTS)


def contaminated(text: str) -> list[str]:
    return [hit.reason for hit in JUDGE(example("Eight.", ask=text))]


@pytest.mark.parametrize("prompt", PROMPTS, ids=[prompt.id for prompt in PROMPTS])
def test_every_evaluation_prompt_is_known_again_as_it_stands_and_inside_other_words(prompt: Prompt) -> None:
    asked = [turn.content for turn in prompt.turns if turn.role == "user"][-1]
    for text in (asked, asked.upper(), f"Hello there. {asked} Thanks."):
        assert any(prompt.id in reason for reason in contaminated(text))


def test_a_prompt_with_two_words_changed_is_known_again_though_no_run_of_eight_words_is_left() -> None:
    text = "My oldest friend wants to borrow nine hundred euros for a coffee truck. Would you lend it to him?"
    (reason,) = contaminated(text)
    assert "3-grams of evaluation prompt identity-04: " in reason
    (hit,) = find("contamination", [row := example("Eight.", ask=text)], RULES.contamination, PROMPTS)[row.id]
    assert hit.snippet and hit.snippet in text, "both texts are shown: the prompt in the reason, the row's in the snippet"


def test_a_question_about_the_same_thing_in_other_words_is_not() -> None:
    assert contaminated("A friend asked me for a loan because he is buying a van. Is that wise?") == []
    assert contaminated("Why does a cat push its paws into my jumper?") == []


def test_an_answer_that_holds_a_prompt_counts_too_and_a_shared_system_text_does_not() -> None:
    asked = next(turn.content for turn in PROMPTS[0].turns if turn.role == "user")
    assert JUDGE(example(f"You wrote: {asked}", ask="What?"))
    assert not JUDGE(example("Four.", ask="When?", system=asked))


def test_without_prompts_the_rule_refuses_to_find_nothing() -> None:
    with pytest.raises(UserError, match="no evaluation prompt to compare with"):
        contamination.judge(RULES.contamination, ())
    short = Prompt(id="p", category="c", turns=(Turn(role="user", content="And now?"),))
    with pytest.raises(UserError):
        contamination.judge(RULES.contamination, (short,))


@settings(max_examples=200, deadline=None)
@given(
    prompt=st.lists(st.sampled_from("red green blue tin oak elm sea ash".split()), min_size=5, max_size=30),
    start=st.integers(0, 25),
    length=st.integers(0, 30),
    ngram=st.integers(3, 8),
    share=st.sampled_from([0.2, 0.5, 0.9, 1.0]),
)
def test_the_search_for_openings_loses_no_hit(prompt: list[str], start: int, length: int, ngram: int, share: float) -> None:
    """With no search before it, every gram of every row would be looked up."""
    asked = Prompt(id="p", category="c", turns=(Turn(role="user", content=" ".join(prompt)),))
    row = example("Eight.", ask=" ".join(["tin", *prompt[start : start + length], "sea"]))
    index = contamination._Index(ContaminationRule(ngram=ngram, min_share=share), (asked,))
    quick = list(index.hits(row))
    index._seek = re.compile("")
    assert quick == list(index.hits(row))


def test_prompts_of_another_evaluation_are_compared_with_too(tmp_path: Path) -> None:
    prompts = tmp_path / "data/seed/evaluation_prompts.jsonl"
    write_lines(prompts, [{"id": "own", "category": "c", "messages": [{"role": "user", "content": "Why do cats knead wool?"}]}])
    asked = "Write a 300 word summary of the page about the Raymond III succession."
    write_lines(tmp_path / "data/contamination/ifeval.jsonl", [{"key": 1000, "prompt": asked, "kwargs": [{}]}])
    judge = contamination.judge(RULES.contamination, read_prompts(tmp_path))
    (hit,) = judge(example("Eight.", ask=f"Please: {asked.lower()}"))
    assert f"evaluation prompt ifeval:1000: {asked[:60]}" in hit.reason
    write_lines(tmp_path / "data/contamination/other.jsonl", [{"text": asked}])
    with pytest.raises(UserError, match="every line needs `id` and `messages`, or `key` and `prompt`"):
        read_prompts(tmp_path)


def test_the_bytes_of_two_signatures_agree_about_as_often_as_the_rows_are_alike() -> None:
    chance = random.Random(7)
    base = [f"w{number}" for number in range(200)]
    for share in (0.0, 0.3, 0.6, 0.9):
        other = [word if chance.random() < share else f"x{number}" for number, word in enumerate(base)]
        rows = [example(" ".join(text), ask="?") for text in (base, other)]
        _, signed = likeness._signed(rows, 1)
        exact = likeness.similarity(likeness.grams(rows[0], 1), likeness.grams(rows[1], 1))
        assert abs(float((signed[0] == signed[1]).mean()) - exact) < likeness.MARGIN
