"""Evaluation against its rivals, side by side in one run: `python -m benchmarks.evaluation [--quick] [--full]`.

Wall seconds on SmolLM2-135M-Instruct, float32, on the CPU: our whole stage (35 prompts, 2 sides, 3 seeds, 256 tokens);
the same requests one by one through transformers; a slice of IFEval through lm-evaluation-harness (`make peers`,
$NIGHTGARDEN_PUBLIC_DATA), at its default batch size and at 16. The last line is one JSON object: `vs_loop` = their
seconds a token / ours, `vs_lm_eval*` = their seconds for the slice / ours, `disagreements` = items of one reply that
they and we score differently.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import platform
import sys
import tempfile
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks import evaluation_ifeval as rival
from benchmarks import evaluation_ours as own
from benchmarks.evaluation_ours import Took
from nightgarden.errors import Refusal, UserError
from nightgarden.evaluation.ifeval import Item

ASKED = {"seconds": 360.0, "vs_loop": 4.0, "vs_lm_eval": 1.5, "vs_lm_eval_16": 1.0}
"""Seconds at most; ratios at least."""
LARGE = 16
"""The other batch size of theirs."""


@dataclass
class Found:
    """What the run measured."""

    rows: dict[str, Took] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    """Per-item findings."""
    differing: set[tuple[int, str]] = field(default_factory=set)
    """Item and reply whose scores differ."""


def stage_and_loop(found: Found, options: argparse.Namespace, folder: Path) -> own.Opened:
    """Our whole stage, then a sample of its requests (all with --full) one by one."""
    params = own.settings(options.quick, options.batch)
    found.lines.append(f"adapter: {own.workshop(params, folder)}")
    seconds, generation, replies = own.stage(params, folder)
    held = own.opened(params, folder, folder / "greedy")
    each = len(replies) if options.full else 1 if options.quick else 3
    loop = own.loop(held, own.stratified(replies, each))
    found.rows |= {"ours: generation of the stage": generation, "transformers, one by one": loop}
    found.numbers |= {"seconds": seconds, "vs_loop": loop.per_token / generation.per_token}
    return held


def ifeval(found: Found, items: list[Item], held: own.Opened, folder: Path) -> None:
    """Theirs at the default, ours, theirs at 16; then item by item."""
    first = rival.theirs(held, items, folder / "default", None)
    took, mine = rival.ours(held, items)
    second = rival.theirs(held, items, folder / "large", LARGE)
    found.rows["ours: IFEval slice, greedy"] = took
    for key, told in (("vs_lm_eval", first), (f"vs_lm_eval_{LARGE}", second)):
        rival.require_same_ids(mine, told)
        name = f"lm-eval, batch {told.batch_size}"
        tokens = sum(len(held.tokenizer(item.text, add_special_tokens=False)["input_ids"]) for item in told.items)
        found.rows[f"{name} (tokens of its text)"] = Took(seconds=told.seconds, replies=len(items), tokens=tokens)
        found.numbers[key] = told.seconds / took.seconds
        same, moved = rival.rewritten(mine, told)
        found.lines.append(f"{name}: {same} of {len(items)} greedy replies are our text")
        found.lines += [f"  {moved_key}: {what} (rounding in another batch)" for moved_key, what in moved.items()]
        texts = {item.key: item.text for item in told.items}
        for judged, reasons in rival.disagreements(mine, told).items():
            if (judged, texts[judged]) not in found.differing:
                found.lines += [f"  {judged}: scored differently: {reason}" for reason in reasons]
            found.differing.add((judged, texts[judged]))


def table(found: Found, quick: bool) -> None:
    """For people: who did what, what was asked, which items differ."""
    print(f"{'contender':40} {'seconds':>8} {'replies':>8} {'tokens':>7} {'tokens/s':>9} {'s/reply':>8}")
    for name, took in found.rows.items():
        speed = f"{took.tokens / took.seconds:9.1f} {took.seconds / took.replies:8.2f}"
        print(f"{name:40} {took.seconds:8.1f} {took.replies:8} {took.tokens:7} {speed}")
    print("\nour seconds of generation include loading the model; the loop's do not\n")
    for key, asked in ASKED.items():
        came = found.numbers[key]
        held = came <= asked if key == "seconds" else came >= asked
        verdict = "too small a run to say" if quick else "held" if held else "MISSED"
        print(f"{key:14} {came:8.2f}   {'at most' if key == 'seconds' else 'at least'} {asked:g}: {verdict}")
    print("\n" + "\n".join(found.lines))


def machine() -> dict[str, Any]:
    """Facts that numbers depend on."""
    import torch

    return {
        "cpu": platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "torch": version("torch"),
        "transformers": version("transformers"),
        "lm_eval": rival.VERSION,
    }


def main() -> int:
    """Check that all is here, run, print."""
    given = argparse.ArgumentParser()
    given.add_argument("--quick", action="store_true", help="4 prompts, 1 seed, 32 tokens, 4 items; says nothing of speed")
    given.add_argument("--full", action="store_true", help="all requests one by one, not 24 of them")
    given.add_argument("--items", type=int, default=None, help="items of IFEval; 32 unless told")
    given.add_argument("--batch", type=int, default=None, help="replies that we write at once; params.yaml's unless told")
    options = given.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stderr)
    assert "torch" not in sys.modules, "torch reads how its threads wait when it is imported (see the Makefile)"
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    found = Found()
    try:
        rival.require_peer()
        items = rival.sliced(os.environ.get("NIGHTGARDEN_PUBLIC_DATA"), options.items or (4 if options.quick else 32))
        with tempfile.TemporaryDirectory() as name:
            os.environ["HF_DATASETS_CACHE"] = f"{name}/datasets"
            held = stage_and_loop(found, options, Path(name))
            ifeval(found, items, held, Path(name))
    except (Refusal, UserError) as error:
        print(error, file=sys.stderr)
        return 2
    table(found, options.quick)
    rounded = {key: round(value, 2) for key, value in found.numbers.items()}
    print(json.dumps(rounded | {"disagreements": len(found.differing), "items": len(items), "machine": machine()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
