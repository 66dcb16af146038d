"""TRL's trainer under our loss, order and guards, on a toy model with the real vocabulary and real rows."""

import copy
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import TrainerCallback
from trl import SFTTrainer

from nightgarden import clock, jsonl
from nightgarden.errors import Refusal, UserError
from nightgarden.templates.registry import IGNORED
from nightgarden.training import adapter, loss, resume
from nightgarden.training.batches import Row
from nightgarden.training.trainer import FiniteGuard, LabelledTrainer, Work, build
from tests.training.rows import settings

TRAINING = {"batch_size": 4, "micro_batch": 4, "checkpoint_steps": 100, "learning_rate": 1e-2}


@pytest.fixture
def work(encoded_rows: tuple[Row, ...], tokenizer: Any, tmp_path: Path) -> Work:
    steps = [encoded_rows[start : start + 4] for start in range(0, 16, 4)]
    known = settings(**TRAINING).training
    return Work(steps=steps, settings=known, checkpoints=tmp_path, tokenizer=tokenizer, clock=clock.system_clock)


def curve(trainer: LabelledTrainer) -> list[float]:
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def trainable(model: Any) -> list[torch.Tensor]:
    return [p.detach().clone() for p in model.parameters() if p.requires_grad]


class Poison(TrainerCallback):
    """Turns one gradient into NaN at the second step, as an overflow would."""

    def on_step_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        if state.global_step == 1:
            target = next(p for p in model.parameters() if p.requires_grad)
            target.register_hook(lambda gradient: gradient * math.nan)


def test_rows_reach_the_loss_in_the_planned_order_with_their_labels(toy, work) -> None:
    batches = list(build(adapter.fresh(toy, work.settings), work).get_train_dataloader())
    seen = [[(ids, labels) for ids, labels in zip(*batch.values(), strict=True)] for batch in batches]
    for step, batch in zip(work.steps, seen, strict=True):
        for row, (ids, labels) in zip(step, batch, strict=True):
            assert ids[: len(row.ids)].tolist() == row.ids
            assert labels[: len(row.ids)].tolist() == row.labels
            assert set(labels[len(row.ids) :].tolist()) <= {IGNORED}


def test_accumulated_micro_batches_make_the_same_step_as_one_batch(toy, work) -> None:
    curves, weights = [], []
    for micro in (4, 1):
        model = adapter.fresh(copy.deepcopy(toy), work.settings)
        trainer = build(model, replace(work, settings=work.settings.model_copy(update={"micro_batch": micro})))
        trainer.train()
        curves.append(curve(trainer))
        weights.append(trainable(model))
    assert len(curves[0]) == 4
    assert curves[0] == pytest.approx(curves[1], rel=1e-5)
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(*weights, strict=True))


