"""lm-evaluation-harness's `hf` backend on a slice of IFEval, in an environment of its own (`make peers`).

`peer_lm_eval.py ASKED.json TOLD.json`, started by `benchmarks.evaluation`. The clock runs over `evaluate`: chat
template, token ids, replies, scores. Imports, the slice and the weights are there before it starts.
"""

import json
import logging
import random
import sys
import time
from pathlib import Path

TASK = "ifeval_slice"


def offline_sentences() -> None:
    """Give IFEval's checkers punkt from a package: their own way to it is a download."""
    import langdetect
    import nltk
    import punkt

    nltk.data.find = lambda *names, **options: ""
    from lm_eval.tasks.ifeval import instructions_util

    splitter = punkt.PunktSentenceTokenizer(punkt.load_model("english"))
    words = nltk.tokenize.NLTKWordTokenizer()
    instructions_util._get_sentence_tokenizer = lambda: splitter
    nltk.word_tokenize = lambda text: [word for sentence in splitter.tokenize(text) for word in words.tokenize(sentence)]
    langdetect.DetectorFactory.seed = 0  # else it may answer otherwise on a second run


def task(items: Path, max_new_tokens: int) -> dict:
    """Their own task with its data from a file and another limit of tokens."""
    import lm_eval
    import yaml
    from lm_eval.tasks import TaskManager

    config = {
        "include": str(Path(lm_eval.__file__).parent / "tasks/ifeval/ifeval.yaml"),
        "task": TASK,
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": str(items)},
        "generation_kwargs": {"until": [], "do_sample": False, "temperature": 0.0, "max_gen_toks": max_new_tokens},
    }
    folder = items.parent / "tasks"
    folder.mkdir(exist_ok=True)
    (folder / f"{TASK}.yaml").write_text(yaml.safe_dump(config))
    return TaskManager(include_path=str(folder), include_defaults=False).load([TASK])


def main() -> None:
    """Load, run, write seconds and a line of ids, reply and scores an item."""
    asked = json.loads(Path(sys.argv[1]).read_text())
    logging.disable(logging.INFO)
    offline_sentences()
    import torch
    from lm_eval.evaluator import evaluate
    from lm_eval.models.huggingface import HFLM

    size = {} if asked["batch_size"] is None else {"batch_size": asked["batch_size"]}
    model = HFLM(pretrained=asked["model"], dtype=asked["dtype"], device="cpu", **size)
    loaded = task(Path(asked["items"]), asked["max_new_tokens"])
    random.seed(0)
    started = time.perf_counter()
    done = evaluate(model, loaded, bootstrap_iters=0, system_instruction=asked["system"], apply_chat_template=True)
    seconds = time.perf_counter() - started
    items = [
        {
            "key": sample["doc"]["key"],
            "prompt_ids": model.tok_batch_encode([sample["arguments"][0][0]])[0][0].tolist(),
            "text": sample["resps"][0][0],
            "strict": sample["inst_level_strict_acc"],
            "loose": sample["inst_level_loose_acc"],
        }
        for sample in done["samples"][TASK]
    ]
    told = {"seconds": seconds, "batch_size": model.batch_size, "threads": torch.get_num_threads(), "items": items}
    Path(sys.argv[2]).write_text(json.dumps(told))


if __name__ == "__main__":
    main()
