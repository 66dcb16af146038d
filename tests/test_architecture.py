"""The import rules of the house, each printed in its own words when it breaks."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "nightgarden"
GROUND_FLOOR = [
    "errors",
    "records",
    "faults",
    "sections",
    "rule_params",
    "strict_yaml",
    "params",
    "jsonl",
    "digests",
    "clock",
    "loopback",
    "tracking",
    "stage",
    "revisions",
    "models",
    "templates",
    "chat",
]
DOORS = {
    "shell": {"memory", "reflection", "student.predict", "trust.blend"},
    "reflection": {"memory"},
    "night": {"memory", "teacher", "student", "trust"},
}
HEAVY = {"torch", "transformers", "peft", "trl", "safetensors", "gguf"}
HEAVY_ROOMS = (
    "models/",
    "templates/",
    "training/",
    "evaluation/generate.py",
    "evaluation/divergence.py",
    "student/",
    "chat/local.py",
)
TREE = {p: ast.parse(p.read_text()) for top in ("nightgarden", "tasks", "flows", "infra") for p in (ROOT / top).rglob("*.py")}


def imports(path: Path, typing_too: bool = True) -> set[str]:
    """Absolute names that a file imports; without those under TYPE_CHECKING if asked."""
    found: set[str] = set()
    skipped = set()
    for node in ast.walk(TREE[path]):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test) and not typing_too:
            skipped |= {id(child) for child in ast.walk(node)}
    for node in ast.walk(TREE[path]):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; rule: imports are absolute"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def place(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize(
    ("storey", "above"),
    [("nightgarden", {"tasks", "flows", "infra"}), ("tasks", {"flows", "infra"}), ("flows", {"infra"})],
)
def test_imports_go_infra_flows_tasks_nightgarden_and_never_back(storey: str, above: set[str]) -> None:
    broken = [
        f"{place(path)} imports {name}"
        for path in TREE
        if place(path).startswith(storey + "/")
        for name in imports(path)
        if name.split(".")[0] in above
    ]
    assert not broken, f"rule: imports go infra -> flows -> tasks -> nightgarden, never back: {broken}"


def test_a_flow_names_of_the_library_only_records_params_and_errors() -> None:
    allowed = ("nightgarden.records", "nightgarden.params", "nightgarden.errors")
    broken = [
        f"{place(path)} imports {name}"
        for path in TREE
        if place(path).startswith("flows/")
        for name in imports(path)
        if name.startswith("nightgarden") and not name.startswith(allowed)
    ]
    assert not broken, f"rule: a flow may also name records and params, nothing deeper: {broken}"


def test_the_library_knows_no_prefect_and_mlflow_and_dvc_only_in_their_one_file() -> None:
    broken = []
    for path in LIBRARY.rglob("*.py"):
        tops = {name.split(".")[0] for name in imports(path)}
        if "prefect" in tops:
            broken.append(f"{place(path)} imports prefect")
        if "mlflow" in tops and path.name != "tracking.py":
            broken.append(f"{place(path)} imports mlflow")
        if "dvc" in tops and path.name != "revisions.py":
            broken.append(f"{place(path)} imports dvc")
    assert not broken, f"rule: nightgarden imports no prefect; mlflow only in tracking.py, dvc only in revisions.py: {broken}"


def _room(path: Path) -> str:
    return path.relative_to(LIBRARY).parts[0].removesuffix(".py")


def test_rooms_meet_only_on_the_ground_floor_or_through_their_doors() -> None:
    broken = []
    for path in LIBRARY.rglob("*.py"):
        room = _room(path)
        if room in {"__init__", "__main__", "cli", "study"}:
            continue
        for name in imports(path, typing_too=False):
            if not name.startswith("nightgarden."):
                continue
            other = name.split(".")[1]
            if room in GROUND_FLOOR:
                fine = other == room or (other in GROUND_FLOOR and GROUND_FLOOR.index(other) < GROUND_FLOOR.index(room))
            else:
                doors = DOORS.get(room, set())
                fine = other == room or other in GROUND_FLOOR or any(name.startswith(f"nightgarden.{door}") for door in doors)
            if not fine:
                broken.append(f"{place(path)} imports {name}")
    assert not broken, f"rule: a room imports the ground floor (in its order), itself, and other rooms only by a door: {broken}"


def test_nobody_imports_the_command_line() -> None:
    broken = [
        f"{place(path)} imports {name}"
        for path in TREE
        for name in imports(path)
        if name.startswith("nightgarden.cli") and path.name != "__main__.py" and _room(path) != "cli"
    ]
    assert not broken, f"rule: nobody imports cli: {broken}"


def test_heavy_libraries_stay_in_the_rooms_that_run_models() -> None:
    broken = [
        f"{place(path)} imports {name}"
        for path in LIBRARY.rglob("*.py")
        for name in imports(path, typing_too=False)
        if name.split(".")[0] in HEAVY and not path.relative_to(LIBRARY).as_posix().startswith(HEAVY_ROOMS)
    ]
    assert not broken, f"rule: torch, transformers, peft only in {HEAVY_ROOMS}: {broken}"


def test_the_library_reads_no_clock_environment_or_random_state_on_its_own() -> None:
    wrong = re.compile(
        r"datetime\.now\(|time\.time\(|date\.today\(|os\.environ|os\.getenv|random\.(random|seed|shuffle|choice)\("
    )
    allowed = {"clock.py", "tracking.py", "cli/__init__.py", "cli/common.py"}
    broken = [
        f"{place(path)}:{number}: {line.strip()}"
        for path in LIBRARY.rglob("*.py")
        if path.relative_to(LIBRARY).as_posix() not in allowed
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if wrong.search(line)
    ]
    assert not broken, f"rule: now, seed and settings are arguments: {broken}"


def test_importing_the_light_rooms_pulls_in_no_heavy_library() -> None:
    code = (
        "import sys, nightgarden.cli, nightgarden.curation.filter, nightgarden.trust.gate, nightgarden.memory.migrations;"
        f"print(sorted({HEAVY!r} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_flow_files_have_two_word_names() -> None:
    broken = [path.name for path in (ROOT / "flows").glob("*.py") if "_" not in path.stem]
    assert not broken, f"rule: flow files have two-word names (Prefect registers the bare name): {broken}"


def test_files_and_functions_keep_their_size() -> None:
    long_files = [f"{place(p)} ({len(p.read_text().splitlines())} lines)" for p in TREE if len(p.read_text().splitlines()) > 440]
    long_functions = [
        f"{place(path)}:{node.lineno} {node.name} ({node.end_lineno - node.lineno + 1} lines)"
        for path, tree in TREE.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.end_lineno and node.end_lineno - node.lineno >= 60
    ]
    assert not long_files and not long_functions, (
        f"rule: files about 400 lines, functions fit a screen: {long_files + long_functions}"
    )
