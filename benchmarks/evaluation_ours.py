"""The whole stage `evaluate` by the clock, and the loop that it is measured against: one `generate` a reply.

Works in a root of its own, a folder with links to the model and the prompts, so no cache and no file of the checkout
is touched.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nightgarden import jsonl
from nightgarden import params as params_module
from nightgarden.evaluation.answers import SIDES, Reply
from nightgarden.evaluation.evaluate import CANDIDATE, SCORES, Way, evaluate, open_sides
from nightgarden.evaluation.prompts import CATEGORIES, FILE, load, tokenise
from nightgarden.models import specs
from nightgarden.models.load import load_model, load_tokenizer
from nightgarden.params import Params
from nightgarden.stage import Place
from nightgarden.templates import registry
from nightgarden.training import adapter, card

log = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[1]
BASE = "smollm2-135m"
NOISE = 0.02
"""Deviation of an untrained adapter's B matrices: its replies differ from stock's and stop about as soon."""


@dataclass(frozen=True, kw_only=True)
class Took:
    """What a contender did in how long."""

    seconds: float
    replies: int
    tokens: int
    """Written ones, stop tokens included: every one costs a step."""

    @property
    def per_token(self) -> float:
        """Seconds a token."""
        return self.seconds / self.tokens


@dataclass(frozen=True, kw_only=True)
class Opened:
    """Both sides, loaded, with what makes text of ids."""

    params: Params
    tokenizer: Any
    sides: Any
    work: Any


def settings(quick: bool, batch_size: int | None) -> Params:
    """params.yaml with the size that is measured: 35 prompts, 3 seeds, 256 tokens."""
    whole = params_module.load(ROOT / "params.yaml")
    size = {"prompts": 4, "seeds": 1, "max_new_tokens": 32} if quick else {"prompts": None, "seeds": 3, "max_new_tokens": 256}
    sampling = {"temperature": 0.7, "top_p": 0.95, "first_tokens": 0}
    sampling["batch_size"] = batch_size or whole.evaluation.batch_size
    return whole.model_copy(update={"base": BASE, "evaluation": whole.evaluation.model_copy(update=size | sampling)})


def workshop(params: Params, root: Path) -> str:
    """Lay the root out; says which adapter it holds.

    Raises:
        UserError: no model.
    """
    (root / "models/adapters").mkdir(parents=True)
    (root / FILE).parent.mkdir(parents=True)
    (root / specs.BASE).symlink_to((ROOT / specs.BASE).resolve())
    shutil.copy(ROOT / FILE, root / FILE)
    if (ROOT / CANDIDATE / "card.json").is_file():
        shutil.copytree(ROOT / CANDIDATE, root / CANDIDATE)
        return "the candidate's"
    untrained(params, root)
    return "untrained, small random numbers"


def untrained(params: Params, root: Path) -> None:
    """An adapter of the size that training makes, which changes replies and has learned nothing."""
    import torch

    model = adapter.fresh(load_model(params.base_spec, root), params.training)
    generator = torch.Generator().manual_seed(1)
    for name, value in model.named_parameters():
        if "lora_B" in name:
            value.data = torch.randn(value.shape, generator=generator) * NOISE
    tokenizer = load_tokenizer(specs.folder(params.base_spec, root))
    known = card.identity(params, root, registry.get(params.base_spec.template), tokenizer, "a benchmark's")
    adapter.write(model, known, root / CANDIDATE)


def stage(params: Params, root: Path) -> tuple[float, Took, list[Reply]]:
    """Run the stage from loading to the last file.

    Returns:
        Seconds of all of it; what generation took, loading the model included; the replies.
    """
    started = time.perf_counter()
    told = evaluate(params, root, Place(root=root, state=root / ".nightgarden", tracking_uri=""))
    seconds = time.perf_counter() - started
    replies: list[Reply] = list(jsonl.read(root / SCORES / "replies.jsonl", Reply))
    tokens = sum(len(reply.reply_ids) + (not reply.truncated) for reply in replies)
    return seconds, Took(seconds=float(told["time_generate_s"]), replies=len(replies), tokens=tokens), replies


def opened(params: Params, root: Path, cache: Path) -> Opened:
    """Both sides as the stage opens them."""
    template = registry.get(params.base_spec.template)
    tokenizer = load_tokenizer(specs.folder(params.base_spec, root))
    chosen = tokenise(load(root / FILE, 4), template, tokenizer)
    way = Way(tokenizer=tokenizer, stop=tokenizer.convert_tokens_to_ids(template.stop), cache=cache)
    sides, work = open_sides(params, root, way, chosen)
    return Opened(params=params, tokenizer=tokenizer, sides=sides, work=work)


def stratified(replies: Sequence[Reply], each: int) -> list[Reply]:
    """`each` of every category and side, evenly spaced over prompts and seeds."""
    chosen = []
    for category in CATEGORIES:
        for side in SIDES:
            some = [reply for reply in replies if (reply.category, reply.side) == (category, side)]
            count = min(each, len(some))
            chosen += [some[(2 * number + 1) * len(some) // (2 * count)] for number in range(count)]
    return chosen


def loop(ours: Opened, asked: Sequence[Reply]) -> Took:
    """The same requests one after another through transformers' `generate`, with the same sampling."""
    import torch

    limits = ours.params.evaluation
    sampling = {"do_sample": True, "temperature": limits.temperature, "top_p": limits.top_p, "top_k": 0}
    seconds, tokens = 0.0, 0
    for number, reply in enumerate(asked, 1):
        ids = torch.tensor([reply.prompt_ids])
        torch.manual_seed(reply.seed)
        started = time.perf_counter()
        with torch.inference_mode(), ours.sides.on(reply.side):
            made = ours.sides.model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=limits.max_new_tokens,
                eos_token_id=ours.work.stop,
                pad_token_id=ours.work.stop,
                **sampling,
            )
        seconds += time.perf_counter() - started
        tokens += made.shape[1] - ids.shape[1]
        log.info("one by one: %d of %d replies, %d tokens in %.0f s", number, len(asked), tokens, seconds)
    return Took(seconds=seconds, replies=len(asked), tokens=tokens)
