"""secrets: keys, tokens and passwords, anywhere in a row, meta included.

`ingest` puts a mark with the kind and the start of the sha256 in place of a secret, so that no file of
ours holds one; the rule hits the mark, and a secret that came another way. Patterns follow the
prefixes that the issuers publish (as in gitleaks.toml, MIT, 2026-07); entropy alone is no evidence:
detect-secrets with it flags 98 % of plain prose. Not found: a bare password in prose.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import msgspec
import re2

from nightgarden.curation.canaries import Canaries, bad_row, clean_rows, row
from nightgarden.curation.matching import ROW, Found, Patterns, Triggers, engine, fold
from nightgarden.digests import example_id, sha256_text
from nightgarden.jsonl import encode
from nightgarden.records import Example, Hit, Turn
from nightgarden.rule_params import RuleSettings

_KINDS = {
    "aws access key": r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
    "anthropic key": r"\bsk-ant-[A-Za-z0-9_-]{20,}",
    "openai key": r"\bsk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{32,})",
    "github token": r"\b(?:gh[opusr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})",
    "gitlab token": r"\bglpat-[A-Za-z0-9_-]{20,}",
    "hugging face token": r"\bhf_[A-Za-z0-9]{30,}",
    "slack token": r"\bxox[abeoprs]-[A-Za-z0-9-]{20,}",
    "google key": r"\bAIza[A-Za-z0-9_-]{35}",
    "stripe key": r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}",
    "npm token": r"\bnpm_[A-Za-z0-9]{36}\b",
    "pypi token": r"\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,}",
    "sendgrid key": r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}",
    "telegram token": r"(?:\b|bot)[0-9]{8,10}:AA[A-Za-z0-9_-]{33}",
    "json web token": r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    "private key": r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:[^-]*-----END [A-Z0-9 ]*-----)?",
    "password in a url": r"\b[a-z][a-z0-9+.-]*://[^/\s:@\"']+:[^/\s:@\"']{6,}@",
    "assigned secret": r"(?i)\b(?:[a-z0-9]+[_-])*(?:password|passwd|secret|api[_-]?key|access[_-]?key|token)\b"
    r"\\?[\"']?\s{0,3}[:=]\s{0,3}\\?[\"']?[a-z0-9_/+.~$@%^&*#!-]{10,}",  # a quote inside JSON has a backslash
}
_PATTERNS = Patterns(_KINDS)
_MARK = re2.compile(rf"⟦({'|'.join(_KINDS)}), sha256 ([0-9a-f]{{12}})⟧")
"""What stands in place of a secret: kind, and the start of its sha256."""
_ESCAPE = re2.compile(r"\\u([0-9A-Fa-f]{4})")
_VALUE = re2.compile(r"[:=]\s*\\?[\"']?([^\s\"']+)$")
_PATH = re2.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_IN_URL = re2.compile(r"://[^:]*:(.*)@$")
_VARIABLE = re2.compile(r"\$\{?[A-Z_][A-Z0-9_]*\}?|\$?\{[^{}]+\}|\{\{[^{}]+\}\}|%\w+%|<[^<>]+>|\*+")
"""What stands for a password that is filled in elsewhere, or was masked."""
_SLOT = re2.compile(r"(?i)your[_-]")
FILLER = 8
"""So many equal characters in a row are a filler (`ghp_xxxx...`): of random keys fewer than one in 10^10 holds such a run."""

ENGINE = engine(*_KINDS.values(), *(each.pattern for each in (_VALUE, _PATH, _IN_URL, _VARIABLE, _SLOT)))
# In parts: a scanner that looks for keys in source code is right to stop at a whole one.
CANARY_BAD = (
    "AKIA" + "Q3ZT7MWR2XK9PLVD",
    "sk-ant-" + "api03-Vt8mQ2xLr5NbYc0KdHs7WfZa",
    "sk-proj-" + "Vt8mQ2xLr5NbYc0KdHs7WfZa3JpE",
    "ghp_" + "Zk83nVqLw0RtYb5XsMd27hJfGcPa9uE4oTiN",
    "glpat-" + "Zk83nVqLw0RtYb5XsMd2",
    "hf_" + "bQmXkWtRzLpVnYcJdHsGfAeUoTiMwNxKrZ",
    "xoxb-" + "2281940573316-7730125588460-Qh7VtLz0mWc3",
    "AIza" + "SyB3nVqLw0RtYb5XsMd27hJfGcPa9uE4oTi",
    "sk_live_" + "Zk83nVqLw0RtYb5XsMd2",
    "npm_" + "Zk83nVqLw0RtYb5XsMd27hJfGcPa9uE4oTiN",
    "pypi-" + "AgEIcHlwaS5vcmc" + "CJDNkYzJjODE0LTRiYjktNDY2Ny1hOGY1LTk4ZDVjN2Y4ODk3ZQACKlsz",
    "SG." + "Zk83nVqLw0RtYb5XsMd27h" + ".JfGcPa9uE4oTiNZk83nVqLw0RtYb5XsMd27hJfGcPa9",
    "7730125588:" + "AAH3nVqLw0RtYb5XsMd27hJfGcPa9uE4oTi",
    "https://api.telegram.org/bot7730125588:" + "AAH3nVqLw0RtYb5XsMd27hJfGcPa9uE4oTi/getMe",
    "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiI4ODE0MiJ9" + ".q7Xw3Ztb0YkVnP5sLrJdE2mH",
    "-----BEGIN OPENSSH " + "PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU",
    "postgres://clock:" + "Pendulum7731@db.example.org/hall",
    "DB_PASSWORD = " + '"Pendulum-7731-hall"',
    r"{\"client_secret\": " + r"\"Pendulum7731hall\"}",
)


def canaries(settings: RuleSettings) -> Canaries:
    """One of each kind in a prompt, and one in each place where a key can hide."""
    bad = tuple(bad_row("secrets", number, "Revoke it.", prompt=f"Is {key} right?") for number, key in enumerate(CANARY_BAD))
    turns = clean_rows()[1].turns
    hidden = (
        row("secrets:contrast", op=1, turns=turns, meta={"contrast": f"Use {CANARY_BAD[0]}."}),
        row("secrets:foreign", op=0, turns=turns, meta={"foreign": {"auth": [CANARY_BAD[3]]}}),
        row("secrets:directive", op=0, turns=turns, directives=(f"Always send {CANARY_BAD[5]}",)),
        row("secrets:zero_width", op=0, turns=(Turn(role="user", content="\u200b".join(CANARY_BAD[0])), turns[1])),
    )
    return Canaries(bad=bad + hidden, clean=clean_rows())


def triggers(settings: RuleSettings, prompts: object = ()) -> Triggers:
    """The mark that `ingest` put in place of a secret: only its rows are judged by triggers."""
    return Triggers(answers="⟦", others="⟦")


def hits(example: Example, settings: RuleSettings) -> tuple[Hit, ...]:
    """Every secret by kind; those outside the turns as hits on the row that name the place."""
    return tuple(
        Hit(turn=turn, start=start, end=end, reason=f"{kind}{place}, sha256 {digest}")
        for turn, place, text in _texts(example)
        for kind, digest, start, end in _located(turn, text)
    )


def found_in(raw: str) -> bool:
    """Whether a raw line holds a secret, also one that is hidden behind JSON's escapes."""
    plain = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), raw).encode("utf-8", "replace").decode()
    return any(_find(text) for text in {raw, plain})


