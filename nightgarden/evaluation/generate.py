"""Replies of both sides: one loaded base, the adapter off and on, batched, cached batch by batch.

The only file of the room that runs a model. Knows token ids and settings; not what a prompt means and
not what a good reply is.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from transformers.cache_utils import Cache, DynamicLayer

from nightgarden import jsonl
from nightgarden.digests import content_id, sha256_file
from nightgarden.errors import Refusal
from nightgarden.evaluation.answers import Side
from nightgarden.evaluation.sampling import gumbel, noise_key
from nightgarden.models import adapters
from nightgarden.models.load import load_model
from nightgarden.params import Evaluation, ModelSpec
from nightgarden.records import Record

log = logging.getLogger(__name__)

LIBRARIES = ("torch", "transformers", "peft", "numpy")
"""Whose versions can change a reply."""
CODE = ("evaluation/generate.py", "evaluation/sampling.py", "models/adapters.py", "models/load.py")
"""Files of the package that can change a reply to given ids; an edit of any other leaves finished batches in use."""
CANDIDATES = 256
"""Most likely tokens among which the nucleus is looked for first; of 49,152, 1,024 cost three times as much and a full
sort twenty times (measured)."""
ROOM = 64
"""Tokens for which a cache makes room at once."""
PROGRESS_TOKENS = 32


class Generated(Record, frozen=True, kw_only=True):
    """One reply as ids, without its stop token."""

    ids: tuple[int, ...]
    truncated: bool
    """True when it had not stopped after the last token that it was given."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """One reply to make."""

    prompt_ids: tuple[int, ...]
    seed: int
    begun: tuple[int, ...] = ()
    """Tokens that the reply begins with, whoever wrote them; the noise behind them is that of an unbroken reply."""

    @property
    def given(self) -> tuple[int, ...]:
        """What the model reads before it writes its first token."""
        return self.prompt_ids + self.begun


@dataclass(frozen=True, kw_only=True)
class Work:
    """How replies are made, and what identifies them beside the request."""

    settings: Evaluation
    stop: int
    """Id of the template's stop token."""
    base: dict[str, str]
    """Digests of the base's weights by file."""
    dtype: str
    """In which the base's weights are loaded."""
    adapter: str
    """Digest of the adapter, see `adapter_digest`."""
    machine: str
    """See `models.load.machine_of`."""
    code: str
    """Digest of the files in `CODE` as they were when the run began."""
    cache: Path
    """Folder for finished batches."""
    libraries: dict[str, str] = field(default_factory=lambda: {name: version(name) for name in LIBRARIES})
    """Versions of what can change a reply."""


def adapter_digest(folder: Path) -> str:
    """Identity of an adapter: its weights and its config, whose alpha scales them."""
    return content_id([adapters.weights_digest(folder), sha256_file(folder / adapters.CONFIG)])


@dataclass(frozen=True)
class Sides:
    """One base with one adapter: `stock` with the adapter off, `adapted` with it on."""

    model: Any
    pristine: torch.Tensor
    """Logits of the probe before the adapter was attached. (V,)"""
    probe: tuple[int, ...]

    def on(self, side: Side) -> AbstractContextManager[None]:
        """A block in which the model is that side."""
        return nullcontext() if side == "adapted" else self.model.disable_adapter()

    def require_two(self) -> None:
        """Prove on the probe that stock is the base as it was loaded, and adapted is not.

        Raises:
            Refusal: what the two columns of the report show would not be what their titles say.
        """
        with self.on("stock"):
            stock = last_logits(self.model, self.probe)
        if fault := sides_fault(self.pristine, stock, last_logits(self.model, self.probe)):
            raise Refusal(f"stock and adapted are not what they are called: {fault}. Nothing was scored; check the adapter.")


@dataclass(frozen=True)
class Alone:
    """One model without an adapter, as whichever side it is asked to be."""

    model: Any

    def on(self, side: Side) -> AbstractContextManager[None]:
        """A block in which the model is that side."""
        return nullcontext()


