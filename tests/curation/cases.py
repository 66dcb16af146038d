"""Hits and near-misses of every rule, written by hand before the rules were looked at, and how the rules judge them.

`cases/RULE.jsonl` has a case a line: what is expected, why, and a row in our own shape; for `duplicate` two
rows, for `contamination` a row and an evaluation prompt. The keys in `cases/secrets.jsonl` are made up, and
each hides a letter behind a JSON escape, so that a scanner of pushes does not take them for real ones.
`python -m tests.curation.cases` prints the table.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from nightgarden.curation.annotate import find
from nightgarden.curation.rules.contamination import CANARY_PROMPTS
from nightgarden.curation.sources.shapes import to_example
from nightgarden.records import Example, Prompt, Turn
from nightgarden.rule_params import RULES as NAMES
from tests.curation.rows import RULES, read_lines

FOLDER = Path(__file__).resolve().parent / "cases"


class Case(NamedTuple):
    """One row, or a pair, with what a careful curator expects of one rule."""

    rule: str
    expect: str
    """`hit` or `miss`."""
    why: str
    rows: tuple[Example, ...]
    prompts: tuple[Prompt, ...]

    @property
    def is_right(self) -> bool:
        """Whether the rule judges it as expected, under the settings of params.yaml."""
        found = find(self.rule, self.rows, RULES.of(self.rule), self.prompts)
        return bool(found) == (self.expect == "hit")


def cases_of(rule: str) -> list[Case]:
    """The cases of a rule, hits first."""
    return [_case(rule, line) for line in read_lines(FOLDER / f"{rule}.jsonl")]


def _case(rule: str, line: dict[str, Any]) -> Case:
    expect, why = line.pop("expect"), line.pop("why")
    raw = line.get("rows") or [line.get("row") or line]
    rows = tuple(to_example(row, "cases", None) for row in raw)
    if rule != "contamination":
        return Case(rule, expect, why, rows, ())
    prompt = Prompt(id="case", category="case", turns=(Turn(role="user", content=line["prompt"]),))
    return Case(rule, expect, why, rows, (prompt, *CANARY_PROMPTS))  # never alone: there, too, short ones stand among long ones


def table() -> Iterator[str]:
    """A line per rule with the numbers of cases judged right, then a line for every other one."""
    wrong: list[Case] = []
    yield f"{'rule':<18} {'hits':>7} {'near-misses':>12}"
    for rule in NAMES:
        cases = cases_of(rule)
        right = [case.expect for case in cases if case.is_right]
        total = [case.expect for case in cases]
        shares = {kind: f"{right.count(kind)}/{total.count(kind)}" for kind in ("hit", "miss")}
        yield f"{rule:<18} {shares['hit']:>7} {shares['miss']:>12}"
        wrong += [case for case in cases if not case.is_right]
    for case in wrong:
        yield f"{case.rule}: {'missed' if case.expect == 'hit' else 'wrongly hit'}: {case.why}"


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in table())
