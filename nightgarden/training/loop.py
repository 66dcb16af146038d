"""The stage `train`: a gated dataset and a base model in, an adapter with its card and two reports out.

In order: gate, preflight, base, held-out loss of the stock model, training (resumed where a whole
checkpoint of the same thing lies), held-out loss of the adapted model, outputs. Everything that lands in
an output is a function of the inputs; seconds and the resumed step go to log and tracking.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nightgarden import digests, jsonl
from nightgarden.errors import Refusal, UserError
from nightgarden.models import load, specs
from nightgarden.params import Params, Training
from nightgarden.records import OPS, Example
from nightgarden.templates import passport, registry
from nightgarden.templates.registry import ChatTemplate
from nightgarden.training import adapter, batches, card, preflight, resume

if TYPE_CHECKING:
    from nightgarden.stage import Place

log = logging.getLogger(__name__)

DATASET = Path("data/dataset")
PARTS = ("train", "held_out")
CANDIDATE = Path("models/adapters/candidate")
REPORT = Path("reports/training.json")
CURVE = Path("reports/training_loss.json")
DECIMALS = 6
"""Of every loss in a report."""
ADAM_COPIES = 3
"""Numbers kept per trained weight in a checkpoint: the weight and Adam's two moments."""


@dataclass(frozen=True, kw_only=True)
class Data:
    """The gated dataset after its preflight."""

    train: preflight.Report
    held_out: preflight.Report


@dataclass(frozen=True, kw_only=True)
class Losses:
    """What was measured, in nats per labelled token."""

    curve: list[dict[str, float]]
    """{"step", "loss"} of every step."""
    before: dict[int, float]
    """Held-out loss by op with the adapter off."""
    after: dict[int, float]
    """Held-out loss by op with the trained adapter."""

    def mean_of_tenth(self, *, first: bool) -> float:
        """Mean loss of the first or the last tenth of the steps, at least one.

        One step's loss tells more of its batch than of the training: the first batch is the longest, not the worst.
        """
        count = max(1, len(self.curve) // 10)
        part = self.curve[:count] if first else self.curve[-count:]
        return round(sum(point["loss"] for point in part) / count, DECIMALS)

    @property
    def verdict(self) -> str:
        """Whether the adapter learnt what carries over; where it did not the stage still succeeds, evaluation decides."""
        unlike = {op: "was not measured" for op in range(len(OPS)) if op not in self.after}
        unlike |= {op: "is not lower" for op in self.after if not self.after[op] < self.before[op]}
        if unlike:
            return "; ".join(f"held-out loss {what} on op {op} ({OPS[op]})" for op, what in sorted(unlike.items()))
        return "held-out loss is lower on every op"


def train(params: Params, root: Path, place: Place) -> dict[str, float | int | str]:
    """Train the adapter of `params.base` on the gated dataset.

    Args:
        params: `base`, `models` and `training` are read.
        root: the checkout; reads data/dataset and models/base, writes models/adapters/candidate and reports.
        place: where checkpoints lie, and the clock of the log.

    Returns:
        The numbers of the report, and under `time_...` what differs between equal runs.

    Raises:
        Refusal: the gate did not pass this dataset, a row is unsound, or the base is not what was asked for.
        UserError: something is missing, the disk is too full, or a gradient was not finite.
    """
    started = place.clock()
    code = digests.source_digest(resume.CODE)  # before the base is loaded: a file may be edited meanwhile
    folder, template = specs.folder(params.base_spec, root), registry.get(params.base_spec.template)
    digest = gated_digest(root / DATASET)
    passport.require(passport.inspect(folder, template=template))
    tokenizer = load.load_tokenizer(folder)
    data = prepare(root / DATASET, template, tokenizer, params.training)
    identity = card.identity(params, root, template, tokenizer, digest)
    model = _adapted(params, root)
    parts = resume.made_from(identity, load.machine_of(model), code)
    checkpoints = resume.folder(place.state, parts)
    require_space(place.state, model)
    if why_anew := resume.begin(checkpoints, parts):
        log.info("starts at step 0: %s", why_anew)
    losses, resumed = _fit(model, data, tokenizer, params.training, checkpoints, place)
    adapter.write(model, identity, root / CANDIDATE)
    report = _report(data, losses)
    jsonl.write_json(root / REPORT, report)
    jsonl.write_json(root / CURVE, losses.curve)
    resume.clear(checkpoints)
    seconds = (place.clock() - started).total_seconds()
    return _flat(report) | {"time_train_seconds": round(seconds, 1), "time_resumed_from": resumed}


def gated_digest(dataset: Path) -> str:
    """Digest of the dataset that its gate passed: sha256 of train.jsonl followed by held_out.jsonl.

    Raises:
        Refusal: the gate did not pass it, or the files are not those that it saw.
        UserError: no gate.json.
    """
    verdict: dict[str, Any] = jsonl.read_json(dataset / "gate.json", dict[str, Any])
    if verdict["passed"] is not True:
        raise Refusal(f"the dataset's gate did not pass: {'; '.join(verdict['reasons'])}. Repair it and run `dvc repro gate`.")
    digest = hashlib.sha256(b"".join((dataset / f"{part}.jsonl").read_bytes() for part in PARTS)).hexdigest()
    if digest != verdict["digest"]:
        raise Refusal(
            f"{dataset} has digest {digest}; its gate passed {verdict['digest']}. "
            "The rows changed after the gate: run `dvc repro gate`."
        )
    return digest


def prepare(dataset: Path, template: ChatTemplate, tokenizer: Any, settings: Training) -> Data:
    """Read both parts of the dataset and pass them through the preflight, which the log shows.

    Raises:
        Refusal: a row is unsound.
    """
    reports = []
    for part in PARTS:
        examples: Iterator[Example] = jsonl.read(dataset / f"{part}.jsonl", Example)
        report = preflight.check(part, examples, template, tokenizer, settings)
        for line in report.lines():
            log.info("%s", line)
        preflight.require(report)
        reports.append(report)
    return Data(train=reports[0], held_out=reports[1])


def _adapted(params: Params, root: Path) -> Any:
    """The base on the device that this machine has, with a fresh adapter.

    Raises:
        UserError: several GPUs are visible; TRL would spread a batch over them.
    """
    import torch

    if torch.cuda.device_count() > 1:
        raise UserError(
            f"{torch.cuda.device_count()} GPUs are visible; a training takes one. Set CUDA_VISIBLE_DEVICES to the number of one."
        )
    model = load.load_model(params.base_spec, root)
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    return adapter.fresh(model, params.training)


def require_space(state: Path, model: Any) -> None:
    """Refuse to start a training whose checkpoints the disk cannot hold.

    Raises:
        UserError: says what is free and what is needed.
    """
    state.mkdir(parents=True, exist_ok=True)
    weights = sum(p.numel() * p.element_size() for p in model.parameters() if p.requires_grad)
    needed = (resume.KEPT + 1) * ADAM_COPIES * weights  # one more is written before the oldest goes
    free = shutil.disk_usage(state).free
    if free < needed:
        raise UserError(
            f"{state} has {free / 1e6:.0f} MB free; the checkpoints of this training need {needed / 1e6:.0f} MB. "
            "Free space there, or set NIGHTGARDEN_STATE to a folder on another disk."
        )


def _fit(model: Any, data: Data, tokenizer: Any, settings: Training, checkpoints: Path, place: Place) -> tuple[Losses, int]:
    """Measure, train or resume, measure again; returns the losses and the step that it resumed from (0 = from the start)."""
    from nightgarden.training import loss
    from nightgarden.training.trainer import Work, build

    rows, held_out = data.train.rows, data.held_out.rows
    order = batches.plan([len(row.ids) for row in rows], settings.batch_size, settings.epochs, settings.seed)
    work = Work(
        steps=[[rows[index] for index in step] for step in order],
        settings=settings,
        checkpoints=checkpoints,
        tokenizer=tokenizer,
        clock=place.clock,
    )
    loss.require_models_own(model, min(held_out, key=lambda row: len(row.ids)))
    with model.disable_adapter():
        before = loss.held_out_loss(model, held_out, work.pad_id)
    log.info("held-out loss before: %s", _by_op(before))
    last = resume.last_whole(checkpoints)
    if last is not None:
        log.info("resumed at step %d of %d from %s", last.step, len(order), last.folder)
    trainer = build(model, work)
    trainer.train(resume_from_checkpoint=str(last.folder) if last else None)
    after = loss.held_out_loss(model, held_out, work.pad_id)
    log.info("held-out loss after: %s", _by_op(after))
    curve = [{"step": entry["step"], "loss": entry["loss"]} for entry in trainer.state.log_history if "loss" in entry]
    return Losses(curve=_rounded(curve), before=_rounded(before), after=_rounded(after)), last.step if last else 0


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DECIMALS)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value


