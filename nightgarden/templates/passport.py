"""A model's passport: independent witnesses of which chat template it speaks, and their verdict.

A wrong template is the silent killer: style scores get better with it. So the tokenizer's control ids,
a canary's rendering, the config and an adapter's card are heard apart, and one that disagrees refuses the
run. A model that no family knows gets its native template and the verdict `unverified`; there is no default
family. Does not look at weights.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from os.path import commonprefix
from pathlib import Path
from typing import Any, Literal

from nightgarden.errors import Refusal, UserError
from nightgarden.models.load import load_tokenizer
from nightgarden.templates import canary, families, registry
from nightgarden.templates.families import Family
from nightgarden.templates.fingerprint import CARD_KEY, differences, fingerprint
from nightgarden.templates.registry import ChatTemplate

Verdict = Literal["agree", "unverified", "refused"]


@dataclass(frozen=True, kw_only=True)
class Witness:
    """One source of evidence."""

    name: str
    """tokenizer, canary, config or card."""
    says: Verdict
    why: str


@dataclass(frozen=True, kw_only=True)
class Passport:
    """What the witnesses say of a model folder."""

    folder: Path
    family: str | None
    """Known family, or None."""
    template: ChatTemplate | None
    """The template to use; None where the model is unknown and brings none."""
    witnesses: tuple[Witness, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst that any witness says."""
        said = {witness.says for witness in self.witnesses}
        return "refused" if "refused" in said else "unverified" if "unverified" in said else "agree"

    def as_dict(self) -> dict[str, Any]:
        """The shape that `nightgarden template inspect --json` prints."""
        witnesses = [{"name": item.name, "says": item.says, "why": item.why} for item in self.witnesses]
        return {"family": self.family, "verdict": self.verdict, "witnesses": witnesses}


def inspect(folder: Path, card: Mapping[str, Any] | None = None, template: ChatTemplate | None = None) -> Passport:
    """Hear the witnesses on a model folder.

    Args:
        folder: a model's folder, with config.json and tokenizer.json.
        card: an adapter's card, if one is to be used with the model.
        template: the template that somebody means to use; None lets tokenizer and canary propose one.

    Raises:
        UserError: the folder is not a model's.
    """
    shape = families.shape_of(_config(folder))
    tokenizer = load_tokenizer(folder)
    native = registry.native(tokenizer) if tokenizer.chat_template else None
    family = families.named(template.family) if template else _proposed(folder, tokenizer, native, shape)
    chosen = template or (registry.get(family.name) if family else native)
    witnesses = [
        _hear_tokenizer(folder, tokenizer, family),
        _hear_canary(tokenizer, family, chosen, native),
        _hear_config(shape, family),
    ]
    if card is not None:
        witnesses.append(_hear_card(card, chosen, tokenizer))
    return Passport(folder=folder, family=family.name if family else None, template=chosen, witnesses=tuple(witnesses))


def require(passport: Passport) -> None:
    """Stop where a witness disagrees.

    Raises:
        Refusal: names each disagreeing witness with its reason.
    """
    against = [f"{witness.name}: {witness.why}" for witness in passport.witnesses if witness.says == "refused"]
    if against:
        name = passport.template.name if passport.template else "none"
        raise Refusal(
            f"the chat template ({name}) does not fit {passport.folder}. {'; '.join(against)}. "
            "Restore what was changed, or name the right `template` in params.yaml and train the adapter again."
        )


def _config(folder: Path) -> dict[str, Any]:
    try:
        config: dict[str, Any] = json.loads((folder / "config.json").read_bytes())
    except (OSError, ValueError) as error:
        raise UserError(f"{folder} has no readable config.json ({error}). Give the folder of a model.") from error
    return config


def _proposed(folder: Path, tokenizer: Any, native: ChatTemplate | None, shape: families.Shape) -> Family | None:
    """The family that tokenizer and native template both speak for; None where they know none or differ.

    A model of another type (mistral3) is one that we do not know, whatever its tokenizer. One of the family's type with
    other numbers stays the family's, for its config to veto: it may be damaged.
    """
    fitting = [item for item in _alike(folder, tokenizer) if shape.model_type in {known.model_type for known in item.shapes}]
    if native is not None:
        text = canary.observe(native, tokenizer).text
        fitting = [family for family in fitting if family.canary == text]
    return fitting[0] if len(fitting) == 1 else None


def _alike(folder: Path, tokenizer: Any) -> list[Family]:
    """The families whose tokenizer this could be."""
    return [family for family in families.FAMILIES if not _token_faults(folder, tokenizer, family)]


