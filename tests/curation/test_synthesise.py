"""A teacher's rows: each call made once, each row with its origin, no failed answer a row; against a real server."""

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nightgarden.curation import inputs
from nightgarden.curation.annotate import annotate, find
from nightgarden.curation.asking import FOLDER
from nightgarden.curation.explain import explain, told
from nightgarden.curation.filter import filter_pass
from nightgarden.curation.ingest import ingest
from nightgarden.curation.inputs import read_inputs, requests
from nightgarden.curation.synthesise import INGESTED, REPORT, ROWS, synthesise
from nightgarden.errors import UserError
from nightgarden.jsonl import read, write
from nightgarden.records import Example
from nightgarden.stage import Place
from tests.curation.rows import PARAMS, ROOT, RULES, divide, example, ours, place, read_lines, settings, write_lines
from tests.curation.stand_in import Body, StandIn, fresh, standing_in, wanting

KEY = "sk-stand-in-0123456789"


def at(root: Path, server: StandIn, **changes: Any) -> Place:
    return place(root, server_url=server.url, server_key=KEY, **changes)


def made(root: Path) -> list[dict[str, Any]]:
    """The rows that a teacher wrote."""
    return [row for row in read_lines(root / ROWS) if row.get("meta", {}).get("source") == "synthesis"]


def synthesised(root: Path) -> list[Example]:
    """The same as examples."""
    ids = {row["id"] for row in made(root)}
    rows: Iterator[Example] = read(root / ROWS, Example)
    return [row for row in rows if row.id in ids]


