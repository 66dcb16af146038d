"""README against the repository: its commands, paths and pictures exist."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
TARGETS = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_every_make_target_it_names_exists() -> None:
    named = set(re.findall(r"\bmake ([a-z-]+)", README)) - {"and"}
    assert named and named <= TARGETS, f"promise: two commands and their kin; README names {sorted(named - TARGETS)}"


def test_make_help_lists_every_target() -> None:
    answer = subprocess.run(["make", "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {line.split()[1] for line in answer.stdout.splitlines()} == TARGETS


@pytest.mark.parametrize("picture", re.findall(r"!\[.*?\]\((.*?)\)", README))
def test_every_picture_is_in_the_repository(picture: str) -> None:
    assert (ROOT / picture).stat().st_size > 1000


def test_every_flow_and_room_of_the_tree_exists() -> None:
    tree = README.split("## The house")[1].split("```")[1]
    rooms = set(re.findall(r"^\s+(?:[a-z ]+\s{2,})?([a-z_]+)/", tree, re.MULTILINE)) | set(re.findall(r"\s([a-z]+)/", tree))
    homes = [ROOT, ROOT / "data", ROOT / "nightgarden", *(ROOT / "nightgarden").iterdir()]
    gone = [room for room in rooms if not any((home / room).is_dir() for home in homes)]
    assert not gone, f"README's tree names {gone}"
    for flow in re.search(r"order: ([a-z_, ]+)", tree).group(1).split(", "):
        assert (ROOT / f"flows/{flow.strip()}.py").is_file()


def test_every_test_and_file_that_the_promises_name_exists() -> None:
    faults = []
    for page in (ROOT / "docs/promises").glob("*.md"):
        last = None
        for token in re.findall(r"`([^`]+)`", page.read_text()):
            path, _, name = token.partition("::")
            if re.fullmatch(r"[\w./-]+\.(py|md|yaml|json|txt|jsonl|jinja|svg|toml)", path) and "/" in path:
                last = ROOT / path
                if not last.exists() and not path.startswith(("reports/", "data/scores")):
                    faults.append(f"{page.name}: {path} is not there")
                elif name and name not in last.read_text():
                    faults.append(f"{page.name}: {path} has no {name}")
            elif re.fullmatch(r"test_\w+", token) and last is not None and token not in last.read_text():
                faults.append(f"{page.name}: {last.name} has no {token}")
    assert not faults, "promises name what is not there:\n" + "\n".join(faults)
