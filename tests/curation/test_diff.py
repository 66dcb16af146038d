"""`nightgarden diff` on a real repository of git and DVC, whose dataset changed in every way that a row can."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from dvc.repo import Repo

from nightgarden.curation.diff import KINDS, Diff, diff
from nightgarden.curation.diff_views import as_markdown, as_page, as_text
from nightgarden.curation.texts import spans
from nightgarden.errors import UserError
from tests.curation.rows import ROOT, curate, passes, read_lines, settings, write_lines
from tests.miniature import dvc, git

OUTS = [
    *(f"data/dataset/{side}.jsonl" for side in ("train", "held_out")),
    *(f"data/curated/{name}ledger.jsonl" for name in ("", "rebalance/")),
    *(f"data/raw/{name}.jsonl" for name in ("positions", "quarantine")),
]
SOURCE = "data/seed/examples/op0_bootstrap.jsonl"
OF_OP_2 = "data/seed/examples/op2_context_supremacy.jsonl"


def take_in(root: Path, curated: Path, message: str) -> None:
    """Let a stage make the files that curation left in another folder, and commit."""
    for out in OUTS:
        (root / "made" / out).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(curated / out, root / "made" / out)
    dvc(root, "repro")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", message)


def changed(root: Path) -> Path:
    """The seed as a second version: lines gone, broken, edited and under another op; marks repaired, more held out."""
    shutil.copytree(ROOT / "data/seed", root / "data/seed", ignore=shutil.ignore_patterns("days", "labels"))
    lines = (root / SOURCE).read_text().splitlines()
    lines[0] = '{"broken": '
    lines[3] = lines[3].replace(" the ", " a ")
    moved = [json.loads(line) for line in lines[20:26]]
    del lines[20:26], lines[10:13]
    (root / SOURCE).write_text("\n".join(lines) + "\n")
    with (root / OF_OP_2).open("a") as file:
        file.writelines(json.dumps(row | {"op": 2}) + "\n" for row in moved)
    curate(settings(passes=passes(exclamation={"on_hit": "repair"}), split={"held_out": 0.12}), root)
    return root


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory, curated: Path) -> Path:
    """Two commits with the two versions; a third one that changes nothing of them; and `old`, whose files lack newer fields."""
    root = tmp_path_factory.mktemp("versions")
    outs = "".join(f"      - {out}\n" for out in OUTS)
    (root / "dvc.yaml").write_text(f"stages:\n  curate:\n    cmd: cp -r made/data .\n    deps: [made]\n    outs:\n{outs}")
    (root / "params.yaml").write_text((ROOT / "params.yaml").read_text())
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", "Ines")
    git(root, "config", "user.email", "ines@localhost")
    Repo.init(str(root)).close()
    take_in(root, curated, "The seed")
    git(root, "tag", "one")
    take_in(root, changed(tmp_path_factory.mktemp("changed")), "Another version")
    git(root, "tag", "two")
    return root


@pytest.fixture(scope="module")
def found(repository: Path) -> Diff:
    return diff("one", "two", repository)


def ids(repository: Path, name: str) -> dict[str, tuple[int, str]]:
    """Row id -> op and side, as the version's own files tell it."""
    git(repository, "checkout", "-q", name)
    dvc(repository, "checkout")
    sides = {side: read_lines(repository / f"data/dataset/{side}.jsonl") for side in ("train", "held_out")}
    return {row["id"]: (row["op"], side) for side, rows in sides.items() for row in rows}


def test_every_row_of_both_versions_is_accounted_for(found: Diff, repository: Path) -> None:
    one, two = ids(repository, "one"), ids(repository, "two")
    gone = {change.old.id for change in found.changes if change.old}
    come = {change.new.id for change in found.changes if change.new}
    assert (one.keys() - gone) == (two.keys() - come), "what did not change is there as it was"
    assert all(one[id_] == two[id_] for id_ in one.keys() - gone)
    assert found.before == [Counter(op for op, _ in one.values())[op] for op in range(4)]
    assert found.after == [Counter(op for op, _ in two.values())[op] for op in range(4)]
    for change in found.changes:
        assert change.sides == (one[change.old.id][1] if change.old else "", two[change.new.id][1] if change.new else "")


def test_removed_rows_say_which_pass_took_them_that_their_line_is_broken_or_that_no_source_has_them(found: Diff) -> None:
    reasons = Counter(re.split("[:;]", change.reason)[0] for change in found.of("removed"))
    assert reasons["no source of two holds it"] >= 2
    assert reasons["two has its line in quarantine"] == 1
    assert reasons["dropped by rebalance in two"] >= 1
    assert all(change.new is None and change.old for change in found.of("removed"))


def test_added_rows_say_what_had_taken_them(found: Diff) -> None:
    repaired = [change for change in found.of("added") if change.new.meta.get("edits")]
    assert len(repaired) >= 15
    for change in repaired:
        parent = change.new.meta["edits"][0]["parent"]
        assert change.reason.startswith(f"its parent {parent}: dropped by exclamation in one: exclamation mark in prose")


