"""What lm-evaluation-harness says of an answer. Run by the python of `make peers`.

    ifeval_theirs.py < answers.jsonl > verdicts.jsonl

A line in is {"kind", "args", "prompt", "answer"}, a line out {"strict", "loose"}: whether the answer follows that one
instruction. Imports nothing of the project: the two sides share only these lines of JSON.
"""

import json
import random
import sys
import tempfile
from pathlib import Path
from types import ModuleType

import langdetect
import lm_eval
import nltk
import punkt
from nltk.tokenize.punkt import PunktParameters, save_punkt_params


def give_punkt(home: Path) -> None:
    """The English model below nltk's data folder, where nltk would download it to; the algorithm stays nltk's own."""
    folder = home / "tokenizers/punkt_tab/english"
    folder.mkdir(parents=True, mode=0o700)
    nltk.data.path.insert(0, str(home))
    model, params = punkt.load_model("english"), PunktParameters()
    params.abbrev_types, params.sent_starters = set(model.abbrev_types), set(model.sent_starters)
    params.collocations = set(model.collocations)
    params.ortho_context.update(model.ortho_context)
    save_punkt_params(params, str(folder))


def main() -> None:
    """Judge the lines of standard input."""
    # lm_eval.tasks itself imports torch, datasets and evaluate; its folder of checks needs none of them.
    tasks = ModuleType("lm_eval.tasks")
    tasks.__path__ = [str(Path(path) / "tasks") for path in lm_eval.__path__]
    sys.modules["lm_eval.tasks"] = tasks
    with tempfile.TemporaryDirectory() as home:
        give_punkt(Path(home))
        from lm_eval.tasks.ifeval import utils

        langdetect.DetectorFactory.seed = 0
        for line in map(json.loads, sys.stdin):
            random.seed(0)
            asked = {"key": 0, "prompt": line["prompt"], "instruction_id_list": [line["kind"]], "kwargs": [line["args"]]}
            told = utils.process_results(asked, [line["answer"]])
            verdict = {name: bool(told[f"inst_level_{name}_acc"][0]) for name in ("strict", "loose")}
            sys.stdout.write(json.dumps(verdict) + "\n")


if __name__ == "__main__":
    main()
