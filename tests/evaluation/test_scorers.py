import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgarden.evaluation.scorers import SCORERS, score
from nightgarden.evaluation.scorers.parroting import LIMIT, longest_run
from nightgarden.records import Constraint
from tests.evaluation.planted import answer, contains, memory

PLAIN = "That washer catches everyone once. Put newspaper under the joint overnight."


def passed(text: str, name: str, **fields: object) -> bool | None:
    _, scores = score(answer(text, **fields))
    return {item.name: item.passed for item in scores}[name]


def said(text: str, name: str, **fields: object) -> list[str]:
    """The marked pieces of the reply."""
    _, scores = score(answer(text, **fields))
    (found,) = [item for item in scores if item.name == name]
    return [text[start:end] for start, end in found.spans]


@pytest.mark.parametrize(
    "name", ["instruct_isms", "bullets", "exclamations", "question_ending", "length", "memory_narration", "parroting"]
)
def test_a_plain_answer_passes_every_style_score(name: str) -> None:
    assert passed(PLAIN, name) is True


@pytest.mark.parametrize(
    ("name", "text", "marked"),
    [
        ("instruct_isms", "Certainly, the pan is hot. I’d be happy to help.", ["Certainly", "I’d be happy to"]),
        ("instruct_isms", "Salt it. It's important to note that salt draws water.", ["It's important to note"]),
        ("exclamations", "Well done! Really！", ["!", "！"]),
        (
            "question_ending",
            "Salt it. What specific aspect would you like to explore?”",
            ["What specific aspect would you like to explore?”"],
        ),
        ("question_ending", "Salt it. Shall we? 🙂", ["Shall we? 🙂"]),
        ("bullets", "Take:\n- salt\n- oil", ["- salt", "- oil"]),
        ("bullets", "## Plan\n1. Salt\nThen rest.", ["## Plan", "1. Salt"]),
        ("memory_narration", "You mentioned the cellar. Based on our previous conversations, go there.", None),
    ],
)
def test_a_fault_fails_its_score_and_is_marked(name: str, text: str, marked: list[str] | None) -> None:
    assert passed(text, name) is False
    assert marked is None or said(text, name) == marked


def test_near_misses_pass() -> None:
    assert passed("The course was certain, of courses there were ten.", "instruct_isms") is True
    assert passed("- Come in, she said.", "bullets") is True
    assert passed("Why not? Because it rains.", "question_ending") is True
    assert passed("Cats remember that smell? They do.", "question_ending") is True


def test_a_reply_above_the_limit_or_cut_off_fails_its_length() -> None:
    assert passed("word " * 10, "length", max_words=10) is True
    assert passed("word " * 11, "length", max_words=10) is False
    assert passed("word " * 3, "length", max_words=10, truncated=True) is False


@pytest.mark.parametrize(
    "text", ["", " \n", "...", "<|im_start|>assistant\nHi", "assistant\nHi there.", "Hi [/INST] there", "### Response:\nHi"]
)
def test_a_void_reply_is_never_a_style_win_and_fails_what_it_was_asked_for(text: str) -> None:
    void, scores = score(answer(text, constraints=(contains("cellar"),)))
    assert void is not None
    judged = {item.name: item.passed for item in scores}
    assert judged.pop("format_compliance") is False
    assert judged.pop("context_use") is False
    assert set(judged.values()) == {None}


def test_words_that_only_look_like_a_leak_are_no_leak() -> None:
    for text in ("The user manual is in the cellar.", "An assistant will come.", "Use a < b and b > c.", "# 3 is the berth."):
        assert score(answer(text))[0] is None


def test_a_cut_off_reply_has_no_style_score_but_is_still_asked_for_its_content() -> None:
    _, scores = score(answer("It is in the cellar of", truncated=True, constraints=(contains("cellar"),)))
    judged = {item.name: item.passed for item in scores}
    assert judged["context_use"] is True and judged["length"] is False
    assert all(judged[name] is None for name in ("instruct_isms", "bullets", "exclamations", "question_ending", "parroting"))


def test_format_counts_every_constraint_and_context_only_those_about_content() -> None:
    constraints = (contains("cellar"), Constraint(kind="max_words", n=3))
    text = "In the cellar, under the stairs."
    assert passed(text, "format_compliance", constraints=constraints) is False
    assert passed(text, "context_use", constraints=constraints) is True
    assert said(text, "context_use", constraints=constraints) == ["cellar"]
    assert passed(text, "context_use", constraints=constraints, category="identity_stripping") is None
    assert passed(text, "format_compliance") is None


def test_reciting_a_memory_fails_parroting_and_using_it_does_not() -> None:
    memories = (memory("Tomasz stores his spare hive frames in the cellar of the parish hall."),)
    recited = "Well: Tomasz stores his spare hive frames in the cellar of the parish hall, so go."
    assert passed(recited, "parroting", memories=memories) is False
    assert said(recited, "parroting", memories=memories) == [
        "Tomasz stores his spare hive frames in the cellar of the parish hall"
    ]
    assert passed("Your frames lie in the cellar of the parish hall.", "parroting", memories=memories) is True


word = st.sampled_from(["a", "b", "c"])


@given(st.lists(word, max_size=12), st.lists(word, max_size=12))
def test_the_longest_shared_run_is_the_longest(said: list[str], source: list[str]) -> None:
    length, end = longest_run(said, source)
    runs = [
        tuple(said[i : i + n])
        for n in range(1, len(said) + 1)
        for i in range(len(said) - n + 1)
        if any(said[i : i + n] == source[j : j + n] for j in range(len(source) - n + 1))
    ]
    assert length == max(map(len, runs), default=0)
    assert not length or tuple(said[end - length : end]) in runs


@given(st.text(max_size=80), st.booleans())
def test_any_text_gets_every_score_with_spans_inside_it(text: str, truncated: bool) -> None:
    void, scores = score(answer(text, truncated=truncated, constraints=(contains("a"),), memories=(memory("a b c"),)))
    assert [item.name for item in scores] == list(SCORERS)
    assert all(0 <= start < end <= len(text) for item in scores for start, end in item.spans)
    assert all((item.value is None) == (item.passed is None) for item in scores)


def test_the_limit_of_parroting_lies_above_a_place_name() -> None:
    assert len("the cellar of the parish hall".split()) < LIMIT


def test_the_scorer_counts_the_marks_that_curation_drops_and_no_letter() -> None:
    from nightgarden.curation.rules.exclamation import _CHARACTERS
    from nightgarden.evaluation.scorers.exclamations import MARKS

    assert MARKS.fullmatch(_CHARACTERS)
    assert len(MARKS.pattern) == len(_CHARACTERS) + 3
    assert MARKS.search("ǃKung") is None