def test_an_edited_line_is_one_row_and_a_row_of_another_op_or_side_moved(found: Diff) -> None:
    (edited,) = found.of("edited")
    assert edited.old.op == edited.new.op == 0 and "3-grams in common" in edited.reason
    reasons = Counter(change.reason for change in found.of("moved"))
    assert reasons["from op 0 to op 2"] >= 1
    assert reasons["from train to held_out"] >= 3


def test_the_other_way_round_added_and_removed_change_places(found: Diff, repository: Path) -> None:
    back = diff("two", "one", repository)
    assert {change.new.id for change in back.of("added")} == {change.old.id for change in found.of("removed")}
    assert len(back.of("moved")) == len(found.of("moved"))


def test_a_version_does_not_differ_from_itself_nor_from_the_tree_that_holds_it(repository: Path) -> None:
    assert diff("two", "two~0", repository).changes == []
    ids(repository, "two")
    assert diff("two", "workspace", repository).changes == []


def test_a_repaired_row_and_what_it_was_repaired_from_are_one_row_edited(repository: Path, curated: Path) -> None:
    """The workspace as if the marks had stayed: the parents of the repaired rows in their place."""
    ids(repository, "two")
    path = repository / "data/dataset/train.jsonl"
    raw = {row["id"]: row for row in read_lines(curated / "data/raw/examples.jsonl")}
    rows = read_lines(path)
    parents = [row["meta"]["edits"][0]["parent"] if "edits" in row["meta"] else "" for row in rows]
    path.unlink()
    write_lines(path, [raw.get(parent, row) for row, parent in zip(rows, parents, strict=True)])
    edited = diff("two", "workspace", repository).of("edited")
    assert len(edited) == sum(map(bool, parents)) >= 10
    assert {change.reason for change in edited} == {"repaired by exclamation"}
    dvc(repository, "checkout", "--force")


def test_files_of_an_older_layout_are_read(repository: Path, tmp_path: Path) -> None:
    """Ledger lines without `into` and snippets, no quarantine: what the first version of this repository wrote."""
    root = tmp_path / "old"
    shutil.copytree(repository, root, symlinks=True)
    git(root, "checkout", "-q", "one")
    for out in OUTS:
        lines = read_lines(root / "made" / out)
        for line in lines:
            line.pop("into", None)
            line.pop("engine", None)
            line["of_another_time"] = True
        (root / "made" / out).write_text("".join(json.dumps(line) + "\n" for line in lines))
    (root / "made/data/raw/quarantine.jsonl").unlink()
    text = (root / "dvc.yaml").read_text()
    (root / "dvc.yaml").write_text(text.replace("      - data/raw/quarantine.jsonl\n", ""))
    dvc(root, "repro")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Older files")
    assert {change.kind for change in diff("HEAD", "two", root).changes} == set(KINDS)
    assert diff("HEAD", "one", root).changes == []
    older = diff("HEAD", "one", root)
    assert len(older.other_meta) == sum(older.before) > 500, "the lines differ, the rows do not"


def test_a_dataset_that_the_cache_lacks_is_refused_with_the_way_to_get_it(repository: Path, tmp_path: Path) -> None:
    root = tmp_path / "bare"
    shutil.copytree(repository, root, symlinks=True)
    shutil.rmtree(root / ".dvc/cache")
    with pytest.raises(UserError, match="`dvc fetch --all-commits data/dataset/train.jsonl` brings it"):
        diff("one", "two", root)


def test_each_view_names_every_kind_its_counts_and_its_reasons(found: Diff) -> None:
    views = {"text": as_text(found), "page": as_page(found), "markdown": as_markdown(found)}
    for name, view in views.items():
        for kind in KINDS:
            assert kind in view and found.of(kind), name
            assert found.of(kind)[0].row.id in view, name
        assert "dropped by rebalance in two" in view and "from train to held\\_out" in view.replace("held_out", "held\\_out"), (
            name
        )
    assert "… and" in views["text"], "it says that it shows not all"
    assert "http" not in re.sub(r"https?://[^ ]*", "", "") + "".join(re.findall(r"(?:src|href)=\"([^\"]*)", views["page"]))
    assert "<ins>a</ins>" in views["page"] and "<del>the</del>" in views["page"]
    assert "{+a+}" in views["text"]


def test_the_words_of_both_texts_can_be_read_back_from_the_spans() -> None:
    old, new = "Test is on the 14th. Help!", "Test is on a 14th.\nHelp me."
    found = spans(old, new)
    assert "".join(span.text for span in found if span.sign != "+") == old
    assert "".join(span.text for span in found if span.sign != "-") == new


def test_the_command_prints_json_and_writes_both_files(repository: Path, tmp_path: Path) -> None:
    page, markdown = tmp_path / "d.html", tmp_path / "d.md"
    command = [sys.executable, "-m", "nightgarden", "diff", "one", "two", "--html", page, "--markdown", markdown, "--json"]
    answer = subprocess.run(command, cwd=repository, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, check=True)
    told = json.loads(answer.stdout)
    assert {change["kind"] for change in told["changes"]} == set(KINDS)
    assert page.read_text().startswith("<!doctype html>") and markdown.read_text().startswith("### Dataset: one")
