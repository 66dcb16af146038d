from dataclasses import replace
from typing import Any

import msgspec

from nightgarden import jsonl
from nightgarden.templates import registry
from nightgarden.templates.fingerprint import differences, fingerprint

SMOLLM2 = registry.get("smollm2")


def test_equal_templates_have_equal_fingerprints_before_and_after_json(smollm2: Any) -> None:
    one = fingerprint(SMOLLM2, smollm2)
    smollm2(["a", "b c"], padding=True, truncation=True, max_length=8)
    assert differences(msgspec.json.decode(jsonl.encode(one)), fingerprint(SMOLLM2, smollm2)) == []


def test_one_space_is_named_with_the_token_that_it_moves(smollm2: Any) -> None:
    spaced = replace(SMOLLM2, text=SMOLLM2.text.replace("'<|im_start|>assistant\\n'", "'<|im_start|>assistant \\n'"))
    found = differences(fingerprint(SMOLLM2, smollm2), fingerprint(spaced, smollm2))
    assert [line.split(":")[0] for line in found] == [
        "golden_ids of 'bare'",
        "golden_ids of 'memory'",
        "golden_ids of 'system'",
        "template_sha256",
    ]
    assert "token 30 is 198 and 3717" in found[0]


def test_a_space_that_changes_no_id_is_still_seen(smollm2: Any) -> None:
    spaced = replace(SMOLLM2, text=SMOLLM2.text.replace("{#- ", "{#-  "))
    assert [line.split(":")[0] for line in differences(fingerprint(SMOLLM2, smollm2), fingerprint(spaced, smollm2))] == [
        "template_sha256"
    ]


def test_missing_fields_and_ids_are_differences(smollm2: Any) -> None:
    one = fingerprint(SMOLLM2, smollm2)
    other = {key: value for key, value in one.items() if key != "name"} | {"control_ids": {"<|im_end|>": 3}}
    assert differences(one, other) == [
        "control_ids of '<|im_end|>': 2 and 3",
        "control_ids of '<|im_start|>': 1 and nothing",
        "name: smollm2 and nothing",
    ]
