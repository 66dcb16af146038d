"""Shared fixtures: the repository's root, the embedded models, a miniature repository, one Prefect server."""

import logging
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from nightgarden.stage import Place

# Before anything imports torch: two workers whose threads spin cost it a factor of ten on two cores; `make` says so too.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def repository() -> Path:
    """The checkout that is tested."""
    return ROOT


@pytest.fixture(scope="session")
def base_model(repository: Path) -> Path:
    """Folder of the embedded language model; `make setup` puts it there."""
    folder = repository / "models/base/smollm2-135m"
    assert (folder / "digests.json").is_file(), "the embedded model is missing; run `make setup`"
    return folder


@pytest.fixture(scope="session")
def embedder_model(repository: Path) -> Path:
    """Folder of the embedded sentence embedder; `make setup` puts it there."""
    folder = repository / "models/base/minilm"
    assert (folder / "digests.json").is_file(), "the embedder is missing; run `make setup`"
    return folder


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MB of its own; only root may mount one."""
    folder = tmp_path / "small_disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"this user may not mount a small file system: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture(scope="session")
def miniature_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny repository with git, DVC and three stages, built once; `fresh` beside it was brought up to date by hand."""
    from tests import miniature

    logging.getLogger("dvc").setLevel(logging.WARNING)
    root = miniature.build(tmp_path_factory.mktemp("miniature") / "unmade")
    miniature.reproduce_by_hand(shutil.copytree(root, root.parent / "made", symlinks=True))
    return root.parent


@pytest.fixture
def unmade(miniature_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A copy of the tiny repository to stand in, nothing reproduced; `../log` collects the stages that really run."""
    return _stand_in(miniature_template / "unmade", tmp_path, monkeypatch)


@pytest.fixture
def made(miniature_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The same, brought up to date by a bare `dvc repro` and committed."""
    return _stand_in(miniature_template / "made", tmp_path, monkeypatch)


def _stand_in(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    root = shutil.copytree(template, tmp_path / "checkout", symlinks=True)
    monkeypatch.chdir(root)
    monkeypatch.setenv("MINIATURE_LOG", str(tmp_path / "log"))
    for name in ("NIGHTGARDEN_STATE", "MLFLOW_TRACKING_URI", "NIGHTGARDEN_FLOW_RUN_ID"):
        monkeypatch.delenv(name, raising=False)
    state = root / ".nightgarden"
    return Place(root=root, state=state, tracking_uri=f"sqlite:///{state}/mlflow.db")


@pytest.fixture(scope="session")
def prefect_server() -> Iterator[None]:
    """One temporary Prefect server for the whole session; a start takes 9 to 15 s."""
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=120):
        yield
