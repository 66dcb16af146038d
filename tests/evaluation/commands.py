"""`python -m nightgarden evaluate` on checkouts that a test has broken, with the seconds of its imports spent once."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
WARM = """
import os, runpy, sys
import matplotlib.figure, peft, torch, transformers
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast
for root in sys.argv[1:]:
    child = os.fork()
    if not child:
        os.chdir(root)
        os.dup2(os.open("said", os.O_WRONLY | os.O_CREAT), 2)
        sys.argv = ["nightgarden", "evaluate"]
        runpy.run_module("nightgarden", run_name="__main__")
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Imports the libraries, none of our code, and becomes the command in one child after the other."""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    said: str


def checkout(workshop: Path, root: Path) -> Path:
    """A copy of the workshop with the code and short params: what a user may edit; the base's files are links."""
    shutil.copytree(ROOT / "nightgarden", root / "nightgarden")
    shutil.copytree(workshop / "data", root / "data")
    shutil.copytree(workshop / "models/adapters", root / "models/adapters", copy_function=os.link)
    base = root / "models/base/smollm2-135m"
    base.mkdir(parents=True)
    for file in (workshop / "models/base/smollm2-135m").resolve().iterdir():
        (base / file.name).symlink_to(file)
    whole = yaml.safe_load((ROOT / "params.yaml").read_text())
    whole["evaluation"] |= {"prompts": 4, "seeds": 1, "max_new_tokens": 5, "batch_size": 2}
    (root / "params.yaml").write_text(yaml.safe_dump(whole))
    return root


def evaluate_all(roots: list[Path], **environ: str) -> list[Ended]:
    """The command in each of the checkouts, under an environment without other variables that it reads."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("NIGHTGARDEN", "OPENAI", "MLFLOW"))}
    command = [sys.executable, "-c", WARM, *map(str, roots)]
    environment = kept | {"OMP_WAIT_POLICY": "PASSIVE"} | environ
    codes = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return [Ended(int(code), (root / "said").read_text()) for code, root in zip(codes, roots, strict=True)]
