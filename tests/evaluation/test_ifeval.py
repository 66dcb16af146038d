"""The checks of IFEval on answers written by hand: five that pass and five that fail, for every kind."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nightgarden.errors import UserError
from nightgarden.evaluation import ifeval, segments
from nightgarden.evaluation.ifeval import Args, Item

ANSWERS = [json.loads(line) for line in (Path(__file__).parent / "ifeval_answers.jsonl").read_text().splitlines()]
PUBLIC = Path(os.environ.get("NIGHTGARDEN_PUBLIC_DATA", ".")) / "evaluation/ifeval_prompts.jsonl"


def item(kind: str, args: dict[str, Any], key: int = 1) -> Item:
    return Item(key=key, prompt="", instruction_id_list=(kind,), kwargs=(msgspec.convert(args, Args),))


def file(folder: Path, *lines: dict[str, Any]) -> Path:
    path = folder / "prompts.jsonl"
    whole = (
        {"key": 1, "prompt": "Go.", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]} | line for line in lines
    )
    path.write_text("".join(json.dumps(line) + "\n" for line in whole))
    return path


@pytest.mark.parametrize("kind", ifeval.CHECKS)
def test_every_answer_is_judged_as_written(kind: str) -> None:
    for line in (line for line in ANSWERS if line["kind"] == kind):
        judged = ifeval.judge(item(kind, line["args"]), line["answer"])
        said = (judged.strict[0] is None, judged.loose[0] is None)
        assert said == (line["passes"], line["loose_passes"]), (line, judged)


def test_every_kind_has_five_answers_that_pass_and_five_that_fail() -> None:
    found = Counter((line["kind"], line["passes"]) for line in ANSWERS)
    assert found == {(kind, passes): 5 for kind in ifeval.CHECKS for passes in (True, False)}


def test_of_what_fails_strictly_some_is_forgiven_loosely_and_what_passes_strictly_passes_loosely() -> None:
    assert sum(line["loose_passes"] and not line["passes"] for line in ANSWERS) > 25
    assert not any(line["passes"] and not line["loose_passes"] for line in ANSWERS)


def test_what_is_broken_is_said_with_its_number() -> None:
    kind = "length_constraints:number_words"
    judged = ifeval.judge(item(kind, {"num_words": 5, "relation": "at least"}), "One two three.")
    assert judged.strict == (f"{kind}: 3 words, at least 5 asked for",)


@pytest.mark.parametrize("reply", ["", " \n\t\n"])
@pytest.mark.parametrize("line", [line for line in ANSWERS if line["passes"]][::5], ids=lambda line: line["kind"])
def test_an_empty_reply_follows_no_instruction(line: dict[str, Any], reply: str) -> None:
    judged = ifeval.judge(item(line["kind"], line["args"]), reply)
    assert judged.strict == judged.loose == (f"{line['kind']}: empty",)


def test_loosened_are_eight_texts_without_first_line_last_line_or_asterisks() -> None:
    assert ifeval.loosened("Sure:\n**Bread**\nEnjoy!") == (
        "Sure:\n**Bread**\nEnjoy!",
        "**Bread**\nEnjoy!",
        "Sure:\n**Bread**",
        "**Bread**",
        "Sure:\nBread\nEnjoy!",
        "Bread\nEnjoy!",
        "Sure:\nBread",
        "Bread",
    )


@pytest.mark.parametrize("reply", ["[" * 3000, "1" * 5000], ids=["3,000 brackets", "5,000 digits"])
def test_what_python_refuses_to_read_is_no_json(reply: str) -> None:
    (said,) = ifeval.judge(item("detectable_format:json_format", {}), reply).strict
    assert said is not None and said.startswith("detectable_format:json_format: not JSON: ")


def test_sentences_end_where_nltk_ends_them_and_not_where_punkt_would() -> None:
    assert segments.sentences("Wait . . . what?") == ["Wait .", ".", ".", "what?"]
    assert segments.sentences("Begin it with P.S.?") == ["Begin it with P.S.", "?"]
    assert segments.sentences('He said (it was "no.") And left Mr. Berg.') == ['He said (it was "no.")', "And left Mr. Berg."]
    assert segments.sentences(" \n") == []


def test_words_are_cut_where_nltk_cuts_them() -> None:
    cut = segments.words("DON'T ask AT&T for a state-of-the-art one.")
    assert cut == ["DO", "N'T", "ask", "AT", "&", "T", "for", "a", "state-of-the-art", "one", "."]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([{"instruction_id_list": ["punctuation:no_coma"]}], "prompts.jsonl:1: key 1: unknown instruction 'punctuation:no_coma'"),
        ([{}, {"instruction_id_list": ["startend:end_checker"], "key": 2}], ":2: key 2: startend:end_checker needs end_phrase"),
        ([{"key": 7}, {"key": 7}], "prompts.jsonl:2: key 7: this key stands twice"),
        (
            [
                {
                    "instruction_id_list": ["length_constraints:number_words"],
                    "kwargs": [{"num_words": 5, "relation": "at most"}],
                }
            ],
            "relation 'at most'; less than or at least is needed",
        ),
        ([{"kwargs": []}], "1 instructions with 0 sets of arguments"),
    ],
    ids=["unknown kind", "missing argument", "key twice", "bad relation", "no arguments"],
)
def test_a_file_that_cannot_be_checked_is_refused_with_its_line(tmp_path: Path, lines: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(UserError, match="Correct the line") as refused:
        ifeval.load(file(tmp_path, *lines))
    assert said in str(refused.value)


@pytest.mark.public
def test_the_541_public_prompts_load_with_834_instructions_of_25_kinds() -> None:
    items = ifeval.load(PUBLIC)
    kinds = Counter(kind for item in items for kind in item.instruction_id_list)
    assert (len(items), kinds.total(), set(kinds)) == (541, 834, set(ifeval.CHECKS))
