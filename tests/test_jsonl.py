"""Files are written whole or not at all, and read with the place of a fault."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgarden import jsonl
from nightgarden.errors import UserError
from nightgarden.records import Turn


def test_a_row_comes_back_as_it_was(tmp_path: Path) -> None:
    rows = [Turn(role="user", content="zwei\nZeilen \u2028 und ein Bär"), Turn(role="assistant", content="")]
    assert jsonl.write(tmp_path / "a.jsonl", rows) == 2
    assert list(jsonl.read(tmp_path / "a.jsonl", Turn)) == rows


@given(st.dictionaries(st.text(), st.one_of(st.integers(-(2**53), 2**53), st.text(), st.none(), st.booleans())))
def test_encoding_does_not_depend_on_the_order_of_keys(value: dict) -> None:
    assert jsonl.encode(value) == jsonl.encode(dict(reversed(list(value.items()))))


def test_a_failing_writer_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    jsonl.write(path, [{"n": 1}])

    def rows():
        yield {"n": 2}
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError):
        jsonl.write(path, rows())
    assert path.read_text() == '{"n":1}\n'
    assert os.listdir(tmp_path) == ["a.jsonl"]


def test_a_killed_writer_never_leaves_half_a_file_under_the_name(tmp_path: Path) -> None:
    code = f"""
import itertools, sys
from pathlib import Path
from nightgarden import jsonl
def rows():
    for n in itertools.count():
        if n == 50000:
            print("writing", flush=True)
        yield {{"n": n}}
jsonl.write(Path({str(tmp_path / "a.jsonl")!r}), rows())
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=Path(jsonl.__file__).parents[1])
    assert child.stdout and child.stdout.readline() == "writing\n"
    child.send_signal(signal.SIGKILL)
    child.wait()
    left = os.listdir(tmp_path)
    assert not (tmp_path / "a.jsonl").exists()
    assert len(left) == 1 and left[0].endswith(".part"), "the kill landed while the temporary file was open"


def test_a_full_disk_keeps_the_old_file_leaves_no_part_and_names_the_file(small_disk: Path) -> None:
    path = small_disk / "a.jsonl"
    jsonl.write(path, [{"n": 1}])
    with pytest.raises(OSError, match="No space left") as caught:
        jsonl.write(path, ({"n": "x" * 1000} for _ in range(10_000)))
    assert caught.value.filename == str(path)
    assert list(jsonl.read(path, dict)) == [{"n": 1}] and os.listdir(small_disk) == ["a.jsonl"]


def test_a_fault_is_named_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"role":"user","content":"x"}\n{"role":"robot","content":"x"}\n')
    with pytest.raises(UserError, match=r"a\.jsonl:2: Invalid enum value"):
        list(jsonl.read(path, Turn))


def test_an_unknown_key_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"role":"user","content":"x","weight":1}\n')
    with pytest.raises(UserError, match="unknown field `weight`"):
        list(jsonl.read(path, Turn))


def test_a_missing_file_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="dvc repro"):
        list(jsonl.read(tmp_path / "none.jsonl", Turn))


def test_appended_rows_add_up(tmp_path: Path) -> None:
    for n in range(3):
        jsonl.append(tmp_path / "log.jsonl", {"n": n})
    assert (tmp_path / "log.jsonl").read_text() == '{"n":0}\n{"n":1}\n{"n":2}\n'