def test_the_loss_is_the_models_own_and_only_the_adapter_moves(toy, work) -> None:
    model = adapter.fresh(toy, work.settings)
    row = work.steps[0][0]
    loss.require_models_own(model, row)
    frozen = [p.detach().clone() for p in model.parameters() if not p.requires_grad]
    before = trainable(model)
    trainer = build(model, work)
    trainer.train()
    assert curve(trainer)[-1] < curve(trainer)[0]
    assert all(torch.equal(a, b) for a, b in zip(frozen, [p for p in model.parameters() if not p.requires_grad], strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(before, trainable(model), strict=True))


class StopAt(TrainerCallback):
    """Ends a run after a step, as a kill between two steps would."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        control.should_training_stop = state.global_step == self.step
        return control


@pytest.mark.parametrize("stop", [1, 3, 4])
def test_a_resumed_run_is_the_uninterrupted_one_with_dropout_and_accumulation(toy, work, stop: int) -> None:
    """Stopping after the last step is a kill between training and outputs."""
    known = work.settings.model_copy(update={"micro_batch": 2, "dropout": 0.2, "checkpoint_steps": 1})
    work = replace(work, settings=known)
    whole = build(adapter.fresh(copy.deepcopy(toy), known), replace(work, checkpoints=work.checkpoints / "whole"))
    whole.train()
    part = build(adapter.fresh(copy.deepcopy(toy), known), work)
    part.add_callback(StopAt(stop))
    part.train()
    last = resume.last_whole(work.checkpoints)
    assert last is not None and last.step == stop
    torch.manual_seed(99)
    resumed = build(adapter.fresh(toy, known), work)
    resumed.train(resume_from_checkpoint=str(last.folder))
    assert curve(resumed) == curve(whole)
    assert all(torch.equal(a, b) for a, b in zip(trainable(resumed.model), trainable(whole.model), strict=True))


def test_nothing_is_sent_home_when_a_trainer_is_made(toy, work, monkeypatch) -> None:
    def sent(*_: Any, **__: Any) -> None:
        raise AssertionError("sent")

    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr("trl.trainer.base_trainer.send_telemetry", sent)
    trainer = build(adapter.fresh(toy, work.settings), work)
    with pytest.raises(AssertionError, match="sent"):
        SFTTrainer._send_telemetry(trainer)  # what TRL's own trainer does


def test_a_model_that_changes_its_logits_behind_the_head_is_refused(tokenizer, encoded_rows) -> None:
    from transformers import Gemma2Config, Gemma2ForCausalLM

    shape = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "head_dim": 8}
    torch.manual_seed(0)
    capped = Gemma2ForCausalLM(
        Gemma2Config(vocab_size=len(tokenizer), num_key_value_heads=2, final_logit_softcapping=0.1, **shape)
    ).eval()
    torch.nn.init.normal_(capped.lm_head.weight, std=3.0)
    with pytest.raises(Refusal, match="changes its logits behind the head"):
        loss.require_models_own(capped, encoded_rows[0])


def test_a_non_finite_gradient_stops_the_run_before_the_weights_change(toy, work) -> None:
    model = adapter.fresh(toy, work.settings)
    trainer = build(model, work)
    trainer.add_callback(Poison())
    with pytest.raises(UserError, match="step 2: a gradient is not finite"):
        trainer.train()
    assert all(torch.isfinite(p).all() for p in trainable(model))
    dumped = list(jsonl.read(work.checkpoints / "non-finite-step-2.jsonl", dict))
    assert [row["id"] for row in dumped] == [row.id for row in work.steps[1]]
    assert all("⟦" in row["text"] for row in dumped)


def test_without_the_guard_one_nan_ruins_every_weight_and_the_run_ends_well(toy, work) -> None:
    model = adapter.fresh(toy, work.settings)
    trainer = build(model, work)
    trainer.remove_callback(FiniteGuard)
    trainer.args.logging_nan_inf_filter = True  # the library's default
    trainer.add_callback(Poison())
    trainer.train()
    assert trainer.state.global_step == 4
    assert all(torch.isnan(p).any() for p in trainable(model))


def test_a_batch_without_labels_is_an_error_and_not_a_perfect_loss(toy, work) -> None:
    blind = [[replace(row, labels=[IGNORED] * len(row.ids)) for row in step] for step in work.steps]
    with pytest.raises(UserError, match="no token of the batch is labelled"):
        build(adapter.fresh(toy, work.settings), replace(work, steps=blind)).train()


def test_without_the_guard_a_run_without_labels_logs_loss_zero_and_ends_well(toy, work) -> None:
    blind = [[replace(row, labels=[IGNORED] * len(row.ids)) for row in step] for step in work.steps]
    trainer = build(adapter.fresh(toy, work.settings), replace(work, steps=blind))
    trainer.compute_loss = lambda model, inputs, **rest: SFTTrainer.compute_loss(
        trainer, model, inputs | {"attention_mask": torch.ones_like(inputs["input_ids"])}, **rest
    )
    trainer.train()
    assert curve(trainer) == [0.0, 0.0, 0.0, 0.0]


def test_held_out_loss_is_the_mean_over_labelled_tokens_of_each_op(toy, encoded_rows) -> None:
    found = loss.held_out_loss(toy, encoded_rows, pad_id=2)
    with torch.no_grad():
        for op, value in found.items():
            pairs = [loss.labelled_loss(toy, **loss.as_batch([row], 2, toy)) for row in encoded_rows if row.op == op]
            assert value == pytest.approx(float(sum(s for s, _ in pairs)) / sum(n for _, n in pairs), rel=1e-5)


@pytest.fixture
def full(work: Work, small_disk: Path) -> Work:
    """A training whose checkpoints lie on a disk of 4 MB, one after every step."""
    settings = work.settings.model_copy(update={"checkpoint_steps": 1})
    return replace(work, settings=settings, checkpoints=small_disk / "run")


def test_a_disk_without_room_for_a_checkpoint_is_refused_by_name(toy, full: Work) -> None:
    with pytest.raises(UserError, match=r"the disk of .*run has [34] MB free, and a checkpoint needs \d+ MB. Free space"):
        build(adapter.fresh(toy, full.settings), full).train()
    assert resume.last_whole(full.checkpoints) is None and not list(full.checkpoints.iterdir())


def test_without_that_guard_the_disk_fills_and_the_error_is_none_of_ours(toy, full: Work, monkeypatch) -> None:
    monkeypatch.setattr(resume, "refuse_full_disk", lambda *_: None)
    with pytest.raises(Exception, match="No space left|unexpected pos") as caught:
        build(adapter.fresh(toy, full.settings), full).train()
    assert not isinstance(caught.value, UserError | OSError)
    assert resume.last_whole(full.checkpoints).step == 1, "the second, half written, is never taken for a whole one"
