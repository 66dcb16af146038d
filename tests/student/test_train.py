"""Heads on small drawn vectors: what is learnt here is a direction in space, so that a fit takes a second."""

from pathlib import Path

import numpy as np
import pytest
import torch

from nightgarden import params
from nightgarden.errors import UserError
from nightgarden.records import Head, Lesson
from nightgarden.student import predict, train
from nightgarden.student.predict import Student

SETTINGS = params.load(Path(__file__).parents[2] / "params.yaml").night.student
DIMENSIONS = 16


def lesson(head: Head, number: int, *target: float, pair: str | None = None) -> Lesson:
    name = f"t{number}"
    return Lesson(
        id=f"{head}/{name}", head=head, text=name, pair=pair, target=target, by="user", night="2026-09-18", group=f"g{number}"
    )


def drawn(count: int) -> dict[str, np.ndarray]:
    """Unit vectors of the texts t0, t1, ..."""
    rows = np.random.default_rng(7).normal(size=(count, DIMENSIONS)).astype(np.float32)
    return {f"t{number}": row / np.linalg.norm(row) for number, row in enumerate(rows)}


VECTORS = drawn(240)


def learnable(head: Head, count: int = 200) -> list[Lesson]:
    """Lessons whose target follows from the first numbers of the vector (and the pair's)."""
    found = []
    for number in range(count):
        first = VECTORS[f"t{number}"][0]
        pair = f"t{(number * 7) % 240}" if head == "relevance" else None
        target = {
            "importance": (5.5 + 8 * float(first),),
            "appraisal": tuple(float(1 / (1 + np.exp(-6 * value))) for value in VECTORS[f"t{number}"][:6]),
            "reaction": (2.0 if first > 0.1 else 0.0 if first < -0.1 else 1.0,),
            "relevance": (float(VECTORS[f"t{number}"] @ VECTORS[pair or "t0"] > 0),),
            "interest": (float(1 / (1 + np.exp(-8 * first))),),
        }[head]
        found.append(lesson(head, number, *target, pair=pair))
    return found


ALL = [row for head in train.heads.ORDER for row in learnable(head)]


@pytest.fixture(scope="module")
def fitted() -> train.Fitted:
    return train.fit(ALL, VECTORS, SETTINGS)


@pytest.mark.parametrize("head", train.heads.ORDER)
def test_every_head_learns_what_can_be_learnt(fitted: train.Fitted, head: Head) -> None:
    unseen = learnable(head, 240)[200:]
    said = fitted.student.answers(head, *predict.stacked(unseen, VECTORS))
    assert said is not None
    truth = np.array([row.target for row in unseen])
    if head == "reaction":
        assert (said.argmax(1) == truth[:, 0]).mean() > 0.6
    elif head == "relevance":
        assert ((said[:, 0] > 0.5) == truth[:, 0]).mean() > 0.7
    else:
        assert ((said - truth) ** 2).mean() < 0.5 * truth.var(0).mean()


def test_equal_lessons_and_settings_give_equal_bytes(tmp_path: Path) -> None:
    few = [row for head in train.heads.ORDER for row in learnable(head, 60)]
    short = SETTINGS.model_copy(update={"max_epochs": 8})
    train.save(train.fit(few, VECTORS, short), "b1", short, tmp_path / "one")
    torch.manual_seed(99)
    train.save(train.fit(few, VECTORS, short), "b1", short, tmp_path / "two")
    for name in (predict.WEIGHTS, predict.CARD):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    other = short.model_copy(update={"seed": 1})
    train.save(train.fit(few, VECTORS, other), "b1", other, tmp_path / "three")
    assert (tmp_path / "one" / predict.WEIGHTS).read_bytes() != (tmp_path / "three" / predict.WEIGHTS).read_bytes()