def masked(text: str) -> str:
    """The text with a mark in place of every secret."""
    for kind, start, end in reversed(_find(text)):
        text = text[:start] + _mark(kind, text[start:end]) + text[end:]
    return text


def _mark(kind: str, secret: str) -> str:
    return f"⟦{kind}, sha256 {_digest(secret)}⟧"


def masked_example(example: Example) -> Example:
    """The example with a mark in place of every secret, under the id of what it then holds.

    `meta.masked` lists the kinds. The same example comes back where there is none.
    """
    texts = [text for _, _, text in _texts(example)]
    if not _PATTERNS.occur_in("\n".join(fold(text).text for text in texts)):  # no pattern knows the ends of a text
        return example
    kinds = sorted({kind for text in texts for kind, _, _ in _find(text)})
    if not kinds:
        return example
    turns = tuple(msgspec.structs.replace(turn, content=masked(turn.content)) for turn in example.turns)
    memories = tuple(msgspec.structs.replace(memory, text=masked(memory.text)) for memory in example.memories)
    directives = tuple(map(masked, example.directives))
    return msgspec.structs.replace(
        example,
        id=example_id(example.op, turns, memories, directives),
        turns=turns,
        memories=memories,
        directives=directives,
        meta=_masked_value(example.meta) | {"masked": kinds},
    )


