"""Any two runs against each other, prompt by prompt, as long as both were given the same token ids.

What else differs between them is told and not judged. Runs no model.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nightgarden import revisions
from nightgarden.errors import Refusal
from nightgarden.evaluation import audit, runs
from nightgarden.evaluation.answers import Side
from nightgarden.evaluation.results import rounded
from nightgarden.evaluation.runs import Past
from nightgarden.evaluation.verdicts import Comparison, compare, readable, told

HOME = Path("data/scores")
"""Where the run of a git revision lies."""


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One run's side against the same side of an earlier one."""

    before: str
    after: str
    side: Side
    comparison: Comparison
    beside: tuple[str, ...]
    """What else differs between the runs."""

    def as_dict(self) -> dict[str, Any]:
        """The shape that `nightgarden compare --json` prints."""
        return {
            "before": self.before,
            "after": self.after,
            "side": self.side,
            "beside": list(self.beside),
            "families": {name: asdict(item) for name, item in self.comparison.families.items()},
            "tests": {name: rounded(asdict(item)) for name, item in self.comparison.tests.items()},
            "compliance": {name: rounded(asdict(item)) for name, item in self.comparison.compliance.items()},
        }


def compare_runs(before: str, after: str, side: Side, alpha: float, root: Path) -> Compared:
    """Compare two runs, each the folder of one or a git revision whose `data/scores` is one.

    Raises:
        UserError: no such folder or revision.
        Refusal: they were not given the same ids, or one is marked invalid by an audit.
    """
    with ExitStack() as stack:
        first, second = (_open(name, root, stack) for name in (before, after))
        require_equal_ids(first, second, side)
        scored = [[item for item in run.scored if item.side == side] for run in (first, second)]
        return Compared(
            before=before,
            after=after,
            side=side,
            comparison=compare(scored[0], scored[1], before, alpha),
            beside=tuple(_beside(first, second)),
        )


def _open(name: str, root: Path, stack: ExitStack) -> Past:
    if (folder := root / name).is_dir():
        audit.require_not_invalid(folder)
        return runs.read(folder)
    revision = stack.enter_context(revisions.at(root, name))
    return runs.read_from(lambda file: revision.file(HOME / file), name)


def require_equal_ids(first: Past, second: Past, side: Side) -> None:
    """Refuse two runs that were not asked the same.

    Raises:
        Refusal: names the first prompt that differs.
    """
    asked = [
        {(reply.prompt, reply.seed): reply.prompt_sha for reply in run.replies if reply.side == side} for run in (first, second)
    ]
    apart = sorted(key for key in asked[0].keys() | asked[1].keys() if asked[0].get(key) != asked[1].get(key))
    if apart:
        (prompt, seed), shas = apart[0], [str(each.get(apart[0]))[:12] for each in asked]
        raise Refusal(
            f"{len(apart)} of {len(asked[0].keys() | asked[1].keys())} requests differ: prompt {prompt}, seed {seed} was ids "
            f"{shas[0]} in {first.name} and {shas[1]} in {second.name}. Evaluate both with the same prompts, seeds and template."
        )


def _beside(first: Past, second: Past) -> Iterator[str]:
    for field in ("base", "weights", "adapter", "machine", "libraries", "settings"):
        was, is_now = getattr(first.run, field), getattr(second.run, field)
        if was != is_now and not isinstance(was, dict):
            yield f"{field}: {was} and {is_now}"
        elif was != is_now:
            keys = sorted(key for key in was.keys() | is_now.keys() if was.get(key) != is_now.get(key))
            yield from (f"{field}, {key}: {was.get(key)} and {is_now.get(key)}" for key in keys)


def as_text(found: Compared) -> str:
    """The comparison as a person reads it: verdicts, then every test with its denominator."""
    lines = [f"{found.side} of {found.after} against {found.side} of {found.before}", ""]
    lines += [f"{family}: {item.verdict}. {item.reason}" for family, item in found.comparison.families.items()]
    lines += ["", *(f"  {told(name, test)}: {test.verdict}" for name, test in found.comparison.tests.items()), ""]
    lines += [
        f"  compliance, {readable(name)}: {item.before} then {item.after} of {item.of} ({item.low:+.0%} to {item.high:+.0%})"
        for name, item in found.comparison.compliance.items()
    ]
    return "\n".join([*lines, *(f"also different: {sentence}" for sentence in found.beside)])
