"""The data card and the report page: what they say is what the stages counted, and nothing secret."""

import dataclasses
import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from nightgarden.curation.card import CARD, card, limits
from nightgarden.curation.card import text as card_text
from nightgarden.curation.exhibits import MAX_KINDS, MAX_SPANS, OTHER, PER_OP, choose, kind_of
from nightgarden.curation.facts import gather
from nightgarden.curation.overview import PAGE
from nightgarden.curation.rules.secrets import found_in
from nightgarden.errors import UserError
from nightgarden.params import Curation
from nightgarden.records import Hit, LedgerLine
from tests.curation.rows import PARAMS, ROOT, curate, passes, read_lines, settings

WAIVER = {"op": 3, "rows": 9, "why": "Five | lists were asked for.", "by": "Ines", "date": "2026-09-07"}


@pytest.fixture(scope="module")
def shown(curated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The curated seed with its card and page."""
    root = tmp_path_factory.mktemp("shown")
    for part in ("data", "reports"):
        shutil.copytree(curated / part, root / part)
    card(PARAMS.curation, root)
    return root


@pytest.fixture(scope="module")
def repaired(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Curation]:
    """The seed with its exclamations repaired, a broken line, a waiver, and a file without a licence."""
    root = tmp_path_factory.mktemp("repaired")
    shutil.copytree(ROOT / "data/seed", root / "data/seed", ignore=shutil.ignore_patterns("days", "labels"))
    with (root / "data/seed/examples/op0_bootstrap.jsonl").open("a") as file:
        file.write('{"broken": \n')
    sources = PARAMS.curation.model_dump(mode="json", by_alias=True)["sources"]
    sources["op0_bootstrap"]["licence"] = None
    curation = settings(passes=passes(exclamation={"on_hit": "repair"}, bullets={"waivers": [WAIVER]}), sources=sources)
    curate(curation, root)
    card(curation, root)
    return root, curation


def table(text: str, heading: str) -> list[list[str]]:
    """Cells of the table under a heading of the card."""
    lines = text.split(f"## {heading}\n")[1].split("\n## ", maxsplit=1)[0].splitlines()
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines if line.startswith("|")][2:]


def page_text(root: Path) -> str:
    return (root / PAGE).read_text()


def test_the_cards_numbers_are_those_of_the_metrics(shown: Path) -> None:
    text = (shown / CARD).read_text()
    way = {row[0]: [int(cell) for cell in row[1:]] for row in table(text, "What happened to them")}
    funnel = json.loads((shown / "reports/funnel.json").read_text())
    for row in funnel:
        assert way[row["pass"]] == [row[key] for key in ("rows", "dropped", "sole", "repaired", "merged", "kept")]
    verdict = json.loads((shown / "reports/gate.json").read_text())
    assert verdict["digest"] in text
    assert way["rebalance"][-1] == verdict["rows"] == sum(int(row[2]) for row in table(text, "The mix"))
    held_out = Counter(row["op"] for row in read_lines(shown / "data/dataset/held_out.jsonl"))
    assert [int(row[3]) for row in table(text, "The mix")] == [held_out[op] for op in range(4)]


def test_every_rule_stands_in_the_card_with_the_engine_that_its_ledger_names(shown: Path) -> None:
    engines = {row[0]: row[1].strip("`") for row in table((shown / CARD).read_text(), "Rules")}
    for rule in PARAMS.curation.passes:
        assert {line["engine"] for line in read_lines(shown / f"data/curated/{rule}/ledger.jsonl")} == {engines[rule]}


def test_the_card_tells_sources_waivers_repairs_and_quarantine(repaired: tuple[Path, Curation]) -> None:
    text = (repaired[0] / CARD).read_text()
    sources = {row[0]: row[1:] for row in table(text, "Where the rows come from")}
    assert sources["op0_bootstrap"] == ["`data/seed/examples/op0_bootstrap.jsonl`", "not told", "182", "1"]
    assert sources["op_contaminated"][1:] == ["MIT", "6", "0"]
    assert "**Waiver**: bullets may drop 9 rows of op 3. Five | lists were asked for. (Ines, 2026-09-07)" in text
    assert ["exclamation", "repair", "15% of an op's seed rows", "25"] in table(text, "Budgets, waivers and repairs")
    ((reason, rows),) = table(text, "Quarantine")
    assert reason.startswith("not JSON") and rows == "1"


def test_a_known_dataset_brings_its_commit_its_licence_and_what_else_it_holds(repaired: tuple[Path, Curation]) -> None:
    root, curation = repaired
    sources = curation.model_dump(mode="json", by_alias=True)["sources"]
    known = {name: {"dataset": dataset, "op": 0} for name, dataset in (("hermes", "openhermes-2.5"), ("orca", "slimorca"))}
    facts = gather(curation, root)
    facts = dataclasses.replace(facts, curation=settings(sources=sources | known))
    rows = {row[0]: row[1:] for row in table(card_text(facts), "Where the rows come from")}
    assert rows["orca"][1] == "MIT" and "Open-Orca/SlimOrca at ce9ed009ef32" in rows["orca"][0]
    assert "openhermes-2.5 holds the rows of slimorca too" in card_text(facts)


def test_limits_follow_the_settings() -> None:
    now = "\n".join(limits(PARAMS.curation))
    assert "Switched off" not in now and "count in answers" in now
    changed = settings(rules={"exclamation": {"scope": "whole_row", "max_marks": 1}, "length": RULE_OFF})
    then = "\n".join(limits(changed))
    assert "Switched off, so nothing is known by them: length." in then and "count in every turn, more than 1 a turn" in then


RULE_OFF = {"enabled": False, "min_answer_words": 1, "max_answer_words": 130, "max_row_words": 320}


def test_the_same_files_give_the_same_bytes(shown: Path) -> None:
    before = (shown / CARD).read_bytes(), (shown / PAGE).read_bytes()
    card(PARAMS.curation, shown)
    assert ((shown / CARD).read_bytes(), (shown / PAGE).read_bytes()) == before


def test_the_page_needs_nothing_but_itself_and_has_all_its_pictures(shown: Path) -> None:
    text = page_text(shown)
    assert not re.findall(r"<script|<link|<img|src=|@import|url\((?!#)", text)
    assert set(re.findall(r'(?:href)="([^#"][^"]*)"', text)) == set(), "no link leaves the page"
    assert text.count("<svg") == 4
    for heading in ("From rows read to rows kept", "The mix", "How the rules overlap", "How long the answers are"):
        assert f"<h2>{heading}</h2>" in text


def test_every_dropped_row_of_the_seed_stands_on_the_page_under_its_pass_with_its_reasons(shown: Path) -> None:
    sections = dict(re.findall(r'<h3 id="(\w+)">.*?</h3>(.*?)(?=<h3 id|<section)', page_text(shown), re.DOTALL))
    assert list(sections) == list(PARAMS.curation.passes)
    for rule, section in sections.items():
        for line in read_lines(shown / f"data/curated/{rule}/ledger.jsonl"):
            (article,) = re.findall(
                rf"<article[^>]*>(?:(?!</article>).)*<code>{line['id']}</code>.*?</article>", section, re.DOTALL
            )
            assert kind_of(line["hits"][0]["reason"])[:12].replace("'", "&#x27;") in kind_of(article)


def test_a_hit_is_marked_in_its_snippet_and_in_its_row(shown: Path) -> None:
    text = page_text(shown)
    line = read_lines(shown / "data/curated/residue/ledger.jsonl")[0]
    assert text.count("<mark>&lt;|assistant|&gt;</mark>") >= 2
    assert line["hits"][0]["snippet"].startswith("<|assistant|>")


def test_repaired_rows_are_shown_before_and_after(repaired: tuple[Path, Curation]) -> None:
    text = page_text(repaired[0])
    line = next(line for line in read_lines(repaired[0] / "data/curated/exclamation/ledger.jsonl") if line.get("into"))
    article = re.search(rf"<article[^>]*><span[^>]*></span> <code>{line['id']}.*?</article>", text, re.DOTALL)
    assert article and "<del>!</del><ins>.</ins>" in article[0]
    assert "25 repaired rows</summary>" in text and "−0, 25 repaired" in text  # noqa: RUF001


def test_no_secret_stands_in_card_or_page(shown: Path) -> None:
    for path in (CARD, PAGE):
        assert not any(found_in(line) for line in re.sub(r"<[^>]*>", "", (shown / path).read_text()).splitlines())
    assert "⟦aws access key, sha256" in page_text(shown)


def test_a_dataset_that_did_not_pass_is_not_praised(shown: Path, tmp_path: Path) -> None:
    for part in ("data", "reports"):
        shutil.copytree(shown / part, tmp_path / part)
    verdict = json.loads((shown / "reports/gate.json").read_text())
    (tmp_path / "reports/gate.json").write_text(json.dumps(verdict | {"passed": False, "reasons": ["op 3 is 2.0% of the rows"]}))
    card(PARAMS.curation, tmp_path)
    assert "did NOT pass its gate: op 3 is 2.0% of the rows" in (tmp_path / CARD).read_text()
    assert "It did not pass its gate: op 3 is 2.0% of the rows" in page_text(tmp_path)


def test_a_stage_that_has_not_run_is_named(shown: Path, tmp_path: Path) -> None:
    shutil.copytree(shown / "data", tmp_path / "data")
    with pytest.raises(UserError, match="reports/passes/ingest.json.*`dvc repro`"):
        gather(PARAMS.curation, tmp_path)


def lines(number: int, kinds: int, op: int = 0) -> list[LedgerLine]:
    return [
        LedgerLine(
            id=f"{op}{n:019}",
            op=op,
            rule="x",
            hits=(Hit(turn=0, start=0, end=1, reason=f"kind {'abcdefghijklmnopqrstuvwxyz'[n % kinds]}"),),
        )
        for n in range(number)
    ]


def test_of_many_rows_some_of_every_op_and_reason_are_shown_and_all_are_counted() -> None:
    found = choose([*lines(300, kinds=3, op=0), *lines(7, kinds=2, op=3)])
    assert found.kinds == Counter({"kind a": 104, "kind b": 103, "kind c": 100})
    assert Counter(line.op for line in found.dropped) == {0: PER_OP, 3: 7}
    assert len(found.spans) == MAX_SPANS
    shown = Counter((kind, line.op) for kind, line, _ in found.spans)
    assert {kind for kind, _ in shown} == {"kind a", "kind b", "kind c"} and shown["kind a", 3] >= 3


def test_reasons_beyond_a_number_are_counted_together() -> None:
    found = choose(lines(260, kinds=26))
    assert len(found.kinds) == MAX_KINDS + 1 and found.kinds[OTHER] == 60 and found.kinds.total() == 260


def test_a_kind_of_reason_forgets_numbers_and_ids() -> None:
    assert kind_of("0.735 of the 3-grams in common with 0133ad6e23212bb0e308") == "… of the …-grams in common with …"
    assert kind_of("instruct-ism: here's a") == "instruct-ism: here's a"
