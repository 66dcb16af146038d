"""The contenders of `benchmarks.curation` that run in this environment: `python -m benchmarks.contenders NAME FILE`."""

from __future__ import annotations

import json
import re
import resource
import shutil
import sys
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from nightgarden import params
from nightgarden.curation.accounts import pass_order
from nightgarden.curation.annotate import RAW, Hits, load, prompts_for
from nightgarden.curation.matching import Folded, Scan, phrase_pattern
from nightgarden.jsonl import encode
from nightgarden.params import Curation
from nightgarden.records import Example, LedgerLine

ROOT = Path(__file__).resolve().parents[1]
LONG = 600
"""Words that an answer may have here: the project's own limit of 130 would take nearly every row."""


def settings() -> Curation:
    """The rules of params.yaml, with room for longer answers."""
    curation = params.load(ROOT / "params.yaml").curation
    length = curation.rules.length.model_copy(update={"max_answer_words": LONG, "max_row_words": 2 * LONG})
    return curation.model_copy(update={"rules": curation.rules.model_copy(update={"length": length})})


def bare(path: Path) -> Counter[str]:
    """Parse, fold, name, scan once for all that the rules seek, write what is clean."""
    import orjson

    from nightgarden.digests import example_id
    from nightgarden.records import Turn

    curation = settings()
    sought: dict[str, str] = {}
    for rule in pass_order(curation):
        if tell := getattr(load(rule), "triggers", None):
            triggers = tell(curation.rules.of(rule), prompts_for(rule, curation.rules.of(rule), ROOT))
            sought |= {f"{rule} in {where}": pattern for where, pattern in triggers._asdict().items() if pattern}
    scan = Scan(sought)
    roles = {"human": "user", "gpt": "assistant", "system": "system"}
    with path.open("rb") as rows, tempfile.TemporaryFile() as kept:
        for line in rows:
            chat = orjson.loads(line)["conversations"]
            hit = scan.find(Folded("\n".join(turn["value"] for turn in chat)).text)
            example_id(0, [Turn(role=roles[turn["from"]], content=turn["value"]) for turn in chat], (), ())
            if not hit:
                kept.write(line)
    return Counter()


def ours(path: Path) -> tuple[Counter[str], float]:
    """Rows as ingest left them to kept lines and ledger lines: every rule that looks at one row, in one process."""
    from nightgarden.curation.decide import Decider
    from nightgarden.jsonl import read_lines

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        curation = _ingested(path, folder)
        started = time.process_time()
        decider, decoder = Decider(curation, ROOT), msgspec.json.Decoder(Example)
        lines = read_lines(folder / RAW)
        found = _written((line, row, decider.hits(row)) for line in lines for row in (decoder.decode(line),))
        return found, time.process_time() - started


def ours_from_raw(path: Path) -> Counter[str]:
    """The same from the rows as they stand in the file: parsed strictly, their shape sniffed, named, secrets masked."""
    from nightgarden.curation.decide import Decider
    from nightgarden.curation.ingest import Source, example_of
    from nightgarden.curation.sources.reading import read_rows

    decider, source = Decider(settings(), ROOT), Source(path.name, "made", 0)
    rows = (example_of(source, raw) for raw in read_rows(path))
    return _written((encode(row), row, decider.hits(row)) for row in rows)


def _written(judged: Iterable[tuple[bytes, Example, Mapping[str, Hits]]]) -> Counter[str]:
    """Write what is clean, and a line of the ledger for what is not."""
    found = Counter[str]()
    with tempfile.TemporaryFile() as kept, tempfile.TemporaryFile() as ledger:
        for line, row, hits in judged:
            if not hits:
                kept.write(line + b"\n")
                continue
            for rule in hits:
                found[rule] += 1
            rule, first = next(iter(hits.items()))
            ledger.write(encode(LedgerLine(id=row.id, op=row.op, rule=rule, hits=first)) + b"\n")
    return found


def _ingested(path: Path, folder: Path) -> Curation:
    from nightgarden.curation.ingest import ingest

    inbox = folder / "data/inbox/rows.jsonl"
    inbox.parent.mkdir(parents=True)
    shutil.copyfile(path, inbox)
    (folder / "data/seed").mkdir()
    prompts = "data/seed/evaluation_prompts.jsonl"
    shutil.copyfile(ROOT / prompts, folder / prompts)
    source = params.SourceSpec(path="data/inbox/rows.jsonl", op=0)
    curation = settings().model_copy(update={"sources": {"made": source}})
    ingest(curation, folder)
    whole = folder / RAW
    whole.parent.mkdir(parents=True)
    shutil.copyfile(folder / "data/raw/examples.jsonl", whole)  # no row is synthesised
    return curation