def test_a_checkpoint_answers_as_the_student_that_wrote_it_and_only_on_its_backbone(fitted: train.Fitted, tmp_path: Path) -> None:
    train.save(fitted, "b1", SETTINGS, tmp_path)
    loaded = predict.load(tmp_path, "b1")
    for head in train.heads.ORDER:
        texts, pairs = predict.stacked(learnable(head, 5), VECTORS)
        before, after = fitted.student.answers(head, texts, pairs), loaded.answers(head, texts, pairs)
        assert before is not None and after is not None and (before == after).all()
    with pytest.raises(UserError, match="trained on the backbone b1, and the one at hand is b2"):
        predict.load(tmp_path, "b2")


def test_importance_and_interest_read_the_appraisal_heads_answer(fitted: train.Fitted) -> None:
    texts, _ = predict.stacked(learnable("importance", 5), VECTORS)
    without = Student({head: net for head, net in fitted.student.nets.items() if head != "appraisal"}, DIMENSIONS)
    for head, reads in (("importance", True), ("interest", True), ("reaction", False)):
        one, other = fitted.student.answers(head, texts), without.answers(head, texts)
        assert one is not None and other is not None
        assert bool((one != other).any()) == reads


def test_answers_stay_on_their_scales(fitted: train.Fitted) -> None:
    texts, pairs = predict.stacked(learnable("relevance", 40), VECTORS)
    for head, low, high in (("importance", 1, 10), ("appraisal", 0, 1), ("relevance", 0, 1), ("interest", 0, 1)):
        said = fitted.student.answers(head, texts * 50, pairs)
        assert said is not None and low <= said.min() and said.max() <= high
    reaction = fitted.student.answers("reaction", texts)
    assert reaction is not None and reaction.sum(1) == pytest.approx(1)
    assert predict.warmth(reaction) == pytest.approx(reaction[:, 2] - reaction[:, 0])


def test_a_head_with_too_few_lessons_is_not_trained_and_not_there() -> None:
    few = learnable("interest", train.FEWEST - 1) + learnable("reaction", train.FEWEST)
    small = train.fit(few, VECTORS, SETTINGS)
    assert set(small.fits) == {"reaction"}
    assert small.student.answers("interest", *predict.stacked(few[:2], VECTORS)) is None


def test_a_night_without_lessons_leaves_an_empty_student_that_loads(tmp_path: Path) -> None:
    train.save(train.fit([], {}, SETTINGS), "b1", SETTINGS, tmp_path)
    assert predict.load(tmp_path, "b1").nets == {}


def test_lessons_of_a_single_group_can_still_be_trained_on() -> None:
    together = [lesson("reaction", number, float(number % 3)) for number in range(12)]
    one_group = [type(row)(**{name: getattr(row, name) for name in row.__struct_fields__} | {"group": "g"}) for row in together]
    assert train.fit(one_group, VECTORS, SETTINGS).fits["reaction"].lessons == 12


def test_a_warm_start_begins_where_the_other_student_ended(fitted: train.Fitted) -> None:
    crawl = SETTINGS.model_copy(update={"learning_rate": 1e-7, "max_epochs": 1})
    cold = train.fit(learnable("importance"), VECTORS, crawl)
    warm = train.fit(learnable("importance"), VECTORS, crawl, start=fitted.student)
    assert warm.fits["importance"].loss < 0.5 * cold.fits["importance"].loss


def test_a_loss_that_is_not_finite_is_told_and_leaves_no_broken_weights() -> None:
    wild = SETTINGS.model_copy(update={"learning_rate": 1e30})
    broken = train.fit(learnable("importance"), VECTORS, wild)
    assert not broken.finite
    assert all(torch.isfinite(value).all() for value in broken.student.state().values())


def test_a_training_that_changes_nothing_is_a_bug_and_stops() -> None:
    asleep = SETTINGS.model_copy(update={"learning_rate": 1e-30})
    with pytest.raises(RuntimeError, match=r"moved the weights by .* only"):
        train.fit(learnable("reaction"), VECTORS, asleep)


def test_relevance_without_a_memory_is_refused(fitted: train.Fitted) -> None:
    texts, _ = predict.stacked(learnable("relevance", 5), VECTORS)
    with pytest.raises(ValueError, match="the memory vectors are missing"):
        fitted.student.answers("relevance", texts)
