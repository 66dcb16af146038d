from pathlib import Path

import numpy as np

from nightgarden.student.backbone import Backbone

TEXTS = ["The dyke seeps.", "Edda ties a bowline with her eyes shut, twice, and asks for a longer rope.", "Lotte gets her plank."]


def test_a_text_has_the_same_bytes_whatever_was_embedded_beside_it(embedder_model: Path, tmp_path: Path) -> None:
    together = Backbone(embedder_model, tmp_path / "a").vectors(TEXTS)
    alone = Backbone(embedder_model, tmp_path / "b")
    for text in reversed(TEXTS):
        assert alone.vectors([text])[text].tobytes() == together[text].tobytes()


def test_vectors_are_kept_and_only_new_texts_are_computed(embedder_model: Path, tmp_path: Path, monkeypatch) -> None:
    first = Backbone(embedder_model, tmp_path).vectors(TEXTS[:2])
    second = Backbone(embedder_model, tmp_path)
    monkeypatch.setattr(second._embedder, "embed", lambda texts: np.full((len(texts), 384), 2, dtype=np.float32))
    found = second.vectors([*TEXTS, TEXTS[0]])
    assert list(found) == TEXTS
    assert (found[TEXTS[0]] == first[TEXTS[0]]).all()
    assert (found[TEXTS[2]] == 2).all()


def test_no_text_needs_no_model(embedder_model: Path, tmp_path: Path) -> None:
    assert Backbone(embedder_model, tmp_path).vectors([]) == {}
    assert not (tmp_path / "embeddings").exists()
