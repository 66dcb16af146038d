from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgarden import params
from nightgarden.records import Head, Lesson
from nightgarden.trust.split import Assignment, assign, input_id, is_held_out

GROUP = params.load(Path(__file__).parents[2] / "params.yaml").night.trust
SEED = GROUP.model_copy(update={"split": "seed"})
RIVER = "The river at Heitzenhofen stands at two metres."


def lesson(text: str, origin: str, head: Head = "importance", pair: str | None = None) -> Lesson:
    return Lesson(
        id=f"{head}/{origin}/{text}", head=head, text=text, pair=pair, target=(3.0,), by="user", night="2026-09-18", group=origin
    )


def at(degrees: float) -> np.ndarray:
    """A unit vector in the plane: cos 25 degrees is 0.906, cos 26 degrees 0.899."""
    return np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))], dtype=np.float32)


def groups(table: list[Assignment]) -> dict[str, str]:
    return {row.input: row.group for row in table}


def twin(number: int) -> list[Lesson]:
    return [lesson(f"{RIVER} {number}", f"m{number}a"), lesson(f"{RIVER} {number}!", f"m{number}b")]


def test_near_duplicates_stay_on_one_side_and_only_the_group_split_keeps_them_there() -> None:
    lessons = [row for number in range(60) for row in twin(number)]
    vectors = {row.text: np.eye(60, dtype=np.float32)[index // 2] for index, row in enumerate(lessons)}

    def parted(table: list[Assignment]) -> int:
        side = {row.input: row.held_out for row in table}
        pairs = zip(lessons[::2], lessons[1::2], strict=True)
        return sum(side[input_id(one)] != side[input_id(other)] for one, other in pairs)

    assert parted(assign(lessons, vectors, [], SEED, "n1")) > 5
    assert parted(assign(lessons, vectors, [], GROUP, "n1")) == 0
    strangers = {row.text: np.eye(120, dtype=np.float32)[index] for index, row in enumerate(lessons)}
    assert len(set(groups(assign(lessons, strangers, [], GROUP, "n1")).values())) == 120


def test_nearness_passes_on_from_text_to_text_within_a_night() -> None:
    lessons = [lesson("a", "m1"), lesson("c", "m3"), lesson("b", "m2"), lesson("far", "m4")]
    vectors = {"a": at(0), "b": at(20), "c": at(40), "far": at(120)}
    table = assign(lessons, vectors, [], GROUP, "n1")
    assert [row.group for row in table] == ["m1", "m1", "m1", "m4"]


def test_a_later_text_joins_its_nearest_neighbour_and_moves_nobody() -> None:
    first = [lesson("a", "m1"), lesson("b", "m2")]
    vectors = {"a": at(0), "b": at(40), "between": at(22)}
    before = assign(first, vectors, [], GROUP, "n1")
    after = assign([*first, lesson("between", "m3")], vectors, before, GROUP, "n2")
    assert after[:2] == before
    assert (after[2].group, after[2].night) == ("m2", "n2")


def test_one_text_has_one_side_for_all_heads() -> None:
    rows: list[Lesson] = [lesson(RIVER, "m1", head) for head in ("importance", "appraisal", "interest")]
    assert len(assign(rows, {RIVER: at(0)}, [], GROUP, "n1")) == 1


def test_all_candidates_of_a_recall_stay_together_though_their_memories_differ() -> None:
    rows = [lesson("why the drops at four", "r1", "relevance", pair=f"memory {number}") for number in range(5)]
    table = assign(rows, {"why the drops at four": at(0)}, [], GROUP, "n1")
    assert len(table) == 5
    assert len(set(groups(table).values())) == 1


def test_the_unsent_draft_joins_the_sent_one_even_when_it_is_judged_later() -> None:
    sent, unsent = lesson("I am listening.", "e1", "reaction"), lesson("Calm down.", "e1", "reaction")
    vectors = {sent.text: at(0), unsent.text: at(90)}
    before = assign([sent], vectors, [], GROUP, "n1")
    after = assign([sent, unsent], vectors, before, GROUP, "n2")
    assert after[1].group == after[0].group == "e1"


@given(st.lists(st.integers(0, 359), min_size=1, max_size=12), st.lists(st.integers(0, 359), max_size=12), st.booleans())
def test_no_later_night_ever_moves_a_lesson(first: list[int], second: list[int], by_group: bool) -> None:
    settings = GROUP if by_group else SEED
    lessons = [lesson(f"text {angle}", f"m{angle}") for angle in dict.fromkeys(first + second)]
    vectors = {row.text: at(int(row.group[1:])) for row in lessons}
    early = lessons[: len(set(first))]
    before = assign(early, vectors, [], settings, "n1")
    after = assign(lessons, vectors, before, settings, "n2")
    assert after[: len(before)] == before
    assert {row.input for row in after} == {input_id(row) for row in lessons}
    assert all(row.held_out == is_held_out(row.group, settings.held_out) for row in after)


@pytest.mark.parametrize("share", [0.05, 0.15, 0.4])
def test_the_share_of_groups_held_out_is_the_share_asked_for(share: float) -> None:
    chosen = sum(is_held_out(f"m{number}", share) for number in range(5000))
    assert chosen / 5000 == pytest.approx(share, abs=0.02)
