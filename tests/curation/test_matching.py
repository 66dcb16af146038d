"""Texts are matched on a folded copy, and spans point into the original."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgarden.curation.matching import Folded, Patterns, phrase_patterns, words
from nightgarden.curation.rules import exclamation


@pytest.mark.parametrize(
    "text",
    [
        "Yes, I'd be happy to help.",
        "Yes, I’d be happy to help.",
        "Yes, I'd be\u00a0happy\nto help.",
        "Yes, I'd be hap\u200bpy to help.",
        "Yes, \uff29'd be happy to help.",
        "Yes, I\u00b4d  BE happy\tto help.",
        "Yes, I'd be happy\u00ad to help.",
        "Yes, I'd b\u00e9 happy to help.",
        "Yes, I'd be **happy** to help.",
    ],
)
def test_a_phrase_is_found_however_it_is_spelt_and_its_span_is_the_originals(text: str) -> None:
    (found,) = phrase_patterns(("i'd be happy to",)).find(Folded(text))
    start, end = text.index("Yes, ") + 5, text.rindex("to") + 2
    assert (found.start, found.end) == (start, end)


def test_a_phrase_in_underscores_is_found_though_they_are_letters_to_the_engine() -> None:
    (found,) = phrase_patterns(("of course",)).find(Folded("_Of course_, in March."))
    assert found.name == "of course"


@pytest.mark.parametrize("text", ["He uncertainly nodded.", "The delver went home.", "of courses and dishes"])
def test_a_phrase_inside_another_word_is_not_found(text: str) -> None:
    assert phrase_patterns(("certainly", "delve", "of course")).find(Folded(text)) == []


@pytest.mark.parametrize("phrase", ["естественно", "もちろん", "ça va", "10 % off", "c++"])
def test_phrases_of_any_script_are_found(phrase: str) -> None:
    assert phrase_patterns((phrase,)).find(Folded(f"... {phrase}, ..."))


def test_overlapping_phrases_are_all_found() -> None:
    found = phrase_patterns(("i'd be happy to", "happy to help", "help")).find(Folded("I'd be happy to help"))
    assert [f.name for f in found] == ["i'd be happy to", "happy to help", "help"]


@given(st.text(max_size=40), st.text(max_size=40))
def test_the_span_of_a_word_in_any_text_covers_exactly_that_word(before: str, behind: str) -> None:
    text = f"{before} qqword {behind}"
    spans = [(found.start, found.end) for found in Patterns({"w": "qqword"}).find(Folded(text))]
    assert (len(before) + 1, len(before) + 7) in spans


def test_two_thousand_phrases_do_not_silence_the_search() -> None:
    phrases = tuple(f"stock phrase number {n}" for n in range(2000))
    (found,) = phrase_patterns(phrases).find(Folded("Here is stock phrase number 1999, as ever."))
    assert found.name == "stock phrase number 1999"


def test_words_are_lower_case_and_contractions_are_one_word() -> None:
    assert list(words("Don’t PANIC — it's 4:30, señor.")) == ["don't", "panic", "it's", "4", "30", "senor"]


def test_each_sign_of_chinese_and_japanese_is_a_word_beside_words_of_other_scripts() -> None:
    assert list(words("水を2杯、tea・茶。")) == ["水", "を", "2", "杯", "tea", "茶"]


@given(text=st.text(alphabet="aé墙ﬃ①\u200b\u0301‼ \n", max_size=20), data=st.data())
def test_a_span_of_the_folded_text_is_the_smallest_one_of_the_original_that_covers_it(text: str, data: st.DataObject) -> None:
    folded = Folded(text)
    edges = [len(Folded(text[:place]).text) for place in range(len(text) + 1)]
    start = data.draw(st.integers(0, len(folded.text)))
    end = data.draw(st.integers(start, len(folded.text)))
    if start < end:
        covering = [(a, b) for a in range(len(text)) for b in range(a, len(text) + 1) if edges[a] <= start and end <= edges[b]]
        assert folded.span(start, end) == min(covering, key=lambda span: span[1] - span[0])


EVERY_CHARACTER = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]


def test_what_a_character_folds_to_folds_to_itself() -> None:
    """So the characters of a text can be replaced one kind after the other, in any order."""
    folded = {Folded(character).text for character in EVERY_CHARACTER}
    assert {text for text in folded if Folded(text).text != text} == set()


@given(text=st.text(max_size=40) | st.text(alphabet="aé\t\r\n\x0b’“ﬃŉ′⁗\x7f!", max_size=40), many=st.booleans())
def test_the_quick_fold_is_that_of_every_character(text: str, many: bool) -> None:
    text += "".join(map(chr, range(0xC0, 0x100))) if many else ""
    assert Folded(text).text == "".join(Folded(character).text for character in text)


@pytest.mark.parametrize(
    ("text", "is_lost"), [("it’s “naïve” –\tno", False), ("① wall", True), ("（1）wall", True), ("™ x", True)]
)
def test_a_sign_is_lost_where_more_than_letters_blanks_and_quotation_marks_fold(text: str, is_lost: bool) -> None:
    assert Folded(text).lost_a_sign() is is_lost


def test_every_exclamation_mark_folds_to_one_so_that_none_is_overlooked_in_a_folded_text() -> None:
    assert [mark for mark in exclamation._CHARACTERS if not set(Folded(mark).text) & set(exclamation._CHARACTERS)] == []
