import shutil
from pathlib import Path

from transformers.trainer_utils import get_last_checkpoint

from nightgarden.digests import source_digest
from nightgarden.training import resume

IDENTITY = {"dataset": "a", "training": {"learning_rate": 1e-4}}


def checkpoint(place: Path, step: int, *, marked: bool = True) -> Path:
    made = place / f"checkpoint-{step}"
    made.mkdir(parents=True)
    (made / "adapter_model.safetensors").write_bytes(b"weights" * step)
    (made / "optimizer.pt").write_bytes(b"moments" * step)
    if marked:
        resume.mark(made, step)
    return made


def test_the_latest_whole_checkpoint_is_taken(tmp_path: Path) -> None:
    for step in (5, 20, 100):
        checkpoint(tmp_path, step)
    found = resume.last_whole(tmp_path)
    assert found is not None and found.step == 100 and found.folder == tmp_path / "checkpoint-100"


def test_a_half_written_checkpoint_is_never_taken(tmp_path: Path) -> None:
    checkpoint(tmp_path, 10)
    half = checkpoint(tmp_path, 20, marked=False)
    assert get_last_checkpoint(tmp_path) == str(half), "transformers alone would resume from the half"
    found = resume.last_whole(tmp_path)
    assert found is not None and found.step == 10
    assert not half.exists()


def test_a_checkpoint_whose_files_were_cut_after_the_marker_is_not_taken(tmp_path: Path) -> None:
    (checkpoint(tmp_path, 10) / "optimizer.pt").write_bytes(b"mom")
    (checkpoint(tmp_path, 20) / "adapter_model.safetensors").unlink()
    assert resume.last_whole(tmp_path) is None


def test_no_checkpoint_means_from_the_start(tmp_path: Path) -> None:
    assert resume.last_whole(tmp_path / "never") is None


def test_other_data_settings_machine_or_code_have_other_checkpoints_and_are_left_alone(tmp_path: Path) -> None:
    places = [
        resume.folder(tmp_path, resume.made_from(identity, machine, code))
        for identity, machine, code in (
            (IDENTITY, "cpu, 2 threads", "c"),
            (IDENTITY, "cpu, 1 threads", "c"),
            (IDENTITY, "cpu, 2 threads", "edited"),
            (IDENTITY | {"dataset": "b"}, "cpu, 2 threads", "c"),
            (IDENTITY | {"training": {"learning_rate": 2e-4}}, "cpu, 2 threads", "c"),
        )
    ]
    assert len(set(places)) == 5
    assert resume.folder(tmp_path, resume.made_from(dict(IDENTITY), "cpu, 2 threads", "c")) == places[0]
    for place in places:
        checkpoint(place, 10)
    resume.clear(places[0])
    assert [resume.last_whole(place) is None for place in places] == [True, False, False, False, False]


def test_a_training_that_starts_anew_beside_others_says_in_what_the_nearest_differs(tmp_path: Path) -> None:
    first = resume.made_from(IDENTITY, "cpu, 2 threads", "c")
    place = resume.folder(tmp_path, first)
    assert resume.begin(place, first) is None, "no checkpoint of any training lies there"
    checkpoint(place, 10)
    assert resume.begin(place, first) is None, "it goes on"
    edited = resume.made_from(IDENTITY, "cpu, 2 threads", "edited")
    why = resume.begin(resume.folder(tmp_path, edited), edited)
    assert why == f"the checkpoints in {place} are of a training that differs in code; they are left alone"
    other = resume.made_from(IDENTITY | {"dataset": "b"}, "cpu, 1 threads", "c")
    assert "differs in dataset, machine;" in (resume.begin(resume.folder(tmp_path, other), other) or "")


def test_an_edit_of_the_training_of_a_template_or_of_loading_has_another_code_digest(repository: Path, tmp_path: Path) -> None:
    before = source_digest(resume.CODE)
    for file in ("training/loss.py", "training/trainer.py", "templates/smollm2.jinja", "models/load.py"):
        package = shutil.copytree(repository / "nightgarden", tmp_path / file.replace("/", "-"))
        assert source_digest(resume.CODE, package) == before, "two checkouts of the same code agree"
        with (package / file).open("a") as source:
            source.write("\n")
        assert source_digest(resume.CODE, package) != before, file