def stages(path: Path) -> tuple[Counter[str], float]:
    """The twelve annotations and the twelve passes, each with its own copy of the rows; ingest is not counted."""
    from nightgarden.curation.annotate import annotate
    from nightgarden.curation.filter import filter_pass

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        curation = _ingested(path, folder)
        started = time.process_time()
        for rule in pass_order(curation):
            annotate(rule, curation, folder)
            filter_pass(rule, curation, folder)
        return Counter(), time.process_time() - started


def duplicate(path: Path) -> tuple[Counter[str], float]:
    """The duplicate pass on all rows; ingest is not counted."""
    from nightgarden.curation.rules import duplicate as rule

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        curation = _ingested(path, folder)
        started = time.process_time()
        gone = rule.losers_of(folder / RAW, curation.rules.duplicate)
        return Counter({"duplicate": len(gone)}), time.process_time() - started


def _classes(pattern: str) -> str:
    """RE2's Unicode classes and code points as `re` knows them."""
    of = {"So": {"So"}, "S": {"Sc", "Sk", "Sm", "So"}, "M": {"Mc", "Me", "Mn"}}
    for name, kinds in of.items():
        if rf"\p{{{name}}}" in pattern or rf"\p{name}" in pattern:
            members = "".join(re.escape(chr(c)) for c in range(0x20000) if unicodedata.category(chr(c)) in kinds)
            pattern = pattern.replace(rf"\p{{{name}}}", f"[{members}]").replace(rf"\p{name}", members)
    pattern = pattern.replace(r"\p{Greek}", "[Ͱ-Ͽἀ-῾]").replace(r"\z", r"\Z")
    pattern = re.sub(r"\\x\{([0-9A-Fa-f]+)\}", lambda match: re.escape(chr(int(match[1], 16))), pattern)
    return re.sub(r"(?<=.)\(\?([im])\)(.*)$", r"(?\1:\2)", pattern)  # `re` takes flags at the start, or for a group


def _in_re(curation: Curation) -> dict[str, list[re.Pattern[str]]]:
    """Every pattern of the rules that search, compiled by `re`."""
    from nightgarden.curation.rules import bullets, exclamation, placeholder, question_cascade, residue, secrets

    rules = curation.rules
    texts = {
        "placeholder": [
            *placeholder._BRACES.values(),
            *placeholder._SLOTS.values(),
            *map(phrase_pattern, rules.placeholder.markers),
        ],
        "secrets": [*secrets._KINDS.values()],
        "residue": [*residue._KINDS.values()],
        "instruct_isms": [*map(phrase_pattern, rules.instruct_isms.phrases)],
        "memory_narration": [*map(phrase_pattern, rules.memory_narration.phrases)],
        "bullets": [f"(?m){bullets._LINE}"],
        "exclamation": [exclamation._MARKS],
        "question_cascade": [rf"({question_cascade._QUESTION}){question_cascade._BEHIND}*\z"],
    }
    return {rule: [re.compile(_classes(pattern), re.ASCII) for pattern in patterns] for rule, patterns in texts.items()}


def datasets_map(path: Path) -> Counter[str]:
    """`datasets.map` over batches, the same patterns one by one in `re`, the same fold; then what is clean is written."""
    import datasets

    datasets.disable_progress_bars()
    patterns = _in_re(settings())

    def judge(batch: dict[str, Any]) -> dict[str, Any]:
        out = []
        for chat in batch["conversations"]:
            texts = [(turn["from"], Folded(turn["value"]).text, turn["value"]) for turn in chat]
            hit = [rule for rule, each in patterns.items() if _hits(rule, each, texts)]
            out.append(",".join(hit))
        return {"hit": out}

    with tempfile.TemporaryDirectory() as cache:
        rows = datasets.load_dataset("json", data_files=str(path), split="train", cache_dir=cache)
        judged = rows.map(judge, batched=True, load_from_cache_file=False)
        judged.filter(lambda hit: not hit, input_columns="hit", load_from_cache_file=False).to_json(f"{cache}/kept.jsonl")
        return Counter(rule for hit in judged["hit"] for rule in hit.split(",") if rule)


EVERYWHERE = {"placeholder", "secrets", "residue"}
AS_WRITTEN = {"bullets", "exclamation"}


def _hits(rule: str, patterns: list[re.Pattern[str]], texts: list[tuple[str, str, str]]) -> bool:
    sought = [written if rule in AS_WRITTEN else folded for who, folded, written in texts if rule in EVERYWHERE or who == "gpt"]
    return any(pattern.search(text) for text in sought for pattern in patterns)


def main() -> None:
    """Run one contender and say what it took."""
    work: Callable[[Path], Any] = globals()[sys.argv[1]]
    before = time.process_time()
    told = work(Path(sys.argv[2]))
    found, seconds = told if isinstance(told, tuple) else (told, time.process_time() - before)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"cpu_s": round(seconds, 3), "peak_mb": round(peak), "rules": found}))


if __name__ == "__main__":
    main()
