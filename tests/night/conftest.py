"""Three nights of written lessons, frozen and labelled, of which two are distilled; made once."""

from pathlib import Path

import pytest

from nightgarden import params
from nightgarden.models import specs
from nightgarden.night import freeze, steps
from nightgarden.stage import Place
from nightgarden.teacher.label import label
from tests.night.written import write_evening

EVENINGS = {  # night: replies from, to, memories
    "2026-11-01": (0, 8, slice(0, 14)),
    "2026-11-02": (8, 20, slice(14, 34)),
    "2026-11-03": (20, 24, slice(34, 40)),
}


@pytest.fixture(scope="session")
def nights(tmp_path_factory: pytest.TempPathFactory, repository: Path, embedder_model: Path) -> Place:
    """The place that holds them; tests that write work on the third night or on a copy."""
    root = tmp_path_factory.mktemp("nights")
    (root / specs.BASE).mkdir(parents=True)
    (root / specs.EMBEDDER).symlink_to(embedder_model)
    place = Place(root=root, state=root / "state", tracking_uri="none")
    settings = params.load(repository / "params.yaml")
    for night, (start, stop, memories) in EVENINGS.items():
        day, labels = write_evening(root / "written", night, start, stop, memories)
        freeze.freeze(night, [day], [labels], None, root)
        label(night, settings, root, place)
    for night in ("2026-11-01", "2026-11-02"):
        steps.distil(night, settings, root, place)
    return place