def _by_op(losses: dict[int, float]) -> str:
    return ", ".join(f"op {op} {loss:.4f}" for op, loss in losses.items())


def _report(data: Data, losses: Losses) -> dict[str, Any]:
    """reports/training.json; texts stand in lists, which `dvc metrics` leaves out."""
    parts = (data.train, data.held_out)
    return {
        "verdict": [losses.verdict],
        "steps": len(losses.curve),
        "loss_first": losses.mean_of_tenth(first=True),
        "loss_last": losses.mean_of_tenth(first=False),
        "held_out": {f"op{op}": {"before": losses.before[op], "after": losses.after[op]} for op in losses.after},
        "preflight": {
            part.part: {
                "rows": len(part.rows),
                "dropped": len(part.dropped),
                "tokens": sum(count.tokens for count in part.ops.values()),
                "labelled_tokens": sum(count.labelled_tokens for count in part.ops.values()),
                "dropped_ids": part.dropped,
                "ops": {f"op{op}": asdict(count) for op, count in part.ops.items()},
                "shown": part.lines(),
            }
            for part in parts
        },
    }


def _flat(report: dict[str, Any]) -> dict[str, float | int | str]:
    """What tracking gets of the report."""
    flat: dict[str, float | int | str] = {key: report[key] for key in ("steps", "loss_first", "loss_last")}
    train = report["preflight"]["train"]
    flat |= {"verdict": report["verdict"][0], "rows": train["rows"], "dropped": train["dropped"]}
    flat |= {"tokens": train["tokens"], "labelled_tokens": train["labelled_tokens"]}
    return flat | {f"held_out_{op}_{when}": loss for op, losses in report["held_out"].items() for when, loss in losses.items()}