def _masked_value(value: Any) -> Any:
    """A JSON value with every text in it masked, keys included."""
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, list):
        return [_masked_value(item) for item in value]
    if isinstance(value, dict):
        return {masked(key): _masked_pair(key, item) for key, item in value.items()}
    return value


def _masked_pair(key: str, value: Any) -> Any:
    """A value under its key: `{"password": "..."}` is an assignment, though neither half is a secret by itself."""
    inside = _masked_value(value)
    if isinstance(inside, str) and (found := _find(encode({key: inside}).decode())):
        return _mark(found[0].name, inside)
    return inside


def _digest(secret: str) -> str:
    return sha256_text(fold(secret).text)[:12]


def _find(text: str) -> list[Found]:
    """Secrets in a text; overlapping ones (a key that is also assigned) as one, so that masking is safe."""
    kept: list[Found] = []
    for found in _PATTERNS.find(fold(text)):
        if _is_innocent(found, text):
            continue
        if kept and found.start < kept[-1].end:
            kept[-1] = kept[-1]._replace(end=max(kept[-1].end, found.end))
        else:
            kept.append(found)
    return kept


def _is_innocent(found: Found, text: str) -> bool:
    """Examples of manuals, slots and variables; an assignment of prose or code (`password = hashlib.sha256(...)`)."""
    secret = fold(text[found.start : found.end]).text
    if found.name == "private key":
        return False
    if found.name == "password in a url":
        password = _IN_URL.search(secret)
        return password is not None and _VARIABLE.fullmatch(password[1]) is not None
    if "EXAMPLE" in secret or any(len(list(run)) >= FILLER for _, run in groupby(secret)):
        return True
    if found.name != "assigned secret":
        return _SLOT.search(secret) is not None
    value = _VALUE.search(secret)
    return (
        value is None
        or text[found.end : found.end + 1] == "("
        or not _mixed(value[1])
        or any(innocent.fullmatch(value[1]) for innocent in (_PATH, _VARIABLE))
    )


def _mixed(value: str) -> bool:
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def _located(turn: int, text: str) -> Iterator[tuple[str, str, int, int]]:
    found = [(kind, _digest(text[start:end]), start, end) for kind, start, end in _find(text)]
    found += [(mark[1], mark[2], *mark.span()) for mark in _MARK.finditer(text)]
    for kind, digest, start, end in sorted(found, key=lambda item: item[2]):
        yield (kind, digest, 0, 0) if turn == ROW else (kind, digest, start, end)


def _texts(example: Example) -> Iterator[tuple[int, str, str]]:
    """Turn index, place for the reason, text: the whole row."""
    for index, turn in enumerate(example.turns):
        yield index, "", turn.content
    for memory in example.memories:
        yield ROW, " in a memory", memory.text
    for directive in example.directives:
        yield ROW, " in a directive", directive
    if example.meta:
        yield ROW, " in meta", encode(example.meta).decode()
