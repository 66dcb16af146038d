"""TRL's trainer on our own rows, loss and order, with its guards.

What TRL and transformers would decide alone is decided here in the open: labels come from our templates,
the order from `batches.plan`, nothing is truncated, no NaN is filtered out of a log, nothing is sent home.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from datasets import Dataset
from transformers import PrinterCallback, TrainerCallback
from trl import SFTConfig, SFTTrainer

from nightgarden import jsonl
from nightgarden.errors import UserError
from nightgarden.params import Training
from nightgarden.training import resume
from nightgarden.training.batches import Row, collate
from nightgarden.training.loss import labelled_loss
from nightgarden.training.preflight import shown

if TYPE_CHECKING:
    from nightgarden.clock import Clock

log = logging.getLogger(__name__)

LOG_STEPS = 5
"""Steps between two lines of progress."""


@dataclass(frozen=True, kw_only=True)
class Work:
    """One training made ready."""

    steps: Sequence[Sequence[Row]]
    """The rows of every step, in order."""
    settings: Training
    checkpoints: Path
    """Folder for this fingerprint's checkpoints."""
    tokenizer: Any
    clock: Clock

    @property
    def pad_id(self) -> int:
        """Any id does for padding, which has no label and which no real token sees."""
        return int(self.tokenizer.eos_token_id)


class LabelledTrainer(SFTTrainer):  # type: ignore[misc]
    """SFTTrainer with the loss on labelled positions only."""

    loss_is_scaled_for_ga = True
    """`compute_loss` divides by the labelled tokens of the whole step, so accumulation must not divide again."""

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> torch.Tensor:
        """Summed loss of a micro-batch over the labelled tokens of its step.

        Raises:
            UserError: the micro-batch has no labelled token.
        """
        total, labelled = labelled_loss(self.accelerator.unwrap_model(model).get_base_model(), **inputs)
        if labelled == 0:
            raise UserError(
                f"step {self.state.global_step + 1}: no token of the batch is labelled, so its loss would be 0 and look perfect. "
                "The preflight should have refused its rows: run it again on this dataset."
            )
        return total / torch.as_tensor(num_items_in_batch).clamp(min=1)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Save a checkpoint if the disk has room for it.

        A disk that fills under safetensors, torch or tokenizers raises three errors of theirs that name no disk.
        """
        # Weights and both moments of the optimiser.
        resume.refuse_full_disk(self.args.output_dir, 3 * sum(p.nbytes for p in model.parameters() if p.requires_grad))
        super()._save_checkpoint(model, trial)

    def create_model_card(self, *_: Any, **__: Any) -> None:
        """No model card of TRL's beside a checkpoint; ours is `card.py`."""

    def _send_telemetry(self) -> None:
        """TRL 1.16 reports each construction to a server; this project works without a network."""


class FiniteGuard(TrainerCallback):  # type: ignore[misc]
    """Stops before the optimiser step that would write a non-finite number into every weight."""

    def __init__(self, work: Work) -> None:
        self.work = work

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """Look at all gradients.

        Raises:
            UserError: one is not finite; the batch lies decoded in the state folder, no weight was changed.
        """
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        if all(bool(torch.isfinite(gradient).all()) for gradient in gradients):
            return
        step = state.global_step
        path = self.work.checkpoints / f"non-finite-step-{step + 1}.jsonl"
        rows = self.work.steps[step]
        jsonl.write(path, [{"id": row.id, "op": row.op, "text": shown(row, self.work.tokenizer)} for row in rows])
        raise UserError(
            f"step {step + 1}: a gradient is not finite, so the training was stopped before the weights changed. "
            f"The batch is in {path}. Look at its rows; if they are sound, lower training.learning_rate in params.yaml. "
            "The last whole checkpoint stays."
        )


class Progress(TrainerCallback):  # type: ignore[misc]
    """A line every few steps: step, loss, tokens per second, time to go."""

    def __init__(self, work: Work) -> None:
        self.clock = work.clock
        self.tokens = [sum(len(row.ids) for row in step) for step in work.steps]
        self.first = 0
        self.started = work.clock()

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Start the watch; a resumed run starts it at its own step."""
        self.first, self.started = state.global_step, self.clock()

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
        """Say how far it is."""
        done, last = state.global_step, len(self.tokens)
        if not logs or "loss" not in logs or (done % LOG_STEPS and done not in (self.first + 1, last)):
            return
        seconds = max((self.clock() - self.started).total_seconds(), 1e-6)
        rate = sum(self.tokens[self.first : done]) / seconds
        left = sum(self.tokens[done:]) / rate
        log.info("step %d/%d  loss %.3f  %.0f tokens/s  %.0f s to go", done, last, logs["loss"], rate, left)


class Marker(TrainerCallback):  # type: ignore[misc]
    """Declares a checkpoint whole once everything of it is written."""

    def __init__(self, work: Work) -> None:
        self.work = work

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Write the marker of the checkpoint that was just saved."""
        resume.mark(self.work.checkpoints / f"checkpoint-{state.global_step}", state.global_step)


def build(model: Any, work: Work) -> LabelledTrainer:
    """The trainer of one run; `train(resume_from_checkpoint=...)` runs it."""
    rows = [{"input_ids": row.ids, "labels": row.labels} for step in work.steps for row in step]
    trainer = LabelledTrainer(
        model=model,
        args=_arguments(work, on_cpu=model.device.type == "cpu"),
        train_dataset=Dataset.from_list(rows),
        data_collator=partial(collate, pad_id=work.pad_id),
        processing_class=work.tokenizer,
        callbacks=[FiniteGuard(work), Progress(work), Marker(work)],
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def _arguments(work: Work, *, on_cpu: bool) -> SFTConfig:
    settings = work.settings
    return SFTConfig(
        output_dir=str(work.checkpoints),
        num_train_epochs=1,  # all epochs are in the order already
        per_device_train_batch_size=settings.micro_batch,
        gradient_accumulation_steps=settings.batch_size // settings.micro_batch,
        train_sampling_strategy="sequential",
        learning_rate=settings.learning_rate,
        lr_scheduler_type="linear",
        warmup_steps=round(settings.warmup * len(work.steps)),
        weight_decay=0.0,
        max_grad_norm=1.0,
        optim="adamw_torch",
        seed=settings.seed,
        use_cpu=on_cpu,
        bf16=False,  # no autocast: the parameters have the dtype that was asked for
        gradient_checkpointing=False,
        dataset_kwargs={"skip_prepare_dataset": True},
        max_length=None,
        packing=False,
        remove_unused_columns=False,
        dataloader_pin_memory=not on_cpu,
        logging_steps=1,
        logging_nan_inf_filter=False,  # the default logs a NaN step as loss 0.0
        save_strategy="steps",
        save_steps=settings.checkpoint_steps,
        save_total_limit=resume.KEPT,
        report_to="none",
        disable_tqdm=True,
    )
