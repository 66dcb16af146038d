"""`nightgarden explain` tells the whole life of a row, on the project's own rows and on a repaired one."""

import json
import shutil
from pathlib import Path

import pytest

from nightgarden.curation.explain import explain, resolve, told
from nightgarden.curation.rebalance import rebalance
from nightgarden.errors import UserError
from nightgarden.jsonl import encode
from tests.curation.rows import PARAMS, curate, example, ours, passes, read_lines, settings

CURATION = PARAMS.curation


def ledger(root: Path, stage: str) -> list[dict[str, object]]:
    return read_lines(root / f"data/curated/{stage}/ledger.jsonl")


def test_a_kept_row_is_told_from_the_line_of_its_source_to_its_side_of_the_split(curated: Path) -> None:
    for side, name in (("train", "train"), ("held out", "held_out")):
        row = read_lines(curated / f"data/dataset/{name}.jsonl")[0]
        (life,) = explain(row["id"], CURATION, curated)
        place = life.places[0]
        line = json.loads((curated / place.file).read_text().splitlines()[place.line - 1])
        assert line["messages"][-1]["content"] == row["turns"][-1]["content"] == life.row.turns[-1].content
        assert life.end == f"in the dataset, {side}"
        assert [step.stage for step in life.steps] == [*CURATION.passes, "rebalance", "split"]


def test_every_dropped_row_of_every_pass_and_of_the_mix_ends_where_its_ledger_says(curated: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(curated, tmp_path / "copy", symlinks=True))
    rebalance(settings(rebalance={"rows": 64}), root)
    for stage in (*CURATION.passes, "rebalance"):
        line = ledger(root, stage)[0]
        (life,) = explain(line["id"], CURATION, root)
        assert (life.steps[-1].stage, life.steps[-1].verdict) == (stage, "dropped")
        assert life.steps[-1].engine == line["engine"]
        assert line["hits"][0]["reason"] in life.end
        assert {step.verdict for step in life.steps[:-1]} <= {"kept"}


def test_all_rules_that_hit_a_row_are_told_with_turn_span_and_snippet_not_only_the_one_that_took_it(curated: Path) -> None:
    line = next(
        line for line in read_lines(curated / "data/curated/ledger.jsonl") if not line["sole"] and line["rule"] == "bullets"
    )
    (life,) = explain(line["id"], CURATION, curated)
    assert len(life.hits) >= 2
    for hits in life.hits.values():
        for hit in hits:
            assert life.row.turns[hit.turn].content[hit.start : hit.end] in hit.snippet
            assert hit.reason in told([life])


def test_a_near_copy_names_its_twin_and_the_twin_names_the_copy(curated: Path) -> None:
    line = ledger(curated, "duplicate")[0]
    (life,) = explain(line["id"], CURATION, curated)
    twin = life.twins[0]
    assert twin.stayed and twin.id in line["hits"][0]["reason"] and twin.row is not None
    (other,) = explain(twin.id, CURATION, curated)
    assert [(t.id, t.stayed) for t in other.twins] == [(line["id"], False)]


def test_no_secret_is_told(curated: Path) -> None:
    for line in ledger(curated, "secrets"):
        text = told(explain(line["id"], CURATION, curated))
        assert "sha256" in text
        assert not any(key in text for key in ("BEGIN OPENSSH PRIVATE", "AKIA", "ghp_"))


@pytest.fixture
def repaired(seed_root: Path) -> Path:
    """The seed with three rows that one repair makes equal, one of them twice in its source."""
    line = "The wall is cold, so the pendulum gains a minute a day until spring"
    rows = [ours(example(f"{line}{end}", ask="Why is my clock fast?")) for end in ("!", ".", "!!", "!!")]
    with (seed_root / "data/seed/examples/op0_bootstrap.jsonl").open("a") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    curate(settings(passes=passes(exclamation={"on_hit": "repair"})), seed_root)
    return seed_root


def test_a_repair_is_followed_in_both_directions(repaired: Path) -> None:
    curation = settings(passes=passes(exclamation={"on_hit": "repair"}))
    line = next(line for line in ledger(repaired, "exclamation") if line["into"] != merged_id())
    before, after = explain(line["id"], curation, repaired)
    assert [life.id for life in (before, after)] == [line["id"], line["into"]]
    assert [life.id for life in explain(line["into"], curation, repaired)] == [line["id"], line["into"]]
    assert before.steps[-1].verdict == "repaired" and line["into"] in before.end
    assert after.parents == [(line["id"], "exclamation")] and not after.places
    assert "!" in before.row.turns[-1].content and "!" not in after.row.turns[-1].content
    assert after.steps[0].stage == "question_cascade", "it begins behind the pass that made it"


def merged_id() -> str:
    return example("The wall is cold, so the pendulum gains a minute a day until spring.", ask="Why is my clock fast?").id


def test_merged_rows_tell_all_their_places_and_parents(repaired: Path) -> None:
    curation = settings(passes=passes(exclamation={"on_hit": "repair"}))
    *parents, life = explain(merged_id(), curation, repaired)
    assert sorted(len(parent.places) for parent in parents) == [1, 2], "one of them stood twice"
    assert sorted(life.parents) == sorted((parent.id, "exclamation") for parent in parents)
    assert len(life.places) == 1 and life.steps[0].stage == "schema", "it also stood in a source of its own"
    assert all(id_ in told([life]) for id_, _ in life.parents)


def test_a_beginning_of_an_id_is_enough_where_no_other_begins_so(curated: Path) -> None:
    ids = sorted(row["id"] for row in read_lines(curated / "data/raw/examples.jsonl"))
    assert resolve(ids[0][:8], CURATION, curated) == ids[0]
    with pytest.raises(UserError, match=rf"ids begin with {ids[0][0]}: {ids[0]}, .*give more of it"):
        resolve(ids[0][0], CURATION, curated)


def test_an_id_that_was_never_seen_is_refused_with_where_to_look(curated: Path) -> None:
    with pytest.raises(UserError, match=r"no row .* begins with ffffffffffffffffffff\. .*quarantine.jsonl"):
        resolve("f" * 20, CURATION, curated)
    with pytest.raises(UserError, match="an id is 20 of the digits"):
        resolve("row 7", CURATION, curated)


def test_where_a_pass_has_not_run_the_life_ends_there(curated: Path, tmp_path: Path) -> None:
    shutil.copytree(curated / "data", tmp_path / "data")
    shutil.rmtree(tmp_path / "data/curated/bullets")
    id_ = ledger(curated, "exclamation")[0]["id"]
    (life,) = explain(id_, CURATION, tmp_path)
    assert life.end == "as far as bullets, which has not run on these rows; run `dvc repro`"


def test_the_answer_as_json_holds_everything(curated: Path) -> None:
    line = ledger(curated, "duplicate")[0]
    (life,) = json.loads(encode(explain(line["id"], CURATION, curated)))
    assert life["id"] == line["id"] and life["places"][0]["line"] >= 1 and life["twins"][0]["row"]["turns"]
    assert life["end"].startswith("dropped by duplicate")
