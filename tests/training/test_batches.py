from collections import Counter

import torch
from hypothesis import given
from hypothesis import strategies as st

from nightgarden.training.batches import collate, plan
from nightgarden.training.loss import labelled_loss

lengths = st.lists(st.integers(1, 400), min_size=1, max_size=60)


@given(lengths=lengths, batch_size=st.integers(1, 9), epochs=st.integers(1, 3), seed=st.integers(0, 99))
def test_every_row_is_seen_once_an_epoch_and_only_the_last_batch_is_smaller(
    lengths: list[int], batch_size: int, epochs: int, seed: int
) -> None:
    steps = plan(lengths, batch_size, epochs, seed)
    assert Counter(row for step in steps for row in step) == dict.fromkeys(range(len(lengths)), epochs)
    assert all(len(step) == batch_size for step in steps[:-1])
    assert 1 <= len(steps[-1]) <= batch_size


@given(lengths=lengths, batch_size=st.integers(1, 9), seed=st.integers(0, 99))
def test_the_longest_row_comes_in_the_first_batch(lengths: list[int], batch_size: int, seed: int) -> None:
    first = plan(lengths, batch_size, 1, seed)[0]
    assert max(lengths) == max(lengths[row] for row in first)


def test_half_an_epoch_sees_half_the_rows() -> None:
    steps = plan([10] * 40, 8, 0.5, seed=1)
    assert sorted(len(step) for step in steps) == [4, 8, 8]
    assert len({row for step in steps for row in step}) == 20


def test_equal_seeds_give_equal_orders_and_other_seeds_others() -> None:
    some = list(range(1, 200, 3))
    assert plan(some, 8, 2, seed=5) == plan(some, 8, 2, seed=5) != plan(some, 8, 2, seed=6)


def test_a_batch_of_like_lengths_costs_little_padding() -> None:
    some = [20 + (7 * row) % 180 for row in range(160)]
    padded = sum(len(step) * max(some[row] for row in step) for step in plan(some, 8, 1, seed=3))
    assert padded < 1.15 * sum(some)


def test_padding_without_a_mask_changes_no_loss(toy, encoded_rows) -> None:
    rows = [{"input_ids": row.ids, "labels": row.labels} for row in encoded_rows[:4]]
    assert len({len(row["input_ids"]) for row in rows}) > 1
    with torch.no_grad():
        together, count = labelled_loss(toy, **collate(rows, pad_id=2))
        alone = [labelled_loss(toy, **collate([row], pad_id=2)) for row in rows]
    assert count == sum(labelled for _, labelled in alone)
    assert torch.isclose(together, sum(loss for loss, _ in alone), rtol=1e-6)
