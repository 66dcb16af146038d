"""Small rows and the whole of curation in a folder, for the tests of this room."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nightgarden import jsonl, params
from nightgarden.curation.accounts import order, pass_order
from nightgarden.curation.annotate import annotate, read_prompts
from nightgarden.curation.filter import Pass, filter_pass
from nightgarden.curation.gate import gate
from nightgarden.curation.ingest import ingest
from nightgarden.curation.rebalance import rebalance
from nightgarden.curation.render import render
from nightgarden.curation.report import funnel
from nightgarden.curation.split import split
from nightgarden.curation.synthesise import synthesise
from nightgarden.digests import example_id
from nightgarden.params import Curation, Params, PassSpec
from nightgarden.records import Annotation, Example, Hit, LedgerLine, MemoryLine, Turn
from nightgarden.rule_params import RuleSettings
from nightgarden.stage import Place

ROOT = Path(__file__).resolve().parents[2]
PARAMS: Params = params.load(ROOT / "params.yaml")
RULES = PARAMS.curation.rules
DROP = PassSpec(prev="synthesise", prevfile="data/synthesised/examples.jsonl")
"""A pass without a budget."""


def example(
    answer: str, *, ask: str = "How do I keep basil alive?", system: str | None = None, op: int = 0, **rest: Any
) -> Example:
    """A row with one exchange."""
    turns = (Turn(role="user", content=ask), Turn(role="assistant", content=answer))
    if system is not None:
        turns = (Turn(role="system", content=system), *turns)
    memories: tuple[MemoryLine, ...] = rest.pop("memories", ())
    directives: tuple[str, ...] = rest.pop("directives", ())
    id_ = example_id(op, turns, memories, directives)
    return Example(id=id_, op=op, turns=turns, memories=memories, directives=directives, **rest)


def ours(row: Example) -> dict[str, Any]:
    """A row as a line of a seed file."""
    line: dict[str, Any] = {"op": row.op, "messages": [{"role": turn.role, "content": turn.content} for turn in row.turns]}
    if row.memories:
        line["memories"] = [{"type": memory.type, "text": memory.text} for memory in row.memories]
    return line | ({"meta": row.meta} if row.meta else {})


def write_lines(path: Path, rows: list[Any]) -> Path:
    """Values as JSON Lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return path


def read_lines(path: Path) -> list[dict[str, Any]]:
    """JSON Lines as values."""
    return [json.loads(line) for line in path.read_text().split("\n") if line]


def passes(**changes: dict[str, Any]) -> dict[str, Any]:
    """The passes of params.yaml with some of them changed, key by key."""
    raw: dict[str, Any] = PARAMS.model_dump(mode="json", by_alias=True)["curation"]["passes"]
    return {rule: item | changes.get(rule, {}) for rule, item in raw.items()}


def settings(**changes: Any) -> Curation:
    """The curation section of params.yaml with some of its sections changed, key by key; sources and passes are replaced."""
    raw = PARAMS.model_dump(mode="json", by_alias=True)["curation"]
    for section, values in changes.items():
        raw[section] = raw[section] | values if section not in {"sources", "passes"} else values
    return Curation.model_validate(raw)


def divide(
    rule: str, rows: Sequence[Example], hits: Mapping[str, tuple[Hit, ...]], settings: RuleSettings, spec: PassSpec = DROP
) -> tuple[list[Example], list[LedgerLine]]:
    """Send rows through a pass as files, with these annotations: rows kept and ledger lines."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        by_op = sorted(rows, key=order)
        ops = {row.id: row.op for row in rows}
        notes = sorted((Annotation(id=id_, op=ops.get(id_, 0), hits=found) for id_, found in hits.items()), key=order)
        jsonl.write(folder / "rows", by_op)
        jsonl.write(folder / "notes", notes)
        with (folder / "kept").open("wb") as kept, (folder / "ledger").open("wb") as ledger:
            prompts = read_prompts(ROOT) if rule == "contamination" else ()
            Pass(rule, settings, spec, prompts).run(folder / "rows", folder / "notes", kept, ledger)
        return list(jsonl.read(folder / "kept", Example)), list(jsonl.read(folder / "ledger", LedgerLine))


def take_in(curation: Curation, root: Path, workers: int = 1) -> None:
    """Ingest and synthesise."""
    ingest(curation, root, workers)
    synthesise(PARAMS.model_copy(update={"curation": curation}), root, place(root))


def place(root: Path, **changes: Any) -> Place:
    """A place of its own in a folder."""
    return Place(root=root, state=root / ".nightgarden", tracking_uri="", **changes)


def run_passes(curation: Curation, root: Path) -> None:
    """Ingest, synthesise, annotate and filter by every rule."""
    take_in(curation, root)
    for rule in pass_order(curation):
        annotate(rule, curation, root)
        filter_pass(rule, curation, root)
    funnel(curation, root)


def curate(curation: Curation, root: Path) -> None:
    """All stages of curation, in their order."""
    run_passes(curation, root)
    rebalance(curation, root)
    split(curation, root)
    render_as_trained(root)
    gate(curation, root)


def render_as_trained(root: Path) -> None:
    """The `render` stage, with the embedded model of the checkout."""
    if not (root / "models").exists():
        (root / "models").symlink_to(ROOT / "models")
    render(PARAMS, root, place(root))


def files_below(root: Path) -> dict[str, bytes]:
    """Every file that curation writes, by relative path."""
    tops = ("data/raw", "data/synthesised", "data/annotations", "data/curated", "data/dataset", "reports")
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for top in tops
        for path in sorted((root / top).rglob("*"))
        if path.is_file()
    }