def report(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((root / REPORT).read_text())
    return found


def written(root: Path) -> tuple[bytes, bytes]:
    return (root / ROWS).read_bytes(), (root / REPORT).read_bytes()


def kept(root: Path) -> int:
    """Answers on disk."""
    return len(list((root / ".nightgarden" / FOLDER).glob("*.json")))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Six ingested rows and the inputs of the seed."""
    return fresh(tmp_path / "root")


@pytest.fixture
def server() -> Iterator[StandIn]:
    with standing_in() as running:
        yield running


def test_where_no_row_is_wanted_nobody_is_called_and_the_rows_are_those_that_ingest_took(root: Path) -> None:
    shutil.rmtree(root / inputs.SEEDS)
    synthesise(PARAMS, root, place(root))
    assert (root / ROWS).read_bytes() == (root / INGESTED).read_bytes()
    assert report(root) == report(root) | {"asked": 0, "made": 0, "calls": 0, "cost": 0.0, "rows": 6, "merged": 0}


def test_new_rows_stand_among_the_ingested_ones_each_with_its_origin(root: Path, server: StandIn) -> None:
    synthesise(wanting(2, 2, 2), root, at(root, server))
    rows = read_lines(root / ROWS)
    assert [(row["op"], row["id"]) for row in rows] == sorted((row["op"], row["id"]) for row in rows)
    assert set((root / INGESTED).read_text().splitlines()) < set((root / ROWS).read_text().splitlines())
    by_id = {item.id: item for item in read_inputs(root)}
    assert Counter(row["op"] for row in made(root)) == {1: 2, 2: 2, 3: 2}
    for row in made(root):
        origin = row["meta"]["synthesis"]
        item = by_id[origin["input"]]
        *turns, answer = row["turns"]
        assert (row["op"], turns) == (item.op, [{"role": turn.role, "content": turn.content} for turn in item.messages])
        assert "It depends on the weather." in answer["content"]
        assert (origin["model"], origin["temperature"]) == ("stand-in", PARAMS.curation.synthesis.temperature)
        request = requests(item)[-1]
        assert (origin["prompt"], origin["prompt_version"]) == (request.prompt, request.version)
        assert ("contrast" in row["meta"]) == ("contrast" in origin) == (row["op"] == 1)
        assert len(row.get("memories", [])) == len(item.memories)
        assert row["meta"]["domain"] == item.meta["domain"]
    contrast = next(row for row in made(root) if row["op"] == 1)["meta"]["synthesis"]["contrast"]
    assert contrast["prompt"] == "op1_contrast"
    assert len(server.asked) == 8 == report(root)["calls"]


def test_the_teacher_is_shown_what_the_row_is_rendered_from_and_one_of_our_prompts(root: Path, server: StandIn) -> None:
    synthesise(wanting(0, 1, 1), root, at(root, server))
    for row in made(root):
        item = next(item for item in read_inputs(root) if item.id == row["meta"]["synthesis"]["input"])
        (body,) = [body for body in server.asked if body["messages"][-1]["content"] == item.messages[-1].content]
        system = body["messages"][0]["content"]
        assert all(memory.text in system for memory in item.memories)
        assert item.messages[0].role != "system" or item.messages[0].content in system
        assert "No exclamation marks" in system or "without a list, an exclamation mark" in system
        assert (body["model"], body["max_tokens"], body["seed"], body["top_p"]) == ("stand-in", 256, 20260907, 1.0)


def test_one_call_and_four_at_once_write_the_same_bytes(tmp_path: Path) -> None:
    found = []
    for number, calls in enumerate((1, 4)):
        root = fresh(tmp_path / str(number))
        with standing_in(seconds=lambda body: len(body["messages"][-1]["content"]) % 7 / 100) as server:
            synthesise(wanting(3, 6, 6), root, at(root, server, calls=calls))
        assert server.most_at_once == calls
        found.append(written(root))
    assert found[0] == found[1]


def run(folder: str, url: str) -> None:
    """The stage in a process of its own."""
    root = Path(folder)
    synthesise(wanting(4, 12, 4), root, place(root, server_url=url, server_key=KEY))


def test_a_run_killed_half_way_repeats_no_call_that_had_finished(tmp_path: Path) -> None:
    root, whole = fresh(tmp_path / "killed"), fresh(tmp_path / "whole")
    with standing_in(seconds=lambda body: 0.05) as server:
        code = "import sys; from tests.curation.test_synthesise import run; run(*sys.argv[1:])"
        child = subprocess.Popen([sys.executable, "-c", code, str(root), server.url], cwd=ROOT)
        while kept(root) < 10 and child.poll() is None:
            time.sleep(0.005)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        time.sleep(0.2)  # what was under way arrives at nobody
        before, finished = len(server.asked), kept(root)
        assert 10 <= finished < 24 and before - finished <= 4 and not (root / ROWS).exists()
        numbers = synthesise(wanting(4, 12, 4), root, at(root, server))
        assert len(server.asked) - before == 24 - finished
        assert (numbers["calls_now"], numbers["calls_earlier"]) == (24 - finished, finished)
        shutil.rmtree(root / ".nightgarden")
        synthesise(wanting(4, 12, 4), root, at(root, server))
        assert len(server.asked) - before == 24 - finished + 24, "without what is kept every call is made again"
        synthesise(wanting(4, 12, 4), whole, at(whole, server, calls=1))
    assert written(root) == written(whole)


def test_a_server_that_dies_stops_the_stage_and_what_it_had_answered_is_not_asked_again(root: Path, server: StandIn) -> None:
    server.dead_after = 5
    with pytest.raises(UserError, match="gave no answer, twice: cannot reach .* is kept in .*: run the stage again"):
        synthesise(wanting(0, 12, 0), root, at(root, server, calls=2))
    assert (len(server.asked), kept(root)) == (5, 5)
    assert not (root / ROWS).exists() and not (root / REPORT).exists()
    server.dead_after = 10**9
    synthesise(wanting(0, 12, 0), root, at(root, server, calls=2))
    assert len({json.dumps(body) for body in server.asked}) == len(server.asked) == 12
    assert len(made(root)) == 12


FAULTY: dict[str, Any] = {
    "empty": " \n",
    "cut": {"content": "It goes on and", "finish": "length"},
    "declined": 400,
    "declined for no text": {"content": None, "finish": "content_filter"},
}


@pytest.mark.parametrize("kind", FAULTY)
def test_a_failed_answer_is_asked_for_once_more_and_then_the_next_input_makes_the_row(root: Path, kind: str) -> None:
    failing = read_inputs(root)[0].messages[-1].content  # of op 1: its contrast fails, so its answer is never asked for

    def says(body: Body) -> Any:
        return FAULTY[kind] if body["messages"][-1]["content"] == failing else "Lay it flat and wait."

    with standing_in(says) as server:
        synthesise(wanting(2, 0, 0), root, at(root, server, calls=1))
        first, asked = written(root), len(server.asked)
        tries = [body["temperature"] for body in server.asked if body["messages"][-1]["content"] == failing]
        assert tries == ([0.7, 0.7] if "declined" in kind else [0.7, 1.0])
        fault = "declined" if "declined" in kind else kind
        assert report(root) == report(root) | {"asked": 3, "made": 2, f"failed_{fault}": 1}
        assert {row["turns"][-1]["content"] for row in made(root)} == {"Lay it flat and wait."}
        synthesise(wanting(2, 0, 0), root, at(root, server))
        assert len(server.asked) - asked == (2 if "declined" in kind else 0), "only what never finished"
        assert written(root) == first


def test_a_second_attempt_that_succeeds_makes_the_row_and_is_not_asked_for_again(root: Path) -> None:
    with standing_in(lambda body: "" if body["temperature"] < 1 else "Yes, both of them.") as server:
        synthesise(wanting(0, 3, 0), root, at(root, server))
        assert [row["meta"]["synthesis"]["temperature"] for row in made(root)] == [1.0] * 3
        assert report(root) == report(root) | {"made": 3, "failed_empty": 0, "calls": 6, "prompt_tokens": 600}
        synthesise(wanting(0, 3, 0), root, at(root, server))
        assert len(server.asked) == 6


def test_a_teacher_that_makes_nothing_is_no_finished_stage(root: Path) -> None:
    with (
        standing_in(lambda body: FAULTY["cut"]) as server,
        pytest.raises(UserError, match="no row of op 3 out of 36.*cut 36"),
    ):
        synthesise(wanting(0, 0, 2), root, at(root, server))
    assert not (root / ROWS).exists()


def test_a_bad_answer_is_a_row_and_the_rules_judge_it(root: Path) -> None:
    with standing_in(lambda body: "Great question! I'd be happy to help!") as server:
        synthesise(wanting(0, 2, 0), root, at(root, server))
    rows = synthesised(root)
    assert len(rows) == 2
    for rule in ("instruct_isms", "exclamation"):
        assert find(rule, rows, RULES.of(rule)).keys() == {row.id for row in rows}
    assert find("schema", rows, RULES.of("schema")) == {}


def test_explain_tells_a_new_row_from_its_teacher_on(root: Path, server: StandIn) -> None:
    write_lines(root / "data/inbox/a.jsonl", [ours(example("Water it.", op=0))])
    ingest(settings(sources={"a": {"path": "data/inbox/a.jsonl"}}), root)
    synthesise(wanting(0, 1, 0), root, at(root, server))
    (row,) = made(root)
    (life,) = explain(row["id"][:8], PARAMS.curation, root)
    assert life.row is not None and life.end.startswith("as far as schema, which has not run")
    assert "a teacher, by synthesise" in told([life]) and '"prompt_version"' in told([life])
    annotate("schema", PARAMS.curation, root)
    filter_pass("schema", PARAMS.curation, root)
    assert [step.verdict for step in explain(row["id"], PARAMS.curation, root)[0].steps] == ["kept", "has not run"]


def test_of_equal_content_the_ingested_row_stays(root: Path) -> None:
    item = next(item for item in read_inputs(root) if item.op == 2)
    (system, ask) = (turn.content for turn in item.messages)
    same = example("Yes.", ask=ask, system=system, op=2, meta={"source": "hand-written"})
    write(root / INGESTED, [same])
    with standing_in(lambda body: "Yes.") as server:
        synthesise(wanting(0, 1, 0), root, at(root, server))
    assert (root / ROWS).read_bytes() == (root / INGESTED).read_bytes()
    assert report(root) == report(root) | {"made": 1, "merged": 1, "rows_in": 1, "rows": 1}


@pytest.mark.parametrize(
    "changes",
    [{"model": "another"}, {"temperature": 0.1}, {"max_tokens": 99}, {"seed": 1}],
    ids=lambda changes: next(iter(changes)),
)
def test_what_makes_another_answer_asks_again(root: Path, server: StandIn, changes: dict[str, Any]) -> None:
    synthesise(wanting(0, 2, 0), root, at(root, server))
    synthesise(wanting(0, 2, 0), root, at(root, server))
    assert len(server.asked) == 2
    synthesise(wanting(0, 2, 0, **changes), root, at(root, server))
    assert len(server.asked) == 4


def test_a_word_changed_in_a_prompt_asks_again_and_is_another_version(
    root: Path, server: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    synthesise(wanting(0, 2, 2), root, at(root, server))
    before = {row["op"]: row["meta"]["synthesis"]["prompt_version"] for row in made(root)}
    monkeypatch.setattr(inputs, "PROMPTS", Path(shutil.copytree(inputs.PROMPTS, root / "prompts")))
    path = root / "prompts/op2.txt"
    path.write_text(path.read_text().replace("argues", "quarrels"))
    synthesise(wanting(0, 2, 2), root, at(root, server))
    after = {row["op"]: row["meta"]["synthesis"]["prompt_version"] for row in made(root)}
    assert len(server.asked) == 6
    assert (before[2] == after[2], before[3] == after[3]) == (False, True)


def test_more_rows_only_add_to_those_of_fewer(root: Path, server: StandIn) -> None:
    synthesise(wanting(0, 3, 0), root, at(root, server))
    few = made(root)
    synthesise(wanting(0, 8, 0), root, at(root, server))
    assert len(server.asked) == 8 and all(row in made(root) for row in few)


def test_cost_counts_every_call_that_the_rows_rest_on_and_is_unknown_where_a_number_is_missing(
    root: Path, server: StandIn
) -> None:
    prices = {"price_per_million_prompt": 2.0, "price_per_million_completion": 10.0}
    synthesise(wanting(2, 1, 0, **prices), root, at(root, server))
    synthesise(wanting(2, 1, 0, **prices), root, at(root, server))  # all from disk, and still what the rows cost
    assert report(root) == report(root) | {"prompt_tokens": 500, "completion_tokens": 50, "cost": 0.0015}
    synthesise(wanting(2, 1, 0), root, at(root, server))
    assert report(root)["cost"] == "unknown: curation.synthesis names no price"
    server.counts_tokens = False
    synthesise(wanting(2, 2, 0, **prices), root, at(root, server))
    assert report(root) == report(root) | {"cost": "unknown: the server counted no tokens of 1 calls", "calls_uncounted": 1}


def everything(root: Path, caplog: pytest.LogCaptureFixture) -> str:
    files = [path for path in root.rglob("*") if path.is_file() and inputs.SEEDS.name not in path.parts]
    assert len(files) > 2
    return caplog.text + "".join(path.read_text() for path in files)


def test_the_key_stands_in_no_file_log_or_error_also_where_the_server_repeats_it(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="nightgarden")
    with standing_in(lambda body: 400 if "Brie" in str(body) else f"Your key is {KEY}, keep it safe.") as server:
        synthesise(wanting(0, 6, 6), root, at(root, server))
        assert server.authorisations == {f"Bearer {KEY}"}
        assert "Your key is" in everything(root, caplog) and KEY not in everything(root, caplog)
        server.says = lambda body: 401
        with pytest.raises(UserError, match=r"answered 401: .*\(the key\)") as caught:
            synthesise(wanting(0, 8, 8), root, at(root, server))
    assert KEY not in str(caught.value) + everything(root, caplog)


def test_another_secret_in_an_answer_is_masked_before_it_is_kept(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    secret = "ghp_" + "Zk83nVqLw0RtYb5XsMd27hJfGcPa9uE4oTiN"
    with standing_in(lambda body: f"Use {secret} for it.") as server:
        synthesise(wanting(1, 1, 0), root, at(root, server))
    assert secret not in everything(root, caplog)
    assert all("github token" in row["turns"][-1]["content"] for row in made(root))


def test_a_dry_run_calls_nobody_and_marks_every_row_at_birth(
    root: Path, server: StandIn, caplog: pytest.LogCaptureFixture
) -> None:
    synthesise(wanting(2, 2, 2), root, at(root, server), dry_run=True)
    rows = made(root)
    assert (len(rows), server.asked, kept(root)) == (6, [], 0)
    for row in rows:
        assert row["meta"]["dry_run"] is True and row["meta"]["synthesis"]["model"] == "dry-run"
        assert "DRY-RUN PLACEHOLDER" in row["turns"][-1]["content"]
        assert row["op"] != 1 or "DRY-RUN PLACEHOLDER" in row["meta"]["contrast"]
    assert caplog.text.count("DRY RUN") == 2
    synthesise(wanting(2, 2, 2), root, at(root, server))
    assert len(made(root)) == 6 and not any("dry_run" in row["meta"] for row in made(root)), "real rows take their places"


def test_a_dry_runs_rows_fall_by_their_mark_and_by_their_words(root: Path, server: StandIn) -> None:
    synthesise(wanting(2, 2, 2), root, at(root, server), dry_run=True)
    rows = synthesised(root)
    left, gone = divide("placeholder", rows, find("placeholder", rows, RULES.placeholder), RULES.placeholder)
    reasons = {hit.reason for line in gone for hit in line.hits}
    assert (len(left), len(gone)) == (0, 6)
    assert "made by a dry run of the synthesis" in reasons and "mark: placeholder" in reasons


def command(root: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """A `nightgarden` command on a copy of the code, as it may be typed."""
    if not (root / "nightgarden").exists():
        shutil.copytree(ROOT / "nightgarden", root / "nightgarden", ignore=shutil.ignore_patterns("__pycache__"))
        text = (ROOT / "params.yaml").read_text()
        (root / "params.yaml").write_text(
            text.replace("rows: [0, 0, 0]", "rows: [0, 2, 0]").replace("model: null", "model: m", 1)
        )
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("NIGHTGARDEN", "OPENAI"))}
    return subprocess.run(
        [sys.executable, "-m", "nightgarden", *words],
        cwd=root,
        env=clean | environ,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_makes_real_rows_or_marked_ones_and_says_what_it_lacks(root: Path, server: StandIn) -> None:
    said = command(root, "synthesise")
    assert said.returncode == 2 and "curation.synthesis.model is 'm' and OPENAI_BASE_URL is not set" in said.stderr
    dry = command(root, "synthesise", "--dry-run")
    assert dry.returncode == 0 and "DRY RUN: the 2 new rows" in dry.stderr
    assert [row["meta"]["dry_run"] for row in made(root)] == [True, True]
    real = command(root, "synthesise", OPENAI_BASE_URL=server.url, OPENAI_API_KEY=KEY, NIGHTGARDEN_CALLS="2")
    assert real.returncode == 0 and KEY not in real.stderr + real.stdout
    assert [row["meta"].get("dry_run") for row in made(root)] == [None, None]
    wrong = command(root, "synthesise", NIGHTGARDEN_CALLS="many")
    assert wrong.returncode == 2 and "NIGHTGARDEN_CALLS is 'many'; give a whole number of at least 1" in wrong.stderr


def test_the_embedded_model_writes_rows_and_writes_them_again_alike(tmp_path: Path) -> None:
    found = []
    for name in ("once", "again"):
        root = fresh(tmp_path / name)
        shutil.rmtree(root / inputs.SEEDS)
        (root / "models").symlink_to(ROOT / "models")
        questions = ("Is the sea salt?", "Is snow hot?", "Is tar black?")
        lines = [
            {"op": 2, "messages": [{"role": "system", "content": "Say one word: yes or no."}, {"role": "user", "content": text}]}
            for text in (questions if name == "once" else questions[::-1])
        ]
        write_lines(root / inputs.SEEDS / "mine.jsonl", lines)
        numbers = synthesise(wanting(0, 2, 0, model=None, max_tokens=48), root, place(root))
        assert numbers["model"] == "SmolLM2-135M-Instruct.Q4_1"
        assert int(numbers["prompt_tokens"]) > 50 and int(numbers["completion_tokens"]) > 2
        found.append(written(root))
    assert found[0] == found[1]
