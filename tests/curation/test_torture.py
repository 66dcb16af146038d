"""Every fault of a file has the outcome that stands here; no row is ever unaccounted for."""

import pytest

from tests.curation.torture import Outcome, names, outcome

OUTCOMES = {
    "20_mb_row.jsonl": Outcome(3, 3, 0),
    "alpaca.jsonl": Outcome(1, 1, 0),
    "blank_lines.jsonl": Outcome(2, 2, 0),
    "broken_array.json": Outcome(3, 2, 0, ("not JSON: it does not end before the next one begins",)),
    "broken_typed_string.jsonl": Outcome(
        1, 0, 0, ("not JSON: Expecting property name enclosed in double quotes at character 2",)
    ),
    "byte_order_mark.jsonl": Outcome(1, 1, 0),
    "crlf.jsonl": Outcome(2, 2, 0),
    "cut_off.jsonl.gz": Outcome(
        1953, 1952, 0, ("the archive breaks off here: Compressed file ended before the end-of-stream mark",)
    ),
    "cut_off.jsonl.zst": Outcome(1, 0, 0, ("the archive breaks off here: its end is missing",)),
    "duplicate_keys.jsonl": Outcome(2, 1, 0, ("a key stands twice in one object: which value is meant is unknown",)),
    "empty.jsonl": Outcome(refused="empty.jsonl holds no row; give a file with at least one, as a line of .jsonl or "),
    "empty_array.json": Outcome(refused="empty_array.json holds no row; give a file with at least one, as a line of .json"),
    "empty_system.jsonl": Outcome(1, 1, 0),
    "equal_rows.jsonl": Outcome(3, 2, 1),
    "huge_number.jsonl": Outcome(2, 1, 0, ("a number with too many digits",)),
    "id_of_two_kinds.jsonl": Outcome(2, 2, 0),
    "infinity.jsonl": Outcome(2, 1, 0, ("a number too large for a float",)),
    "last_line_cut_off.jsonl": Outcome(2, 1, 0, ("not JSON: Unterminated string starting at character 78",)),
    "late_key.jsonl": Outcome(4, 4, 0),
    "latin_1.jsonl": Outcome(2, 1, 0, ("byte 50 is not UTF-8",)),
    "line_separator.jsonl": Outcome(1, 1, 0),
    "list_of_parts.jsonl": Outcome(1, 1, 0),
    "lone_surrogate.jsonl": Outcome(2, 1, 0, ("a lone surrogate (half of a UTF-16 pair)",)),
    "nan.jsonl": Outcome(2, 1, 0, ("NaN is no JSON number",)),
    "no_archive.jsonl.gz": Outcome(1, 0, 0, ("the archive breaks off here: Not a gzipped file (b'{\"')",)),
    "no_known_shape.jsonl": Outcome(
        1, 0, 0, ("no known shape: need messages or conversations/conversation or chosen or prompt ",)
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
    "no_table.parquet": Outcome(refused="cannot read no_table.parquet as Parquet: Parquet magic bytes not found in footer"),
    "null_text.jsonl": Outcome(2, 1, 0, ("turn 2: its text must be a string, this is a NoneType",)),
    "only_blanks.jsonl": Outcome(refused="only_blanks.jsonl holds no row; give a file with at least one, as a line of .jso"),
    "open_array.json": Outcome(3, 2, 0, ("the array is never closed: the file may have been cut off",)),
    "openorca.jsonl": Outcome(1, 1, 0),
    "packed.json.zst": Outcome(2, 2, 0),
    "packed.jsonl.gz": Outcome(2, 2, 0),
    "picture_part.jsonl": Outcome(2, 1, 0, ("turn 1: a part of the type image_url, of which only text can be rendered",)),
    "preference.jsonl": Outcome(1, 1, 0),
    "pretty_object.json": Outcome(1, 1, 0),
    "prompt_completion.jsonl": Outcome(1, 1, 0),
    "query_response.jsonl": Outcome(1, 1, 0),
    "rated.jsonl": Outcome(2, 1, 0, ("label false: an answer that people rejected",)),
    "table.parquet": Outcome(1, 1, 0),
    "text_blob.jsonl": Outcome(1, 0, 0, ("one text for a whole chat: where a turn begins is not told; give turns, as messa",)),
    "too_deep.jsonl": Outcome(2, 1, 0, ("nested more than 100 deep",)),
    "tool_call.jsonl": Outcome(1, 0, 0, ("turn 2: calls a tool, which no template of ours renders",)),
    "tool_turn.jsonl": Outcome(2, 1, 0, ("turn 2: a tool speaks (observation), which no template of ours renders",)),
    "top_level_array.jsonl": Outcome(2, 2, 0),
    "truncated_line.jsonl": Outcome(3, 2, 0, ("not JSON: Expecting ',' delimiter at character 60",)),
    "two_frames.jsonl.zst": Outcome(2, 2, 0),
    "typed_string.jsonl": Outcome(1, 1, 0),
    "unknown_role.jsonl": Outcome(2, 1, 0, ("turn 1: unknown role 'hummany'; known are assistant, bard, bing, chatgpt, develo",)),
    "utf_16_with_mark.jsonl": Outcome(refused="utf_16_with_mark.jsonl is UTF-16, not UTF-8; convert it first, for example `icon"),
    "utf_16_without_mark.jsonl": Outcome(
        refused="utf_16_without_mark.jsonl is UTF-16, not UTF-8; convert it first, for example `i"
    ),
}
"""A row is taken, merged into an equal one, or quarantined with its reason; a file that holds none is refused."""


@pytest.mark.parametrize("name", names())
def test_what_becomes_of_a_file_is_what_the_table_says(name: str) -> None:
    assert outcome(name) == OUTCOMES[name]


def test_the_table_has_a_line_for_every_file_and_for_no_other() -> None:
    assert set(OUTCOMES) == set(names())
