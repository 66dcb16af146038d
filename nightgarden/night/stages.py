"""The list of nights, and the DVC stages that are written from it.

`data/nights/nights.yaml` says which days each night took; `data/nights/dvc.yaml` has two explicit
stages a night, since DVC cannot freeze an item of a `foreach`. A past night's block is kept as it was
written: a change of code retrains only tonight. Knows file names, nothing of what is in the files.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from nightgarden import jsonl
from nightgarden.errors import UserError
from nightgarden.records import Record
from nightgarden.teacher.items import NIGHTS

LIST = NIGHTS / "nights.yaml"
STAGES = NIGHTS / "dvc.yaml"
STUDENTS = Path("models/student")
REPORTS = Path("reports/nights")
PACKAGE = Path(__file__).resolve().parents[1]
LABEL, DISTIL = "teacher/label.py", "night/steps.py"
"""Modules of the two stages, below the package."""
TEXTS = ("teacher/prompts/*.md", "templates/*.jinja", "chat/server.py")
"""What a teacher needs beside imports: instructions, chat templates, and the embedded server that runs as a child."""
EXEMPT = {"nightgarden/params.py", "nightgarden/__init__.py"}
"""params.py: its values are tracked by `params:`."""


class Night(Record, frozen=True, kw_only=True):
    """One line of nights.yaml."""

    night: str
    """YYYY-MM-DD, the night's name: not before its last day."""
    days: tuple[str, ...]
    """The local days that it took, YYYY-MM-DD, ascending."""


def read_nights(root: Path) -> list[Night]:
    """All nights in their order; none where the list does not exist yet.

    Raises:
        UserError: not a list of {night, days}, or out of order.
    """
    path = root / LIST
    if not path.is_file():
        return []
    try:
        raw = yaml.safe_load(path.read_text()) or []
        nights = [Night(night=str(item["night"]), days=tuple(str(day) for day in item["days"])) for item in raw]
    except (yaml.YAMLError, TypeError, KeyError) as error:
        raise UserError(f"{path} is not a list of {{night, days}}: {error!r}. Restore it with `git checkout {LIST}`.") from error
    names = [item.night for item in nights]
    if names != sorted(set(names)):
        raise UserError(f"{path} lists the nights {names}; they must ascend. Restore it with `git checkout {LIST}`.")
    return nights


def until(night: str, root: Path) -> list[Night]:
    """The nights up to and including `night`.

    What a stage learns here is spelled out in its own `deps`, so nights.yaml is none of them.

    Raises:
        UserError: the night is not listed.
    """
    nights = [item for item in read_nights(root) if item.night <= night]
    if not nights or nights[-1].night != night:
        raise UserError(f"{LIST} does not list the night {night}. Freeze it first; `{LIST}` names the nights that are frozen.")
    return nights


def order_fault(new: Night, nights: Iterable[Night]) -> str | None:
    """Why a night cannot follow the listed ones, or None; the same night again is fine."""
    for day in (new.night, *new.days):
        try:
            date.fromisoformat(day)
        except ValueError:
            return f"{day!r} is not a date; nights and days are named like 2026-09-18"
    if not new.days or list(new.days) != sorted(set(new.days)) or new.days[-1] > new.night:
        return f"night {new.night} has the days {list(new.days)}; it needs at least one, ascending, none after the night"
    for old in nights:
        if old.night == new.night and old.days != new.days:
            return f"night {new.night} is listed with the days {list(old.days)}, and now comes with {list(new.days)}"
        if old.night != new.night and (old.night > new.night or old.days[-1] >= new.days[0]):
            return f"night {new.night} from {new.days[0]} on does not follow night {old.night}, which ends with {old.days[-1]}"
    return None


def add_night(new: Night, root: Path) -> None:
    """List a night after the others and write the stages anew; listing it again changes nothing.

    Raises:
        UserError: the night does not follow the listed ones.
    """
    nights = read_nights(root)
    if fault := order_fault(new, nights):
        raise UserError(f"{fault}. See {LIST}.")
    if new not in nights:
        nights.append(new)
        rows = [{"night": item.night, "days": list(item.days)} for item in nights]
        jsonl.write_text(root / LIST, yaml.safe_dump(rows, sort_keys=False))
    write_stages(root)