def sides_fault(pristine: torch.Tensor, stock: torch.Tensor, adapted: torch.Tensor) -> str | None:
    """Why three logit vectors of one prompt are no proof of two sides, or None. (V,) each."""
    if not bool(torch.isfinite(adapted).all()):
        return "with the adapter on the logits are not finite numbers"
    if not torch.equal(pristine, stock):
        apart = float((pristine - stock).abs().max())
        return f"with the adapter off the logits are not those of the base (up to {apart:.2g} apart): it was not taken off"
    if torch.equal(stock, adapted):
        return "with the adapter on the logits are those of the base: it was not loaded, or not trained"
    return None


@torch.inference_mode()
def last_logits(model: Any, ids: Sequence[int]) -> torch.Tensor:
    """Logits after a prompt, alone in its batch. (V,)"""
    answer = model(input_ids=torch.tensor([list(ids)], device=model.device), logits_to_keep=1, use_cache=False)
    logits: torch.Tensor = answer.logits[0, -1]
    return logits


def load_sides(spec: ModelSpec, root: Path, adapter: Path, probe: tuple[int, ...]) -> Sides:
    """The base of `spec` with the adapter of a folder, proven to be two sides.

    Raises:
        UserError, Refusal: as `load_model` and `attach`, or the sides are not two.
    """
    base = load_model(spec, root)
    pristine = last_logits(base, probe)
    sides = Sides(adapters.attach(base, adapter), pristine, probe)
    sides.require_two()
    return sides


def replies(sides: Sides | Alone, side: Side, requests: Sequence[Request], work: Work) -> list[Generated]:
    """Replies in the order of `requests`; batches that an earlier, killed run finished come from the cache.

    A batch is cached and made again as a whole, so a resumed run computes what an undisturbed one does,
    bit for bit. In another batch a reply meets the same noise, but matrix products may round otherwise.
    """
    made: dict[int, Generated] = {}
    batches = list(batched(requests, work.settings.batch_size))
    for number, batch in enumerate(batches, 1):
        name = f"{side}, batch {number} of {len(batches)}"
        chosen = [requests[index] for index in batch]
        path = work.cache / f"{batch_key(side, chosen, work)}.json"
        if path.is_file():
            log.info("%s: %d replies from the cache", name, len(batch))
            done: list[Generated] = jsonl.read_json(path, list[Generated])
        else:
            with sides.on(side):
                done = generate(sides.model, chosen, work, name)
            jsonl.write_json(path, done)
        made.update(zip(batch, done, strict=True))
    return [made[index] for index in range(len(requests))]


def batched(requests: Sequence[Request], size: int) -> Iterator[list[int]]:
    """Indices of the requests, sorted by length so that a batch has little padding, `size` at a time."""
    order = sorted(range(len(requests)), key=lambda index: (len(requests[index].given), index))
    for start in range(0, len(order), size):
        yield order[start : start + size]


def batch_key(side: Side, requests: Sequence[Request], work: Work) -> str:
    """Identity of a batch: weights and dtype, prompt ids, settings, seeds, machine, code, libraries; nothing of the other side.

    A cache that leaves the weights out answers for the adapter with stock's text. One that leaves the dtype or the
    code out answers with the old replies when DVC reruns the stage because of just that, and DVC locks them as new.
    """
    settings = work.settings
    return content_id(
        {
            "base": work.base,
            "dtype": work.dtype,
            "adapter": work.adapter if side == "adapted" else None,
            "requests": [[request.prompt_ids, request.seed, request.begun] for request in requests],
            "sampling": [settings.max_new_tokens, settings.temperature, settings.top_p, work.stop],
            "machine": work.machine,
            "code": work.code,
            "libraries": work.libraries,
        }
    )


