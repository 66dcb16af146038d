from pathlib import Path

from transformers.trainer_utils import get_last_checkpoint

from nightgarden.training import resume


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


def test_other_data_settings_or_machine_have_other_checkpoints_and_are_left_alone(tmp_path: Path) -> None:
    identity = {"dataset": "a", "training": {"learning_rate": 1e-4}}
    names = [
        resume.fingerprint(identity, "cpu, 2 threads"),
        resume.fingerprint(identity, "cpu, 1 threads"),
        resume.fingerprint(identity | {"dataset": "b"}, "cpu, 2 threads"),
        resume.fingerprint(identity | {"training": {"learning_rate": 2e-4}}, "cpu, 2 threads"),
    ]
    assert len(set(names)) == 4
    for name in names:
        checkpoint(resume.folder(tmp_path, name), 10)
    resume.clear(resume.folder(tmp_path, names[0]))
    left = [resume.last_whole(resume.folder(tmp_path, name)) for name in names]
    assert [found is None for found in left] == [True, False, False, False]
