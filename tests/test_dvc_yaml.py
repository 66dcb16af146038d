"""dvc.yaml against the code: each stage's `deps` cover what it imports, and no value reaches a shell."""

import ast
import re
from pathlib import Path

import pytest
import yaml

from nightgarden.rule_params import RULES
from nightgarden.stages import STAGES

ROOT = Path(__file__).resolve().parents[1]
EXEMPT = {
    "nightgarden/params.py",
    "nightgarden/faults.py",
    "nightgarden/sections.py",
    "nightgarden/rule_params.py",
    "nightgarden/strict_yaml.py",
    "nightgarden/__init__.py",
    "nightgarden/__main__.py",
    *(f"nightgarden/cli/{name}.py" for name in ("__init__", "common", "models", "questions", "stages", "tracking")),
    "nightgarden/stages.py",
}
"""params.py: its values are tracked by `params:`. The others hold no stage's work."""
DVC_YAML = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]


def module_file(name: str) -> Path | None:
    """The file of a module of ours; for `package.name` also the package's own file."""
    path = ROOT / Path(*name.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def imported_files(path: Path) -> set[Path]:
    """Files of ours that a file imports when it runs (not those under TYPE_CHECKING)."""
    tree = ast.parse(path.read_text())
    typing_only = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for child in ast.walk(node)
    }
    names: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return {file for name in names if name.startswith("nightgarden") and (file := module_file(name))}


def closure(start: Path) -> set[str]:
    """Repository paths of everything of ours that a file pulls in, itself included."""
    seen: set[Path] = set()
    todo = [start]
    while todo:
        path = todo.pop()
        if path not in seen:
            seen.add(path)
            todo += list(imported_files(path))
    return {path.relative_to(ROOT).as_posix() for path in seen if not only_a_docstring(path)} - EXEMPT


def only_a_docstring(path: Path) -> bool:
    """Whether a file can change nothing: a package's mark."""
    return all(isinstance(node, ast.Expr) for node in ast.parse(path.read_text()).body)


def stages() -> list[tuple[str, str, dict]]:
    """(stage, key or "", its block with the key filled in)."""
    found = []
    for name, block in DVC_YAML.items():
        if "foreach" not in block:
            found.append((name, "", block))
            continue
        for rule in RULES:
            text = yaml.safe_dump(block["do"]).replace("${key}", rule)
            found.append((name, rule, yaml.safe_load(text)))
    return found


STAGE_IDS = [f"{name}@{key}" if key else name for name, key, _ in stages()]


def uncovered(files: set[str], deps: list[str]) -> set[str]:
    """Files that no dep names, itself or by its folder."""
    return {file for file in files if not any(file == dep or file.startswith(dep.rstrip("/") + "/") for dep in deps)}


@pytest.mark.parametrize(("name", "key", "block"), stages(), ids=STAGE_IDS)
def test_deps_cover_the_import_closure(name: str, key: str, block: dict) -> None:
    start = module_file(STAGES[name].module)
    assert start, f"{STAGES[name].module} has no file"
    needed = closure(start)
    if key and (rule := ROOT / f"nightgarden/curation/rules/{key}.py").is_file():
        needed |= closure(rule)
    missing = uncovered(needed, [dep for dep in block["deps"] if isinstance(dep, str)])
    assert not missing, f"dvc.yaml {name}: deps lack " + "\n      - ".join([""] + sorted(missing))


def test_a_planted_missing_dep_is_found() -> None:
    files = closure(module_file("nightgarden.curation.filter"))
    assert uncovered(files, sorted(files)) == set()
    assert uncovered(files, sorted(files - {"nightgarden/jsonl.py"})) == {"nightgarden/jsonl.py"}


@pytest.mark.parametrize(("name", "key", "block"), stages(), ids=STAGE_IDS)
def test_every_code_dep_exists_and_is_not_stale(name: str, key: str, block: dict) -> None:
    gone = [dep for dep in block["deps"] if str(dep).startswith(("nightgarden/", "data/seed")) and not (ROOT / dep).exists()]
    assert not gone, f"dvc.yaml {name}: deps name files that are not there: {gone}"


@pytest.mark.parametrize(("name", "key", "block"), stages(), ids=STAGE_IDS)
def test_a_command_is_the_module_the_stage_and_its_key(name: str, key: str, block: dict) -> None:
    assert block["cmd"] == f"python -m nightgarden {name}" + (f" {key}" if key else "")


def test_no_value_of_params_is_pasted_into_a_command() -> None:
    for name, block in DVC_YAML.items():
        command = (block.get("do") or block)["cmd"]
        assert set(re.findall(r"\$\{(.*?)\}", command)) <= {"key"}, f"{name}: {command}; a shell runs interpolated values"


def test_the_filter_passes_are_a_dict_that_names_the_predecessor() -> None:
    passes = yaml.safe_load((ROOT / "params.yaml").read_text())["curation"]["passes"]
    assert tuple(passes) == RULES
    for before, after in zip(("synthesise", *RULES), RULES, strict=False):
        assert passes[after]["prev"] == before
