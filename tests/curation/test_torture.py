"""Every fault of a file has the outcome that stands here; no row is ever unaccounted for."""

import pytest

from tests.curation.torture import Outcome, names, outcome

OUTCOMES = {
    "20_mb_row.jsonl": Outcome(3, 3, 0),
    "alpaca.jsonl": Outcome(1, 1, 0),
    "blank_lines.jsonl": Outcome(2, 2, 0),
    "broken_array.json": Outcome(3, 2, 0, ("not JSON: it does not end before the next one begins",)),
    "broken_group.parquet": Outcome(
        3, 2, 0, ("row group 2 of 3 breaks off here: Couldn't deserialize thrift: don't know what t",)
    ),
    "broken_typed_string.jsonl": Outcome(
        1, 0, 0, ("conversations is a text that is no list of turns: not JSON: Expecting property n",)
    ),
    "byte_order_mark.jsonl": Outcome(1, 1, 0),
    "carriage_returns.jsonl": Outcome(1, 0, 0, ("not JSON: Extra data at character 100",)),
    "chatml.jsonl": Outcome(1, 0, 0, ("conversations is a text that is no list of turns: not JSON: Expecting value at c",)),
    "crlf.jsonl": Outcome(2, 2, 0),
    "cut_off.json.gz": Outcome(1954, 1953, 0, ("the archive breaks off here: its end is missing",)),
    "cut_off.json.zst": Outcome(1001, 1000, 0, ("the archive breaks off here: its end is missing",)),
    "cut_off.jsonl.gz": Outcome(1953, 1952, 0, ("the archive breaks off here: its end is missing",)),
    "cut_off.jsonl.zst": Outcome(1, 0, 0, ("the archive breaks off here: its end is missing",)),
    "cut_off.parquet": Outcome(refused="cannot read cut_off.parquet: no Parquet table: Parquet magic bytes not found in "),
    "damaged.jsonl.gz": Outcome(refused="cannot read damaged.jsonl.gz: damaged: Error -3 while decompressing data: incorr"),
    "damaged.jsonl.zst": Outcome(refused="cannot read damaged.jsonl.zst: damaged: zstd decompressor error: Restored data d"),
    "dates_and_bytes.parquet": Outcome(1, 1, 0),
    "developer_role.jsonl": Outcome(1, 1, 0),
    "duplicate_keys.jsonl": Outcome(2, 1, 0, ("a key stands twice in one object: which value is meant is unknown",)),
    "empty.jsonl": Outcome(refused="empty.jsonl holds no row; give a file with at least one, as a line of .jsonl or "),
    "empty.jsonl.gz": Outcome(refused="empty.jsonl.gz holds no row; give a file with at least one, as a line of .jsonl "),
    "empty.jsonl.zst": Outcome(refused="empty.jsonl.zst holds no row; give a file with at least one, as a line of .jsonl"),
    "empty_array.json": Outcome(refused="empty_array.json holds no row; give a file with at least one, as a line of .json"),
    "empty_system.jsonl": Outcome(1, 1, 0),
    "equal_rows.jsonl": Outcome(3, 2, 1),
    "escaped_surrogate_pair.jsonl": Outcome(1, 1, 0),
    "huge_number.jsonl": Outcome(2, 1, 0, ("a number with too many digits",)),
    "id_of_two_kinds.jsonl": Outcome(2, 2, 0),
    "infinity.jsonl": Outcome(2, 1, 0, ("a number too large for a float",)),
    "key_escaped_twice.jsonl": Outcome(2, 1, 0, ("a key stands twice in one object: which value is meant is unknown",)),
    "label_0.jsonl": Outcome(
        3,
        1,
        0,
        (
            "label 0: whether people rejected the answer is told by true or false",
            "label 'false': whether people rejected the answer is told by true or false",
        ),
    ),
    "last_line_cut_off.jsonl": Outcome(2, 1, 0, ("not JSON: Unterminated string starting at character 78",)),
    "late_key.jsonl": Outcome(4, 4, 0),
    "latin_1.jsonl": Outcome(2, 1, 0, ("byte 50 is not UTF-8",)),
    "line_separator.jsonl": Outcome(1, 1, 0),
    "list_of_parts.jsonl": Outcome(1, 1, 0),
    "lone_surrogate.jsonl": Outcome(2, 1, 0, ("a lone surrogate (half of a UTF-16 pair)",)),
    "more_behind_it.jsonl.gz": Outcome(2, 1, 0, ("the archive ends here, and what follows is no gzip",)),
    "nan.jsonl": Outcome(2, 1, 0, ("NaN is no JSON number",)),
    "nan.parquet": Outcome(3, 2, 0, ("NaN is no JSON number",)),
    "no_archive.jsonl.gz": Outcome(refused="cannot read no_archive.jsonl.gz: no gzip archive: it begins with b'{\"co'. Any of"),
    "no_archive.jsonl.zst": Outcome(refused="cannot read no_archive.jsonl.zst: no Zstandard archive: it begins with b'{\"co'. "),
    "no_known_shape.jsonl": Outcome(
        1, 0, 0, ("no known shape: need messages, conversations, conversation, chosen, prompt/quest",)
    ),
    "no_object.jsonl": Outcome(
        4,
        1,
        0,
        (
            "a row must be an object, this is a int",
            "a row must be an object, this is a str",
            "a row must be an object, this is a NoneType",
        ),
    ),
    "no_rows.parquet": Outcome(refused="no_rows.parquet holds no row; give a file with at least one, as a line of .jsonl"),
    "no_such_column.parquet": Outcome(
        1, 0, 0, ("no known shape: need messages, conversations, conversation, chosen, prompt/quest",)
    ),
    "no_table.parquet": Outcome(refused="cannot read no_table.parquet: no Parquet table: Parquet magic bytes not found in"),
    "not_utf_8.parquet": Outcome(3, 2, 0, ("a text that is not UTF-8",)),
    "nul_bytes.jsonl": Outcome(2, 1, 0, ("not JSON: Expecting value at character 0",)),
    "null_text.jsonl": Outcome(2, 1, 0, ("turn 2: its text must be a string, this is a NoneType",)),
    "only_blanks.jsonl": Outcome(refused="only_blanks.jsonl holds no row; give a file with at least one, as a line of .jso"),
    "open_array.json": Outcome(3, 2, 0, ("the array is never closed: the file may have been cut off",)),
    "openorca.jsonl": Outcome(1, 1, 0),
    "other_dialect.jsonl": Outcome(2, 2, 0),
    "packed.json.zst": Outcome(2, 2, 0),
    "packed.jsonl.gz": Outcome(2, 2, 0),
    "picture_part.jsonl": Outcome(2, 1, 0, ("turn 1: a part of the type image_url, of which only text can be rendered",)),
    "preference.jsonl": Outcome(1, 1, 0),
    "preference_behind_a_chat.jsonl": Outcome(2, 2, 0),
    "preference_of_another_prompt.jsonl": Outcome(
        2, 1, 0, ("the chosen side is a whole chat, but not of what was asked: which one holds is u",)
    ),
    "pretty_object.json": Outcome(1, 1, 0),
    "prompt_completion.jsonl": Outcome(1, 1, 0),
    "query_response.jsonl": Outcome(1, 1, 0),
    "rated.jsonl": Outcome(2, 1, 0, ("label false: an answer that people rejected",)),
    "several_pretty_objects.json": Outcome(1, 0, 0, ("not JSON: Extra data at character 152",)),
    "table.parquet": Outcome(1, 1, 0),
    "text_blob.jsonl": Outcome(1, 0, 0, ("one text for a whole chat: where a turn begins is not told; give turns, as messa",)),
    "too_deep.jsonl": Outcome(2, 1, 0, ("nested more than 100 deep",)),
    "tool_call.jsonl": Outcome(1, 0, 0, ("turn 2: calls a tool, which no template of ours renders",)),
    "tool_turn.jsonl": Outcome(2, 1, 0, ("turn 2: a tool speaks (observation), which no template of ours renders",)),
    "top_level_array.jsonl": Outcome(2, 2, 0),
    "transcript.jsonl": Outcome(1, 0, 0, ("chosen is one text, and nothing was asked: where a turn begins is not told",)),
    "truncated_line.jsonl": Outcome(3, 2, 0, ("not JSON: Expecting ',' delimiter at character 60",)),
    "two_frames.jsonl.zst": Outcome(2, 2, 0),
    "two_members.jsonl.gz": Outcome(2, 2, 0),
    "two_systems.jsonl": Outcome(2, 1, 0, ("a system column beside another system turn: which one holds is unknown",)),
    "typed_string.jsonl": Outcome(1, 1, 0),
    "typed_string.parquet": Outcome(1, 1, 0),
    "unknown_role.jsonl": Outcome(2, 1, 0, ("turn 1: unknown role 'hummany'; known are assistant, bard, bing, chatgpt, develo",)),
    "utf_16.jsonl.gz": Outcome(refused="utf_16.jsonl.gz is UTF-16, not UTF-8; convert it first, for example `iconv -f UT"),
    "utf_16_with_mark.jsonl": Outcome(refused="utf_16_with_mark.jsonl is UTF-16, not UTF-8; convert it first, for example `icon"),
    "utf_16_without_mark.jsonl": Outcome(
        refused="utf_16_without_mark.jsonl is UTF-16, not UTF-8; convert it first, for example `i"
    ),
    "utf_32.jsonl": Outcome(refused="utf_32.jsonl is UTF-32, not UTF-8; convert it first, for example `iconv -f UTF-3"),
    "without_its_end.json.gz": Outcome(3, 2, 0, ("the archive breaks off here: its end is missing",)),
}
"""A row is taken, merged into an equal one, or quarantined with its reason; a file that holds none is refused."""


@pytest.mark.parametrize("name", names())
def test_what_becomes_of_a_file_is_what_the_table_says(name: str) -> None:
    assert outcome(name) == OUTCOMES[name]


def test_the_table_has_a_line_for_every_file_and_for_no_other() -> None:
    assert set(OUTCOMES) == set(names())
