"""A miniature of this repository: git, DVC and three tiny stages, so that the seam is tested in seconds.

Its stages obey the variable MINIATURE ("STAGE:DEED"), so that a test can make one refuse, fail or dawdle.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from dvc.repo import Repo

ROOT = Path(__file__).resolve().parents[1]

DVC_YAML = """\
stages:
  collect:
    cmd: python stages.py collect
    deps:
      - stages.py
      - data/seed
      - data/inbox
    params:
      - curation.sources
    outs:
      - data/rows.txt

  keep:
    foreach: [short]
    do:
      cmd: python stages.py keep ${item}
      deps:
        - data/rows.txt
      params:
        - curation.rules.length.max_answer_words
      outs:
        - data/kept

  learn:
    cmd: python stages.py learn
    deps:
      - data/kept
      - models/base/tiny
    params:
      - training.rank
    outs:
      - models/adapters/candidate
    metrics:
      - reports/learn.json:
          cache: false
"""

STAGES_PY = """\
import json, os, pathlib, re, subprocess, sys, time

stage = "@".join(sys.argv[1:])
state = pathlib.Path(os.environ.get("NIGHTGARDEN_STATE", ".nightgarden"))
params = pathlib.Path("params.yaml").read_text()
number = lambda key: int(re.search(rf"{key}: *(\\d+)", params).group(1))
with open(os.environ.get("MINIATURE_LOG", os.devnull), "a") as log:
    log.write(stage + "\\n")


def put(path, text):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def end(code, reason):
    put(state / "verdicts" / f"{stage.replace('@', '-')}.json", json.dumps({"stage": stage, "exit": code, "reason": reason}))
    sys.exit(code)


def read(folder):
    return [line for path in sorted(pathlib.Path(folder).glob("*.txt*")) for line in path.read_text().splitlines()]


print(f"working on {stage}")
if stage == "collect":
    inbox = [line for path in sorted(pathlib.Path("data/inbox").glob("*.jsonl")) for line in path.read_text().splitlines()]
    put("data/rows.txt", "\\n".join(read("data/seed") + inbox) + "\\n")
if stage == "keep@short":
    rows = pathlib.Path("data/rows.txt").read_text().splitlines()
    put("data/kept/rows.txt", "\\n".join(row for row in rows if len(row) <= number("max_answer_words")) + "\\n")
if stage == "learn":
    rank, rows = number("rank"), len(read("data/kept"))
    put("models/adapters/candidate/adapter.json", json.dumps({"rank": rank, "base": read("models/base/tiny")}))
    put("reports/learn.json", json.dumps({"rows": rows, "rank": rank}))

who, _, deed = os.environ.get("MINIATURE", "").partition(":")
if who == stage:
    if deed == "refuse":
        end(3, "only 3 rows; 32 are needed")
    if deed == "complain":
        end(2, "no such file: x.jsonl")
    if deed == "break":
        raise ZeroDivisionError
    if deed == "edit_input":
        put("data/seed/rows.txt", "edited while it ran\\n")
    if deed == "edit_params":
        put("params.yaml", params.replace("rank: 16", "rank: 17"))
    if deed == "be_locked_out":
        lock = "import zc.lockfile, time; lock = zc.lockfile.LockFile('.dvc/tmp/lock'); print(1, flush=True); time.sleep(5)"
        holder = subprocess.Popen([sys.executable, "-c", lock], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        holder.stdout.readline()
    if deed == "dawdle":
        time.sleep(60)
end(0, "done")
"""


def git(root: Path, *arguments: str) -> str:
    answer = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    return answer.stdout


def build(root: Path) -> Path:
    """A repository with its first commit; nothing reproduced yet."""
    for folder in ("data/seed", "data/inbox", "models/base/tiny", "reports"):
        (root / folder).mkdir(parents=True)
    shutil.copy(ROOT / "params.yaml", root / "params.yaml")
    (root / "dvc.yaml").write_text(DVC_YAML)
    (root / "stages.py").write_text(STAGES_PY)
    (root / "data/seed/rows.txt").write_text("one short row\na row of words\n" + "long " * 40 + "\n")
    (root / "data/inbox/.gitignore").write_text("*\n!.gitignore\n!*.dvc\n")
    (root / "models/base/tiny/weights.txt").write_text("weights\n")
    (root / ".gitignore").write_text("/models/base/\n/models/adapters/\n.nightgarden/\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", "Ines")
    git(root, "config", "user.email", "ines@localhost")
    with Repo.init(str(root)):
        pass
    for line in ("analytics = false", "autostage = false", "check_update = false"):
        (root / ".dvc/config").open("a").write(("[core]\n" if line.startswith("ana") else "") + f"    {line}\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "A miniature")
    return root


def dvc(root: Path, *arguments: str) -> str:
    """What a person gets who types a DVC command in the repository."""
    told = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    answer = subprocess.run(
        [sys.executable, "-m", "dvc", *arguments], cwd=root, env=told, capture_output=True, text=True, check=True
    )
    return answer.stdout


def reproduce_by_hand(root: Path) -> None:
    """The first door: a bare `dvc repro`, then a commit of what git keeps."""
    dvc(root, "repro")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Reproduced by hand")
