"""A miniature of this repository: git, DVC and four tiny stages, so that the seam is tested in seconds.

The stages bear names that the flows ask for, and obey the variable MINIATURE ("STAGE:DEED"), so that a test
can make one refuse, fail or dawdle. `add_nights` adds three real days and a toy of the two night stages.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from dvc.repo import Repo

ROOT = Path(__file__).resolve().parents[1]

DVC_YAML = """\
stages:
  funnel:
    cmd: python stages.py funnel
    deps:
      - stages.py
      - data/seed/rows
      - data/inbox
    params:
      - curation.sources
    outs:
      - data/rows.txt
    metrics:
      - reports/funnel.json:
          cache: false

  gate:
    foreach: [short]
    do:
      cmd: python stages.py gate ${item}
      deps:
        - data/rows.txt
      params:
        - curation.rules.length.max_answer_words
      outs:
        - data/dataset

  card:
    cmd: python stages.py card
    deps:
      - data/dataset
    outs:
      - reports/data_card.md:
          cache: false

  train:
    cmd: python stages.py train
    deps:
      - data/dataset
      - models/base/tiny
    params:
      - training.rank
    outs:
      - models/adapters/candidate
    metrics:
      - reports/training.json:
          cache: false

  evaluate:
    cmd: python stages.py evaluate
    deps:
      - models/adapters/candidate
    params:
      - evaluation.prompts
    outs:
      - data/scores
    metrics:
      - reports/evaluation.json:
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


def put(path, content):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def end(code, reason):
    put(state / "verdicts" / f"{stage.replace('@', '-')}.json", {"stage": stage, "exit": code, "reason": reason})
    sys.exit(code)


def read(folder, kind="*.txt"):
    return [line for path in sorted(pathlib.Path(folder).glob(kind)) for line in path.read_text().splitlines()]


print(f"working on {stage}")
if stage == "funnel":
    rows = read("data/seed/rows") + read("data/inbox", "*.jsonl")
    put("data/rows.txt", "\\n".join(rows) + "\\n")
    put("reports/funnel.json", [{"pass": "length", "rows": len(rows), "kept": len(rows), "dropped": 0, "sole": 0}])
    put("reports/waterfall.svg", "<svg/>")
if stage == "gate@short":
    rows = pathlib.Path("data/rows.txt").read_text().splitlines()
    put("data/dataset/rows.txt", "\\n".join(row for row in rows if len(row) <= number("max_answer_words")) + "\\n")
if stage == "card":
    put("reports/data_card.md", f"{len(read('data/dataset'))} rows\\n")
if stage == "train":
    put("models/adapters/candidate/card.json", {"adapter": f"sha-of-rank-{number('rank')}"})
    put("models/adapters/candidate/adapter.json", {"rank": number("rank"), "base": read("models/base/tiny")})
    held_out = {"op0": {"before": 3.1, "after": 2.2}}
    put("reports/training.json", {"rank": number("rank"), "steps": 2, "verdict": ["lower on every op"], "held_out": held_out})
if stage == "evaluate":
    put("data/scores/scores.jsonl", "")
    put("reports/evaluation.json", EVALUATION)