def write_stages(root: Path, *, keep_past: bool = True) -> None:
    """Write data/nights/dvc.yaml from the list of nights.

    Args:
        root: the checkout.
        keep_past: past nights stay as written, with `frozen: true`. False makes every block anew
            without `frozen`, to replay the whole history.
    """
    path = root / STAGES
    old = (yaml.safe_load(path.read_text()) or {}).get("stages", {}) if path.is_file() else {}
    nights = read_nights(root)
    files = {start: code(start) for start in (LABEL, DISTIL)}
    blocks: dict[str, Any] = {}
    for number, item in enumerate(nights):
        for name, block in _blocks(item.night, [before.night for before in nights[:number]], files).items():
            past = keep_past and number < len(nights) - 1
            blocks[name] = old.get(name, block) | {"frozen": True} if past else block
    text = yaml.safe_dump({"stages": blocks}, sort_keys=False, width=1000)
    # A file here that does not parse would stop every `dvc` command of the repository.
    if yaml.safe_load(text) != {"stages": blocks}:
        raise ValueError(f"{STAGES} would not read back as it was written: {text[:200]}")
    jsonl.write_text(path, text)


def _blocks(night: str, earlier: list[str], files: dict[str, list[str]]) -> dict[str, Any]:
    """The two stages of one night; every file that they read is named, code by `files`."""
    here, student = NIGHTS / night, STUDENTS / night
    past = [NIGHTS / name / file for name in earlier for file in ("lessons.jsonl", "record.json")]
    past += [NIGHTS / earlier[-1] / "split.jsonl"] if earlier else []
    past += [STUDENTS / name for name in earlier]
    texts = sorted(path.relative_to(PACKAGE.parent).as_posix() for pattern in TEXTS for path in PACKAGE.glob(pattern))
    label = {
        "cmd": f"python -m nightgarden label {night}",
        "wdir": "../..",
        "deps": [*files[LABEL], *texts, "models/base/smollm2-135m/digests.json", str(here / "day.jsonl")],
        "params": ["base", "night"],
        "outs": [str(here / "labels.jsonl"), str(here / "label_counts.json")],
    }
    reads = [here / "day.jsonl", here / "labels.jsonl", here / "label_counts.json", *past]
    writes = ["lessons.jsonl", "split.jsonl", "predictions.jsonl", "record.json", "report.html"]
    distil = {
        "cmd": f"python -m nightgarden distil {night}",
        "wdir": "../..",
        "deps": [*files[DISTIL], "models/base/minilm/digests.json", *map(str, reads)],
        "params": ["night"],
        "outs": [*(str(here / name) for name in writes), str(student)],
        # In DVC's cache like every other output: a night's commit holds files below data/nights only.
        "metrics": [str(REPORTS / f"{night}.json")],
    }
    return {f"label-{night}": label, f"distil-{night}": distil}


def code(start: str) -> list[str]:
    """Every file of ours that a module runs, by import, itself included; sorted repository paths.

    DVC follows no imports: what is not named here could change without making the stage stale.
    """
    seen: set[Path] = set()
    todo = [PACKAGE / start]
    while todo:
        path = todo.pop()
        if path not in seen:
            seen.add(path)
            todo += _imported(path)
    names = {path.relative_to(PACKAGE.parent).as_posix() for path in seen if path.stat().st_size}
    return sorted(names - EXEMPT)


def _imported(path: Path) -> list[Path]:
    """Files of ours that a file imports when it runs; imports under TYPE_CHECKING are not run."""
    names: set[str] = set()
    todo: list[ast.AST] = [ast.parse(path.read_text())]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        todo += ast.iter_child_nodes(node)
    parts = [PACKAGE.parent.joinpath(*name.split(".")) for name in names if name.split(".")[0] == "nightgarden"]
    return [file for part in parts for file in (part.with_suffix(".py"), part / "__init__.py") if file.is_file()]