def _token_faults(folder: Path, tokenizer: Any, family: Family) -> list[str]:
    """In what the tokenizer is not the family's: ids, foreign control tokens, version of a tekken.json."""
    control = registry.specials(tokenizer)
    came = {token: tokenizer.convert_tokens_to_ids(token) if token in control else None for token in family.ids}
    missing = [token for token, number in came.items() if number is None]
    faults = [f"it has no control token {', '.join(missing)}"] if missing else []
    faults += [
        f"{token} is {came[token]}, not {wanted}" for token, wanted in family.ids.items() if came[token] not in (None, wanted)
    ]
    faults += [f"{token} is a control token, which {family.name} has not" for token in family.absent if token in control]
    return faults + _tekken_faults(folder / "tekken.json", family)


def _tekken_faults(path: Path, family: Family) -> list[str]:
    """In what a tekken.json beside the tokenizer is not the family's.

    With mistral-common installed, other programs (vLLM, transformers) read that file instead of ours.
    """
    if not path.is_file():
        return []
    try:
        version = json.loads(path.read_bytes())["config"]["version"]
    except (ValueError, KeyError, TypeError):
        return [f"{path.name} tells no version"]
    if version == family.version:
        return []
    wanted = f"not {family.version}" if family.version else f"and {family.name} has no such file"
    return [f"{path.name} has version {version}, {wanted}"]


def _heard(name: str, faults: list[str], fine: str) -> Witness:
    return Witness(name=name, says="refused" if faults else "agree", why="; ".join(faults) or fine)


def _hear_tokenizer(folder: Path, tokenizer: Any, family: Family | None) -> Witness:
    if family is None:
        near = " or ".join(item.name for item in _alike(folder, tokenizer))
        why = (
            f"its control ids are those of {near}, but not its template or type of model"
            if near
            else "no family has its control ids"
        )
        return Witness(name="tokenizer", says="unverified", why=why)
    faults = _token_faults(folder, tokenizer, family)
    ids = ", ".join(f"{token} {wanted}" for token, wanted in family.ids.items())
    return _heard("tokenizer", faults, f"control ids as known: {ids}")


def _hear_canary(tokenizer: Any, family: Family | None, chosen: ChatTemplate | None, native: ChatTemplate | None) -> Witness:
    if chosen is None:
        return Witness(name="canary", says="refused", why="the model is unknown and brings no template of its own")
    try:
        seen = canary.observe(chosen, tokenizer)
        own = canary.observe(native, tokenizer) if native else None
    except (Refusal, UserError) as error:
        return Witness(name="canary", says="refused", why=_clause(error))
    faults = [] if seen.exact else ["the ids made piece by piece are not those of the whole text"]
    if family is None:
        says: Verdict = "refused" if faults else "unverified"
        return Witness(name="canary", says=says, why="; ".join([f"template {chosen.name}: {seen}", *faults]))
    if seen.text != family.canary:
        faults.append(f"template {chosen.name} ({seen}) {_apart(seen.text, family.canary)} in family {family.name}")
    if seen.adds_text:
        faults.append(f"template {chosen.name} brings a default system text of its own")
    if own is not None and own.text != family.canary:
        faults.append(f"the model's own template ({own}) {_apart(own.text, family.canary)} in family {family.name}")
    return _heard("canary", faults, f"template {chosen.name}: {seen}")


def _clause(error: Exception) -> str:
    """An error's text without its full stop, to stand inside a sentence."""
    return str(error).removesuffix(".")


def _apart(came: str, wanted: str) -> str:
    """Where two renderings part, with the text around that place."""
    place = len(commonprefix([came, wanted]))
    around = slice(max(0, place - 12), place + 12)
    return f"renders {came[around]!r} from character {around.start} on, where it is {wanted[around]!r}"


def _hear_config(shape: families.Shape, family: Family | None) -> Witness:
    """Only a veto: a config never speaks for a family, since fine-tunes with other templates share it."""
    if family is None:
        return Witness(name="config", says="unverified", why=f"no family to compare with: {shape}")
    if shape in family.shapes:
        return Witness(name="config", says="agree", why=f"no veto: {shape}")
    known = " or ".join(str(item) for item in family.shapes)
    return Witness(name="config", says="refused", why=f"it is {shape}; {family.name} is {known}")


def _hear_card(card: Mapping[str, Any], chosen: ChatTemplate | None, tokenizer: Any) -> Witness:
    kept = card.get(CARD_KEY)
    if not isinstance(kept, dict):
        return Witness(name="card", says="refused", why=f"the adapter's card has no {CARD_KEY!r} fingerprint")
    if chosen is None:
        return Witness(name="card", says="refused", why="there is no template to compare with")
    try:
        found = differences(kept, fingerprint(chosen, tokenizer))
    except (Refusal, UserError) as error:
        found = [_clause(error)]
    if found:
        return Witness(name="card", says="refused", why=f"trained with another template; card and now: {'; '.join(found)}")
    return Witness(name="card", says="agree", why="template, memory block, tokenizer and golden ids as in training")
