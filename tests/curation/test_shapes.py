"""A row of any shape keeps all that it holds: in its turns, or beside them; what is doubtful is a fault with its reason."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgarden.curation.sources.parsing import Malformed
from nightgarden.curation.sources.shapes import to_example
from nightgarden.records import Turn

SYSTEM = {"role": "system", "content": "Be brief."}
ASK, REPLY, OTHER = (
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": "Hello."},
    {"role": "assistant", "content": "What."},
)
TURNS = (Turn(role="user", content="hi"), Turn(role="assistant", content="Hello."))


def foreign(row: dict[str, Any]) -> dict[str, Any]:
    return to_example(row, "public", 0).meta.get("foreign", {})


PREFERENCES: dict[str, dict[str, Any]] = {
    "a prompt": {"prompt": "hi", "chosen": "Hello.", "rejected": "What."},
    "a question": {"question": "hi", "chosen": "Hello.", "rejected": "What."},
    "an instruction": {"instruction": "hi", "input": "", "chosen": "Hello.", "rejected": "What."},
    "a chat and one more turn": {
        "conversations": [{"from": "human", "value": "hi"}],
        "chosen": {"from": "gpt", "value": "Hello."},
        "rejected": {"from": "gpt", "value": "What."},
    },
    "a chat as JSON text": {"messages": json.dumps([ASK]), "chosen": [REPLY], "rejected": [OTHER]},
    "two whole chats": {"chosen": [ASK, REPLY], "rejected": [ASK, OTHER]},
    "two whole chats beside the prompt": {"prompt": "hi", "chosen": [ASK, REPLY], "rejected": [ASK, OTHER]},
    "a whole chat beside two": {"prompt": "hi", "messages": [ASK, REPLY], "chosen": [ASK, REPLY], "rejected": [ASK, OTHER]},
}


@pytest.mark.parametrize("shape", PREFERENCES)
def test_of_a_preference_the_chosen_side_is_taken_and_the_rejected_kept_beside_it(shape: str) -> None:
    row = PREFERENCES[shape]
    assert to_example(row, "public", 0).turns == TURNS
    assert foreign(row)["rejected"] == row["rejected"]


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": "hi", "chosen": [SYSTEM, ASK, REPLY]},
        {"prompt": [SYSTEM, ASK], "chosen": [ASK, REPLY]},
        {"prompt": [SYSTEM, ASK], "chosen": [REPLY]},
        {"system": "Be brief.", "question": "hi", "chosen": "Hello."},
        {"system_prompt": "Be brief.", "question": "hi", "response": "Hello."},
        {"system": "Be brief.", "messages": [SYSTEM, ASK, REPLY]},
    ],
)
def test_the_system_text_of_either_side_stands_in_front_once(row: dict[str, Any]) -> None:
    assert to_example(row, "public", 0).turns == (Turn(role="system", content="Be brief."), *TURNS)


DOUBTFUL: dict[str, dict[str, Any]] = {
    "chosen is one text, and nothing was asked": {"chosen": "\n\nHuman: hi\n\nAssistant: Hello.", "rejected": "x"},
    "a whole chat, but not of what was asked": {"prompt": "another", "chosen": [ASK, REPLY]},
    "a system column beside another system turn": {"system": "Be kind.", "messages": [SYSTEM, ASK, REPLY]},
    "label 0: whether people rejected": {"prompt": "hi", "completion": "Hello.", "label": 0},
    "label 'false': whether people rejected": {"prompt": "hi", "completion": "Hello.", "label": "false"},
    "label false": {"messages": [ASK, REPLY], "label": False},
    "messages is a text that is no list of turns": {"messages": "<|im_start|>user"},
    "both would be kept under that name": {"messages": [ASK | {"name": "Kit"}, REPLY], "turns": 2},
    "turn 2: calls a tool": {"messages": [ASK, {"role": "assistant", "tool_calls": [{"id": 1}]}]},
    "turn 2: a tool speaks": {"messages": [ASK, {"role": "tool", "tool_call_id": 1}]},
    "turn 2: must be an object": {"messages": [ASK, "Hello."]},
}


@pytest.mark.parametrize("reason", DOUBTFUL)
def test_what_a_row_leaves_open_is_a_fault_and_never_a_guess(reason: str) -> None:
    with pytest.raises(Malformed, match=reason):
        to_example(DOUBTFUL[reason], "public", 0)


@pytest.mark.parametrize("label", [True, None])
def test_a_rated_answer_with_a_good_label_is_taken(label: bool | None) -> None:
    assert to_example({"prompt": "hi", "completion": "Hello.", "label": label}, "public", 0).turns == TURNS


def test_a_label_that_is_no_rating_is_a_key_like_others() -> None:
    assert foreign({"messages": [ASK, REPLY], "label": "greeting"}) == {"label": "greeting"}


SHAPES: list[dict[str, Any]] = [
    {"messages": [ASK, REPLY]},
    {"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "Hello."}]},
    {"messages": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "Hello."}]},
    {"prompt": [ASK], "completion": [REPLY]},
    {"prompt": "hi", "response": [REPLY]},
    {"prompt": [ASK], "chosen": [REPLY], "rejected": [OTHER]},
    {"chosen": [ASK, REPLY]},
    {"conversation": [ASK], "chosen": REPLY},
    {"instruction": "hi", "output": "Hello."},
    {"question": "hi", "response": "Hello."},
]
names = st.text(st.characters(codec="ascii", categories=["Ll"]), min_size=1, max_size=3)
kept = st.dictionaries(names, st.none() | st.integers() | st.text(max_size=3), max_size=3)


@given(shape=st.sampled_from(SHAPES), more=kept, beside=kept)
def test_no_key_of_a_row_or_of_its_turns_is_lost(shape: dict[str, Any], more: dict[str, Any], beside: dict[str, Any]) -> None:
    chats = ("messages", "conversations", "conversation", "prompt", "completion", "response", "chosen")
    row = {**more, **{key: _with(value, beside) if key in chats else value for key, value in shape.items()}}
    example = to_example(row, "public", 0)
    assert example.turns == TURNS
    found = example.meta.get("foreign", {})
    own = {key: found[key] for key in found if key != "turns"}
    assert own == more | {key: shape[key] for key in shape if key == "rejected"}
    objects = sum(isinstance(item, dict) for key in chats if key in row for item in _items(row[key]))
    assert found.get("turns", []).count(beside) == (objects if beside else 0)


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _with(value: Any, beside: dict[str, Any]) -> Any:
    """The turns of a side with keys of their own."""
    if isinstance(value, list):
        return [_with(item, beside) for item in value]
    return value | beside if isinstance(value, dict) else value
