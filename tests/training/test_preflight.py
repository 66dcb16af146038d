"""Each guard three times: in, it refuses; out, the fault goes on unseen; on sound rows it is silent."""

from dataclasses import replace

import pytest

from nightgarden.errors import Refusal
from nightgarden.records import Turn
from nightgarden.templates import registry
from nightgarden.templates.registry import IGNORED, Encoded
from nightgarden.training import preflight
from tests.training.rows import settings

TWO_ROUNDS = (
    Turn(role="user", content="Is the kettle on?"),
    Turn(role="assistant", content="It is."),
    Turn(role="user", content="And the milk?"),
    Turn(role="assistant", content="In the door of the fridge."),
)


def faults(examples, template, tokenizer, **training) -> dict[str, str]:
    return dict(preflight.check("train", examples, template, tokenizer, settings(**training).training).faults)


def spoiled(examples, template, tokenizer, change) -> str | None:
    """What the preflight says of a row whose encoding was changed."""
    example = examples[0]
    encoded = registry.encode_example(template, tokenizer, example.turns, example.memories, example.directives)
    ids, labels = change(list(encoded.ids), list(encoded.labels))
    return preflight.fault(example, Encoded(ids=ids, labels=labels), template, tokenizer)


def test_sound_rows_pass_and_are_counted_by_op(examples, template, tokenizer) -> None:
    report = preflight.check("train", examples, template, tokenizer, settings().training)
    preflight.require(report)
    assert [count.rows for count in report.ops.values()] == [4, 4, 4, 4]
    assert all(count.p50 <= count.p95 <= count.longest for count in report.ops.values())
    assert sum(count.labelled_tokens for count in report.ops.values()) == sum(row.labelled for row in report.rows)


def test_a_row_of_every_op_is_shown_with_its_labels_marked(examples, template, tokenizer) -> None:
    report = preflight.check("train", examples, template, tokenizer, settings().training)
    for op, text in report.shown.items():
        answer = text[text.index("⟦") + 1 : text.index("⟧")]
        assert answer.endswith("<|im_end|>")
        assert answer.removesuffix("<|im_end|>") in {row.turns[-1].content for row in examples if row.op == op}


def test_every_answer_of_a_longer_chat_is_labelled_with_its_stop(examples, template, tokenizer) -> None:
    row = replace_turns(examples[0], TWO_ROUNDS)
    assert faults([row], template, tokenizer) == {}
    shown = preflight.check("train", [row], template, tokenizer, settings().training).shown[row.op]
    assert "⟦It is.<|im_end|>⟧" in shown and "⟦In the door of the fridge.<|im_end|>⟧" in shown


def replace_turns(example, turns):
    import msgspec

    return msgspec.structs.replace(example, turns=turns)


def test_a_row_without_labels_is_refused_since_its_loss_would_be_zero(examples, template, tokenizer) -> None:
    reason = spoiled(examples, template, tokenizer, lambda ids, labels: (ids, [IGNORED] * len(labels)))
    assert reason == "no labelled token, so nothing is learnt from it"


def test_an_answer_without_its_stop_token_is_refused(examples, template, tokenizer) -> None:
    stop = tokenizer.convert_tokens_to_ids(template.stop)
    reason = spoiled(examples, template, tokenizer, lambda ids, labels: (ids, [IGNORED if x == stop else x for x in labels]))
    assert reason is not None and "do not end with a labelled <|im_end|>" in reason


def test_a_first_answer_that_is_never_ended_is_refused_though_the_last_is(template, tokenizer, examples) -> None:
    row = replace_turns(examples[0], TWO_ROUNDS)
    encoded = registry.encode_example(template, tokenizer, row.turns)
    first = next(at for at, label in enumerate(encoded.labels) if label == 2)
    labels = [IGNORED if at == first else label for at, label in enumerate(encoded.labels)]
    reason = preflight.fault(row, Encoded(ids=encoded.ids, labels=labels), template, tokenizer)
    assert reason is not None and reason.startswith("1 of 2 answers")


def test_a_second_bos_is_refused(examples, template, tokenizer) -> None:
    bos = tokenizer.bos_token_id
    reason = spoiled(examples, template, tokenizer, lambda ids, labels: ([bos, *ids], [IGNORED, *labels]))
    assert reason == f"begins with BOS (token {bos}) twice"


def test_labels_that_begin_one_token_early_are_refused(examples, template, tokenizer) -> None:
    def early(ids, labels):
        first = next(at for at, label in enumerate(labels) if label != IGNORED)
        return ids, [ids[at] if at == first - 1 else label for at, label in enumerate(labels)]

    reason = spoiled(examples, template, tokenizer, early)
    assert reason is not None and reason.startswith("the labels of the answer do not begin at token")


def test_a_template_that_loses_the_system_text_is_refused(examples, template, tokenizer) -> None:
    """As the stock template of Mistral 7B v0.3 does in training: the prompt holds the system text, the row does not."""
    lossy = replace(
        template, text="{%- set messages = messages | rejectattr('role', 'equalto', 'system') | list -%}" + template.text
    )
    found = faults(examples, lossy, tokenizer)
    with_system = {row.id for row in examples if row.turns[0].role == "system" or row.memories or row.directives}
    assert with_system and set(found) == with_system
    assert all(reason.startswith("the system text is not in the token ids") for reason in found.values())
    silent = registry.encode_example(lossy, tokenizer, *_parts(examples[-1]))
    assert any(label != IGNORED for label in silent.labels), "without the guard the row trains, and no loss shows what it lost"


def _parts(example):
    return example.turns, example.memories, example.directives


def test_a_prompt_that_is_no_prefix_of_its_row_is_refused(examples, template, tokenizer) -> None:
    unlike = replace(template, text="{%- if add_generation_prompt -%}{{- 'Now.' -}}{%- endif -%}" + template.text)
    found = faults(examples, unlike, tokenizer)
    assert len(found) == len(examples)
    assert all("not a prefix" in reason for reason in found.values())


def test_a_template_without_generation_marks_is_refused(examples, template, tokenizer) -> None:
    bare = replace(template, text=template.text.replace("{%- generation -%}", "").replace("{%- endgeneration -%}", ""))
    found = faults(examples, bare, tokenizer)
    assert len(found) == len(examples) and "does not mark the answer" in next(iter(found.values()))


def test_a_row_over_the_length_is_refused_or_dropped_and_counted_by_policy(examples, template, tokenizer) -> None:
    lengths = {row.id: len(registry.encode_example(template, tokenizer, *_parts(row)).ids) for row in examples}
    limit = sorted(lengths.values())[-3]
    over = {name for name, length in lengths.items() if length > limit}
    assert over
    assert set(faults(examples, template, tokenizer, max_length=limit, over_length="raise")) == over
    report = preflight.check("train", examples, template, tokenizer, settings(max_length=limit, over_length="drop").training)
    assert set(report.dropped) == over and not report.faults
    assert len(report.rows) == len(examples) - len(over)


def test_the_refusal_names_the_rows_and_says_what_to_do(examples, template, tokenizer) -> None:
    report = preflight.check("train", examples, template, tokenizer, settings(max_length=16).training)
    with pytest.raises(Refusal, match="preflight refuses 16 rows of train") as refused:
        preflight.require(report)
    assert examples[0].id in str(refused.value) and "and 6 more" in str(refused.value)


def test_a_part_of_which_nothing_is_left_is_refused(examples, template, tokenizer) -> None:
    report = preflight.check("held_out", examples, template, tokenizer, settings(max_length=16, over_length="drop").training)
    with pytest.raises(Refusal, match="no row of held_out is left"):
        preflight.require(report)