class _Roomy(DynamicLayer):  # type: ignore[misc]
    """Keys and values of a layer, with room behind them: to append by `cat` copies them all, a fifth of a step at 300 tokens."""

    def update(self, keys: torch.Tensor, values: torch.Tensor, *args: Any, **options: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Append and return all that there are. (B, H, T, D)"""
        if not self.is_initialized:
            self.lazy_initialization(keys, values)
            self.stores: tuple[torch.Tensor, ...] = (keys[:, :, :0], values[:, :, :0])
        begin = self.get_seq_length()
        end = begin + keys.shape[-2]
        if end > self.stores[0].shape[-2]:
            self.stores = tuple(_widened(store[:, :, :begin], end + ROOM) for store in self.stores)
        for store, new in zip(self.stores, (keys, values), strict=True):
            store[:, :, begin:end] = new
        self.keys, self.values = (store[:, :, :end] for store in self.stores)
        return self.keys, self.values

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Keep those rows, in that order; one may be asked for twice."""
        end = self.get_seq_length()
        self.stores = tuple(store[indices] for store in self.stores)
        self.keys, self.values = (store[:, :, :end] for store in self.stores)


def _widened(store: torch.Tensor, length: int) -> torch.Tensor:
    """A copy with room for `length` tokens."""
    batch, heads, begin, dim = store.shape
    wide = store.new_empty((batch, heads, length, dim))
    wide[:, :, :begin] = store
    return wide


@dataclass
class _Running:
    """The replies of a batch that have not stopped, and the model's state of exactly those."""

    rows: list[int]
    """Their indices in the batch. (B,)"""
    keys: list[int]
    """Their noise keys. (B,)"""
    written: list[int]
    """Tokens that each of them has. (B,)"""
    tokens: torch.Tensor
    """What the model is given next. (B, 1)"""
    mask: torch.Tensor
    """1 on tokens, 0 on padding. (B, T)"""
    cache: Any
    """Keys and values of the tokens before."""

    def logits(self, model: Any) -> torch.Tensor:
        """One step of the model. (B, V)"""
        return _step(model, self.tokens, self.mask, self.cache)

    def advance(self, chosen: list[int], stop: int, limit: int) -> None:
        """Take the chosen tokens in; rows that stopped or are full leave the batch with their part of the cache."""
        self.written = [length + 1 for length in self.written]
        stay = [index for index, token in enumerate(chosen) if token != stop and self.written[index] < limit]
        if len(stay) < len(chosen):
            kept = torch.tensor(stay, dtype=torch.long, device=self.mask.device)
            self.cache.batch_select_indices(kept)
            self.mask = self.mask[kept]
            self.rows, self.keys, self.written = (
                [column[index] for index in stay] for column in (self.rows, self.keys, self.written)
            )
        self.tokens = torch.tensor([[chosen[index]] for index in stay], dtype=torch.long, device=self.mask.device)
        self.mask = torch.cat([self.mask, self.mask.new_ones(len(stay), 1)], dim=1)


@torch.inference_mode()
def generate(model: Any, requests: Sequence[Request], work: Work, name: str) -> list[Generated]:
    """Replies of one batch; our own loop, because rows that stopped then cost nothing (transformers' pads them on).

    Raises:
        ValueError: a reply begins with as many tokens as it may have, so nothing is left to write.
    """
    limit = work.settings.max_new_tokens
    if any(len(request.begun) >= limit for request in requests):
        raise ValueError(f"a reply may have {limit} tokens, and one begins with as many")
    running, logits = _start(model, requests)
    ids = [list(request.begun) for request in requests]
    step = 0
    while running.rows:
        chosen = choose(logits if step == 0 else running.logits(model), running.keys, running.written, work.settings)
        for row, token in zip(running.rows, chosen, strict=True):
            ids[row].append(token)
        running.advance(chosen, work.stop, limit)
        step += 1
        if step % PROGRESS_TOKENS == 0 and running.rows:
            log.info("%s: %d of %d replies still run after %d tokens", name, len(running.rows), len(requests), step)
    log.info("%s: %d replies, %d tokens", name, len(ids), sum(map(len, ids)))
    return [
        Generated(ids=tuple(reply[: -1 if reply[-1] == work.stop else None]), truncated=reply[-1] != work.stop) for reply in ids
    ]


def _start(model: Any, requests: Sequence[Request]) -> tuple[_Running, torch.Tensor]:
    """The batch behind its prompts, and the logits of every first token. (B, V)

    Prompts are padded on the left, so that every reply goes on in the same column; equal ones, as of several seeds, are
    read once.
    """
    distinct = {given: row for row, given in enumerate(dict.fromkeys(request.given for request in requests))}
    longest = max(map(len, distinct))
    tokens = torch.zeros((len(distinct), longest), dtype=torch.long, device=model.device)
    mask = torch.zeros_like(tokens)
    for given, row in distinct.items():
        tokens[row, longest - len(given) :] = torch.tensor(given, device=model.device)
        mask[row, longest - len(given) :] = 1
    cache = Cache(layer_class_to_replicate=_Roomy)
    logits = _step(model, tokens, mask, cache)
    copies = torch.tensor([distinct[request.given] for request in requests], dtype=torch.long, device=model.device)
    cache.batch_select_indices(copies)
    keys = [noise_key(request.prompt_ids, request.seed) for request in requests]
    written = [len(request.begun) for request in requests]
    rows = list(range(len(requests)))
    last = tokens[copies, -1:]  # the model has read it; `advance` puts the first written ones in its place
    return _Running(rows=rows, keys=keys, written=written, tokens=last, mask=mask[copies], cache=cache), logits[copies]


def _step(model: Any, tokens: torch.Tensor, mask: torch.Tensor, cache: Any) -> torch.Tensor:
    """Logits behind tokens that the cache does not hold yet. (B, V)"""
    positions = (mask.cumsum(1) - 1).clamp(min=0)[:, -tokens.shape[1] :]
    answer = model(input_ids=tokens, attention_mask=mask, position_ids=positions, cache=cache, use_cache=True, logits_to_keep=1)
    logits: torch.Tensor = answer.logits[:, -1]
    return logits


def choose(logits: torch.Tensor, keys: Sequence[int], positions: Sequence[int], settings: Evaluation) -> list[int]:
    """The next token of every row: the likeliest at temperature 0, else a draw from the nucleus.

    Args:
        logits: (B, V)
        keys: noise keys. (B,)
        positions: index of the token in its reply. (B,)
        settings: temperature and top_p.
    """
    if settings.temperature == 0:
        return [int(token) for token in logits.argmax(-1)]
    return _drawn((logits.float() / settings.temperature).softmax(-1), keys, positions, settings.top_p, CANDIDATES)


def _drawn(shares: torch.Tensor, keys: Sequence[int], positions: Sequence[int], top_p: float, candidates: int) -> list[int]:
    """A draw from the nucleus of every row; all tokens are sorted only where it is wider than `candidates`."""
    top, tokens = shares.topk(min(candidates, shares.shape[1]))
    outside = top.cumsum(1) - top >= top_p  # the token that crosses top_p still belongs to the nucleus
    noise = torch.from_numpy(gumbel(keys, positions, tokens.cpu().numpy())).to(top.device)
    best = (top.double().log() + noise).masked_fill(outside, float("-inf")).argmax(1, keepdim=True)
    chosen = [int(token) for token in tokens.gather(1, best)]
    wide = [int(row) for row in (top.sum(1) < top_p).nonzero()] if candidates < shares.shape[1] else []
    if wide:
        drawn = _drawn(shares[wide], [keys[row] for row in wide], [positions[row] for row in wide], top_p, shares.shape[1])
        for row, token in zip(wide, drawn, strict=True):
            chosen[row] = token
    return chosen
