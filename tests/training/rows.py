"""Clean seed rows as examples, and a small checkout to train in."""

import hashlib
import json
from pathlib import Path

from nightgarden import digests, jsonl, params
from nightgarden.params import Params
from nightgarden.records import Example, MemoryLine, Turn

ROOT = Path(__file__).resolve().parents[2]


def clean_rows(per_op: int) -> list[Example]:
    """The shortest clean rows of every op: real text, few tokens."""
    chosen: list[Example] = []
    for op, path in enumerate(sorted((ROOT / "data/seed/examples").glob("op[0-3]_*.jsonl"))):
        raw = [json.loads(line) for line in path.read_text().splitlines()]
        clean = [row for row in raw if "plant" not in row["meta"]]
        chosen += [as_example(op, row) for row in sorted(clean, key=lambda row: len(json.dumps(row)))[:per_op]]
    return chosen


def as_example(op: int, row: dict) -> Example:
    turns = tuple(Turn(**turn) for turn in row["messages"])
    memories = tuple(MemoryLine(**memory) for memory in row.get("memories", []))
    directives = tuple(row.get("directives", []))
    name = digests.example_id(op, turns, memories, directives)
    return Example(id=name, op=op, turns=turns, memories=memories, directives=directives, meta=row["meta"])


def lay_out(root: Path, train: list[Example], held_out: list[Example]) -> Path:
    """A checkout with a gated dataset, params.yaml for a dozen short rows, and the embedded model."""
    dataset = root / "data/dataset"
    jsonl.write(dataset / "train.jsonl", train)
    jsonl.write(dataset / "held_out.jsonl", held_out)
    digest = hashlib.sha256((dataset / "train.jsonl").read_bytes() + (dataset / "held_out.jsonl").read_bytes()).hexdigest()
    jsonl.write_json(dataset / "gate.json", {"passed": True, "digest": digest, "reasons": []})
    (root / "models").mkdir()
    (root / "models/base").symlink_to(ROOT / "models/base")
    return root


def settings(**training: object) -> Params:
    """The repository's params.yaml with other values in `training`."""
    known = params.load(ROOT / "params.yaml").model_dump(by_alias=True)
    return params.parse(known | {"training": known["training"] | training})