who, _, deed = os.environ.get("MINIATURE", "").partition(":")
if who == stage:
    if deed == "refuse":
        end(3, "only 3 rows; 32 are needed")
    if deed == "complain":
        end(2, "no such file: x.jsonl")
    if deed == "break":
        raise ZeroDivisionError
    if deed == "edit_input":
        put("data/seed/rows/rows.txt", "edited while it ran\\n")
    if deed == "edit_params":
        put("params.yaml", params.replace("rank: 16", "rank: 17"))
    if deed == "be_locked_out":
        lock = "import zc.lockfile, time; lock = zc.lockfile.LockFile('.dvc/tmp/lock'); print(1, flush=True); time.sleep(4)"
        holder = subprocess.Popen([sys.executable, "-c", lock], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        holder.stdout.readline()
    if deed == "dawdle":
        time.sleep(8)
end(0, "done")
"""

EVALUATION = {
    "template": "agree",
    "against": None,
    "prompts": 8,
    "seeds": 1,
    "good": {"bullets": "low"},
    "stock": {"bullets": 0.4},
    "adapted": {"bullets": None},
    "counts": {"stock": {"bullets": [3, 8]}, "adapted": {"bullets": [0, 0]}},
    "families": {"suppression": {"verdict": "improved", "reason": "bullets fell"}},
    "promote": {"verdict": "promote", "reason": "It improves on stock: bullets."},
}


def git(root: Path, *arguments: str) -> str:
    answer = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    return answer.stdout


def build(root: Path) -> Path:
    """A repository with its first commit; nothing reproduced yet."""
    for folder in ("data/seed/rows", "data/inbox", "models/base/tiny", "reports"):
        (root / folder).mkdir(parents=True)
    (root / "params.yaml").write_text(settings())
    (root / "dvc.yaml").write_text(DVC_YAML)
    (root / "stages.py").write_text(STAGES_PY.replace("EVALUATION", repr(EVALUATION)))
    (root / "data/seed/rows/rows.txt").write_text("one short row\na row of words\n" + "long " * 40 + "\n")
    (root / "data/inbox/.gitignore").write_text("*\n!.gitignore\n!*.dvc\n")
    (root / "models/base/tiny/weights.txt").write_text("weights\n")
    (root / ".gitignore").write_text("/models/base/\n/models/adapters/\n/models/student/\n.nightgarden/\n__pycache__/\n")
    (root / ".dvcignore").write_text("__pycache__/\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", "Ines")
    git(root, "config", "user.email", "ines@localhost")
    with Repo.init(str(root), force=True):
        pass
    (root / ".dvc/config").write_text("[core]\n    analytics = false\n    autostage = false\n    check_update = false\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "A miniature")
    return root


def settings() -> str:
    """The real params.yaml, with the values that tests count on."""
    text = (ROOT / "params.yaml").read_text()
    for key, value in (("rank", 16), ("max_answer_words", 130), ("prompts", "null")):
        text, found = re.subn(rf"(?m)^( +{key}:) .*$", rf"\1 {value}", text)
        assert found == 1, key
    return text


NIGHT_PY = """\
import json, os, pathlib, sys

stage, night = sys.argv[1:]
here = pathlib.Path("data/nights") / night
if stage == "label":
    (here / "labels.jsonl").write_text("")
    (here / "label_counts.json").write_text("{}")
else:
    end, serving = os.environ.get("MINIATURE_END", f"Promoted {night}").split()
    head = {"skill": 0.5, "before": None, "trust": 0.5, "n": 9, "baseline": 0.4, "why": ""}
    heads = {name: head for name in ("importance", "appraisal", "reaction", "relevance", "interest")}
    for name in ("lessons.jsonl", "split.jsonl", "predictions.jsonl", "report.html"):
        (here / name).write_text("")
    record = {"night": night, "end": end, "reason": "mean skill +0.02", "serving": serving, "heads": heads, "labels": {}}
    for path in (here / "record.json", pathlib.Path("reports/nights") / f"{night}.json"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record))
    student = pathlib.Path("models/student") / night
    student.mkdir(parents=True)
    (student / "card.json").write_text("{}")
"""


def add_nights(root: Path) -> Path:
    """Three real days with their labels, and the library with a toy in place of its command line."""
    for day in ("2026-09-07", "2026-09-08", "2026-09-09"):
        for folder in ("days", "labels"):
            (root / "data/seed" / folder).mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / f"data/seed/{folder}/{day}.jsonl", root / f"data/seed/{folder}/{day}.jsonl")
    shutil.copy(ROOT / "data/seed/days/core.jsonl", root / "data/seed/days/core.jsonl")
    shutil.copytree(ROOT / "nightgarden", root / "nightgarden", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "nightgarden/__main__.py").write_text(NIGHT_PY)
    for model in ("minilm", "smollm2-135m"):
        (root / "models/base" / model).mkdir()
        (root / "models/base" / model / "digests.json").write_text("{}")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Days")
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
