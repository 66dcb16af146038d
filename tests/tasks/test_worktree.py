"""A run with overrides: a worktree of its own, from the tree as it lies there; the checkout stays as it was."""

import json
import shutil
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from nightgarden.errors import UserError
from nightgarden.stage import Place
from tasks import reproduce, worktree
from tasks.overrides import BuildForm
from tests.miniature import git


def train(place: Place) -> list[str]:
    """Bring a tree's adapter up to date with the tasks as plain functions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduce, "stage_task", reproduce.stage_task.fn)
        patch.setattr(reproduce, "fresh_task", reproduce.fresh_task.fn)
        with reproduce.pipeline(place) as opened:
            return opened.reproduce("train")


def state_of(root: Path) -> tuple[str, str, str]:
    """What the user would notice: status, HEAD, and the index."""
    return git(root, "status", "--porcelain"), git(root, "rev-parse", "HEAD"), git(root, "ls-files", "--stage")


def test_a_run_without_overrides_works_in_the_checkout(made: Place) -> None:
    with worktree.workplace(BuildForm()) as place:
        assert place.root == made.root
    assert git(made.root, "branch").split() == ["*", "main"]


def test_an_override_runs_elsewhere_and_leaves_the_checkout_clean(made: Place, tmp_path: Path) -> None:
    before = state_of(made.root)
    with worktree.workplace(BuildForm(rank=4)) as place:
        assert place.root.is_relative_to(made.state) and place.root != made.root
        assert train(place) == ["train"], "everything else came out of the cache that both trees share"
    assert state_of(made.root) == before and before[0] == ""
    assert train(made) == [], "DVC does not take the worktree below the checkout for a part of it"
    assert json.loads((place.root / "reports/training.json").read_text())["rank"] == 4
    assert json.loads((made.root / "reports/training.json").read_text())["rank"] == 16
    assert (tmp_path / "log").read_text().split() == ["train"]
    assert git(place.root, "status", "--porcelain") == ""
    subjects = git(place.root, "log", "--format=%s", "-3").splitlines()
    name = place.root.name
    assert subjects == [f"Results of run/{name}", f"Settings of run/{name}", f"Snapshot for run/{name}"]
    assert "rank: 4" in (place.root / "params.yaml").read_text()
    assert "# Everything that changes a result" in (place.root / "params.yaml").read_text(), "comments stay"


def test_uncommitted_edits_and_untracked_files_are_seen_and_the_index_does_not_move(made: Place) -> None:
    (made.root / "data/seed/rows/rows.txt").write_text("edited, not committed\n")
    (made.root / "data/seed/rows/more.txt").write_text("untracked\n")
    (made.root / "staged.txt").write_text("staged\n")
    (made.root / ".env").write_text("SECRET=1\n")
    (made.root / ".gitignore").open("a").write(".env\n")
    git(made.root, "add", "staged.txt")
    before = state_of(made.root)
    with worktree.workplace(BuildForm(rank=4)) as place:
        assert (place.root / "data/seed/rows/rows.txt").read_text() == "edited, not committed\n"
        assert (place.root / "data/seed/rows/more.txt").is_file() and (place.root / "staged.txt").is_file()
        assert not (place.root / ".env").exists(), "ignored files stay where they are"
    assert state_of(made.root) == before


def test_a_base_model_is_linked_hashes_as_in_the_checkout_and_never_enters_git(made: Place) -> None:
    with worktree.workplace(BuildForm(prompts=8)) as place:
        assert (place.root / "models/base/tiny").is_symlink()
        assert train(place) == [], "a setting that no stage of the miniature reads; the linked model is the same input"
    assert "models/base" not in git(place.root, "ls-files")


def test_the_users_own_file_becomes_a_source_that_dvc_keeps_and_git_does_not(made: Place, tmp_path: Path) -> None:
    given = tmp_path / "My chats (2026); touch X.jsonl"
    given.write_text('{"instruction": "own row"}\n')
    with worktree.workplace(BuildForm(input_file=str(given))) as place:
        assert train(place) == ["funnel", "gate@short", "train"]
    key = "input_my_chats_2026_touch_x"
    source = yaml.safe_load((place.root / "params.yaml").read_text())["curation"]["sources"][key]
    assert source == {"path": f"data/inbox/{key}.jsonl", "op": 0}
    assert "own row" in (place.root / "data/rows.txt").read_text()
    assert git(place.root, "ls-files", "data/inbox").split() == ["data/inbox/.gitignore", f"data/inbox/{key}.jsonl.dvc"]
    assert git(made.root, "status", "--porcelain") == ""


@pytest.mark.parametrize("field", [{"base": "x; touch X"}, {"base": "no-such-model"}])
def test_a_value_that_params_yaml_could_not_hold_is_refused_before_anything_is_made(made: Place, field: dict) -> None:
    with pytest.raises(UserError, match="is not valid"), worktree.workplace(BuildForm(**field)):
        pass
    assert git(made.root, "branch").split() == ["*", "main"] and not (made.state / "runs").exists()
    assert not (made.root / "X").exists()


@pytest.mark.parametrize(
    "field", [{"rank": "4; touch X"}, {"rank": 0}, {"held_out": 0.9}, {"exclamation_scope": "x"}, {"rnak": 4}]
)
def test_a_bad_value_is_refused_by_the_form_itself(field: dict) -> None:
    with pytest.raises(ValidationError):
        BuildForm(**field)


@pytest.mark.parametrize("given", ["no/such.jsonl", "params.yaml"])
def test_an_input_that_is_missing_or_of_another_kind_is_named(made: Place, given: str) -> None:
    with (
        pytest.raises(UserError, match=r"give a file that exists and whose name ends in"),
        worktree.workplace(BuildForm(input_file=given)),
    ):
        pass


def test_a_run_that_fails_leaves_its_tree_to_look_at(made: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIATURE", "train:refuse")
    with pytest.raises(Exception, match="only 3 rows"), worktree.workplace(BuildForm(rank=4)) as place:
        train(place)
    assert git(place.root, "log", "--format=%s", "-1").startswith("Results of")
    assert git(made.root, "status", "--porcelain") == ""


def test_an_input_without_a_row_is_refused_before_anything_is_made(made: Place, tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_text("[]")
    form = BuildForm(input_file=str(tmp_path / "empty.json"))
    with pytest.raises(UserError, match="holds no row"), worktree.workplace(form):
        pass
    assert not (made.state / "runs").exists()


def test_a_commit_that_fails_does_not_hide_why_the_run_failed(made: Place) -> None:
    form = BuildForm(rank=4)
    with pytest.raises(UserError, match="only 3 rows"), worktree.own_tree(made, "locked", form) as place:
        locked(place)
        raise UserError("only 3 rows")
    with pytest.raises(UserError, match="index.lock"), worktree.own_tree(made, "locked", form):
        pass


def locked(place: Place) -> None:
    """As a git that was killed leaves a tree: with something to commit and its index locked."""
    (place.root / git(place.root, "rev-parse", "--git-path", "index").strip()).with_suffix(".lock").touch()
    (place.root / "note.txt").write_text("left\n")


def test_a_commit_needs_no_git_identity(made: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    git(made.root, "config", "--unset", "user.name")
    git(made.root, "config", "--unset", "user.email")
    git(made.root, "config", "user.useConfigOnly", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    with worktree.workplace(BuildForm(rank=4)) as place:
        assert "Nightgarden" in git(place.root, "log", "-1", "--format=%an")


def test_outside_a_checkout_the_message_says_where_to_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="start from the root of the checkout"):
        worktree.here()


def test_the_same_run_again_finds_its_worktree_and_another_does_not(made: Place) -> None:
    form = BuildForm(rank=4)
    name = worktree.name_by_content("demo", made, form)
    assert name == worktree.name_by_content("demo", made, form) != worktree.name_by_content("demo", made, BuildForm(rank=5))
    with worktree.own_tree(made, name, form) as place:
        (place.root / "note.txt").write_text("of the first run\n")
    with worktree.own_tree(made, name, form) as place:
        assert (place.root / "note.txt").is_file()
    (made.root / "data/seed/rows/rows.txt").write_text("edited\n")
    assert worktree.name_by_content("demo", made, form) != name


def test_a_worktree_that_was_cut_off_is_made_anew(made: Place) -> None:
    form = BuildForm(rank=4)
    with worktree.own_tree(made, "cut", form) as place:
        (place.root / worktree.READY).unlink()
        (place.root / "params.yaml").write_text("half")
    with worktree.own_tree(made, "cut", form) as place:
        assert "rank: 4" in (place.root / "params.yaml").read_text()


def test_a_worktree_whose_folder_was_removed_is_made_anew_and_its_results_are_kept(made: Place) -> None:
    form = BuildForm(rank=4)
    with worktree.own_tree(made, "lost", form) as place:
        (place.root / "note.txt").write_text("of the first run\n")
    results = git(made.root, "rev-parse", "--short", "run/lost").strip()
    shutil.rmtree(place.root)
    with worktree.own_tree(made, "lost", form) as place:
        assert "rank: 4" in (place.root / "params.yaml").read_text() and not (place.root / "note.txt").exists()
    assert git(made.root, "show", f"run/lost-{results}:note.txt") == "of the first run\n"


def test_a_folder_that_is_no_worktree_does_not_stand_in_the_way(made: Place) -> None:
    (made.state / "runs/mine").mkdir(parents=True)
    with worktree.own_tree(made, "mine", BuildForm(rank=4)) as place:
        assert "rank: 4" in (place.root / "params.yaml").read_text()


def test_equal_files_of_two_names_are_two_runs(made: Place, tmp_path: Path) -> None:
    names = set()
    for name in ("a.jsonl", "b.jsonl", "a.json"):
        (tmp_path / name).write_text('{"prompt": "Hi", "completion": "Hello."}\n')
        names.add(worktree.name_by_content("demo", made, BuildForm(input_file=str(tmp_path / name))))
    assert len(names) == 3


def test_a_state_folder_that_git_sees_is_refused(made: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NIGHTGARDEN_STATE", "mystate")
    with pytest.raises(UserError, match="git sees the state folder"), worktree.workplace(BuildForm(rank=4)):
        pass
