"""Whether past runs were made under the right template: their passports and ids are made again and compared.

A wrong template moves four of six style scores for the better, so a run's own numbers cannot tell. What can:
the ids that were stored with the replies, the fingerprint in the adapter's card, and how many replies say nothing.
Decides nothing about scores.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from nightgarden import jsonl
from nightgarden.digests import sha256_text
from nightgarden.errors import Refusal, UserError
from nightgarden.evaluation import prompts, runs
from nightgarden.evaluation.answers import COLUMNS, Reply
from nightgarden.evaluation.evaluate import require_same_ids
from nightgarden.evaluation.runs import Past
from nightgarden.evaluation.vacuity import void_reason
from nightgarden.models import load, specs
from nightgarden.params import Params
from nightgarden.records import Record
from nightgarden.templates import passport, registry
from nightgarden.templates.fingerprint import differences, fingerprint

log = logging.getLogger(__name__)

MARK = "audit.json"
"""What an audit leaves beside a run: `compare` refuses a run that is marked invalid."""
MOST_VOID = 0.25
"""Share of void replies of a side from which on a run is suspect: under `[INST]` ids 34 of SmolLM2's 48 replies
were empty, under its own template none was (facts/evaluation.md, 2.7)."""

Verdict = Literal["valid", "suspect", "unverified", "invalid"]


class Audit(Record, frozen=True, kw_only=True):
    """What is to be thought of one run."""

    run: str
    """Its folder, relative to the one that was audited."""
    verdict: Verdict
    reasons: tuple[str, ...]


def audit(folder: Path, params: Params, root: Path) -> list[Audit]:
    """Audit every run at or below a folder, and leave the mark beside each.

    Args:
        folder: where runs lie; a run is a folder with replies.jsonl.
        params: the models by name.
        root: the checkout, for the models' folders.

    Raises:
        UserError: there is no run.
    """
    found = sorted(path.parent for path in folder.rglob(runs.REPLIES))
    if not found:
        raise UserError(f"no run lies at or below {folder}: no {runs.REPLIES} in it. Give a folder that `evaluate` wrote.")
    audits = []
    for place in found:
        name = place.relative_to(folder).as_posix()
        verdict, reasons = _verdict(place, params, root)
        audits.append(Audit(run=name, verdict=verdict, reasons=reasons))
        jsonl.write_json(place / MARK, audits[-1])
        log.info("%s: %s", name, verdict)
    return audits


def _verdict(place: Path, params: Params, root: Path) -> tuple[Verdict, tuple[str, ...]]:
    try:
        past = runs.read(place)
    except UserError as error:
        return "unverified", (str(error),)
    if faults := [*_own_faults(past), *_template_faults(past, params, root)]:
        return "invalid", tuple(faults)
    if doubt := _doubt(past, params, root):
        return "unverified", (doubt,)
    if past.run.served:
        return "unverified", (f"{', '.join(past.run.served.values())} answered behind a server: its weights are not known",)
    if void := list(_void(past.replies)):
        return "suspect", tuple(void)
    return "valid", ("its ids and its passport are those of today",)


def _own_faults(past: Past) -> Iterator[str]:
    """In what the run contradicts itself."""
    try:
        require_same_ids(past.replies, past.run.sides)
    except Refusal as error:
        yield str(error)
    for reply in past.replies:
        if sha256_text(jsonl.encode(list(reply.prompt_ids)).decode()) != reply.prompt_sha:
            yield f"prompt {reply.prompt}, seed {reply.seed}, {reply.side}: its ids are not those that its sha256 names"
            return


def _doubt(past: Past, params: Params, root: Path) -> str | None:
    """Why the run cannot be checked here, or None."""
    spec = params.models.get(past.run.base)
    if spec is None:
        return f"its base {past.run.base!r} is no model of params.yaml"
    try:
        here = specs.weights_digest(specs.folder(spec, root))
    except UserError as error:
        return f"its base is not here: {error}"
    return None if here == past.run.weights else f"its base {past.run.base} had other weights than the one that lies here"


def _template_faults(past: Past, params: Params, root: Path) -> Iterator[str]:
    """In what the run's template is not the one that its base speaks."""
    spec = params.models.get(past.run.base)
    if spec is None or _doubt(past, params, root):
        return
    template = registry.get(spec.template)
    folder = specs.folder(spec, root)
    has_adapter = "adapted" in past.run.sides and not past.run.served
    seal = passport.inspect(folder, past.run.card if has_adapter else None, template)
    yield from (f"{witness.name}: {witness.why}" for witness in seal.witnesses if witness.says == "refused")
    tokenizer = load.load_tokenizer(folder)
    if apart := differences(past.run.template, fingerprint(template, tokenizer)):
        yield f"its template was another; then and now: {'; '.join(apart)}"
    now = {item.prompt.id: item.ids for item in prompts.tokenise(past.prompts, template, tokenizer)}
    if wrong := [reply for reply in past.replies if now.get(reply.prompt) != reply.prompt_ids]:
        first = wrong[0]
        yield (
            f"{len({reply.prompt for reply in wrong})} of {len(now)} prompts were given other ids than {template.name} gives; "
            f"{first.prompt} began with {tokenizer.decode(list(first.prompt_ids)[:12])!r}, "
            f"where {tokenizer.decode(list(now.get(first.prompt, ()))[:12])!r} is right"
        )


def _void(replies: Sequence[Reply]) -> Iterator[str]:
    for side in COLUMNS:
        said = [void_reason(reply.text) for reply in replies if reply.side == side]
        void = [reason for reason in said if reason is not None]
        if said and len(void) / len(said) >= MOST_VOID:
            yield f"{len(void)} of {len(said)} replies of {side} are void ({void[0]}), as under a template that does not fit"


def require_not_invalid(folder: Path) -> None:
    """Refuse a run that an audit marked.

    Raises:
        Refusal: it is marked invalid.
    """
    if not (folder / MARK).is_file():
        return
    found: Audit = jsonl.read_json(folder / MARK, Audit)
    if found.verdict == "invalid":
        raise Refusal(f"{folder} was found invalid: {'; '.join(found.reasons)}. Evaluate again; its numbers mean nothing.")


def as_text(audits: Sequence[Audit]) -> str:
    """One line a run, then its reasons."""
    lines = []
    for item in audits:
        lines += [f"{item.verdict:10} {item.run}", *(f"{'':10} {reason}" for reason in item.reasons)]
    return "\n".join(lines)
