from pathlib import Path

import numpy as np
import pytest
import torch

from nightgarden.errors import UserError
from nightgarden.models import specs
from nightgarden.models.embed import Embedder, pool, pooling_of

ROOT = Path(__file__).parents[2]

TEXTS = (
    "A cat sat.",
    "The boiler in the cellar makes a knocking sound after ten at night, and nobody in the house knows why.",
    "",
    "Ü",
    "word " * 400,
)
# First six numbers of each vector as sentence-transformers 6.2.0 gives them on the same folder.
SENTENCE_TRANSFORMERS = (
    (0.125765, -0.007791, -0.008707, 0.059708, -0.134816, 0.013153),
    (0.054431, -0.023096, 0.022638, 0.098625, 0.028223, -0.050394),
    (-0.118838, 0.048299, -0.002548, -0.011011, 0.051951, 0.010292),
    (-0.049835, 0.04741, 0.020757, 0.003688, 0.029071, -0.069104),
    (-0.008124, -0.095586, -0.038673, 0.049662, -0.043794, 0.02372),
)


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder(ROOT / specs.EMBEDDER)


def test_vectors_equal_those_of_sentence_transformers(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (5, 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors[:, :6], SENTENCE_TRANSFORMERS, atol=2e-6)


def test_rows_are_unit_vectors_in_the_order_of_the_texts(embedder: Embedder) -> None:
    vectors = embedder.embed(["one", "a much longer text about two ferries", "one"])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert (vectors[0] == vectors[2]).all()
    assert not (vectors[0] == vectors[1]).all()


def test_the_same_texts_give_the_same_bytes_in_any_order(embedder: Embedder) -> None:
    texts = [f"note {number}: " + "tide " * number for number in range(40)]
    forward, backward = embedder.embed(texts), embedder.embed(texts[::-1])
    assert forward.tobytes() == backward[::-1].tobytes()


def test_no_text_gives_no_row(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, 384)


def test_texts_that_are_cut_are_counted_aloud(embedder: Embedder, caplog: pytest.LogCaptureFixture) -> None:
    embedder.embed(["word " * 400, "short"])
    assert "1 of 2 texts are longer than 256 tokens" in caplog.text


@pytest.mark.parametrize(("side", "last"), [("right", 1), ("left", 3)])
def test_last_token_is_found_by_the_mask_on_either_side(side: str, last: int) -> None:
    states = torch.arange(8, dtype=torch.float32).reshape(1, 4, 2) + 1
    mask = torch.tensor([[1, 1, 0, 0]] if side == "right" else [[0, 0, 1, 1]])
    expected = torch.nn.functional.normalize(states[:, last], dim=1)
    assert torch.equal(pool(states, mask, "last"), expected)


def test_mean_leaves_padding_out() -> None:
    states = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [99.0, 99.0]]])
    pooled = pool(states, torch.tensor([[1, 1, 0]]), "mean")
    torch.testing.assert_close(pooled, torch.full((1, 2), 0.5**0.5))


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ('{"pooling_mode_lasttoken": true, "pooling_mode_mean_tokens": false}', "last"),
        ('{"pooling_mode_mean_tokens": true, "pooling_mode_lasttoken": false}', "mean"),
    ],
)
def test_pooling_is_read_from_the_folder(tmp_path: Path, config: str, expected: str) -> None:
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text(config)
    assert pooling_of(tmp_path) == expected


@pytest.mark.parametrize("config", ['{"pooling_mode_cls_token": true}', "{}"])
def test_a_pooling_that_is_not_known_is_named(tmp_path: Path, config: str) -> None:
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text(config)
    with pytest.raises(UserError, match="pooling_mode_lasttoken"):
        pooling_of(tmp_path)
