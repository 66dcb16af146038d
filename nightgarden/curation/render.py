"""The `render` stage: every row of the dataset as the trainer will see it, before the gate.

A row can pass every rule and still be lost on the trainer: a template that drops the system text, a turn
whose role it does not know, an answer cut off by the length. Here each row goes through the template and
tokenizer of the target model. Repairs and drops nothing; the first faults stop the stage.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nightgarden.curation import refused
from nightgarden.curation.dataset import dataset_digest, rows_of
from nightgarden.curation.refused import Shown
from nightgarden.errors import Refusal, UserError
from nightgarden.jsonl import write_json
from nightgarden.params import Params
from nightgarden.records import OPS, Example

if TYPE_CHECKING:
    from nightgarden.stage import Place
    from nightgarden.templates.registry import ChatTemplate, Encoded

log = logging.getLogger(__name__)

REPORT = Path("reports/render.json")
TAGS = ("<memory>", "</memory>", "<directives>", "</directives>")
"""What `memory_block.jinja` puts around memories and directives, in the system text alone."""
TOLD_EVERY = 2000
MAX_SHOWN = 50
WAYS = (
    "repair or remove the rows in their source (`nightgarden explain ID` tells where one came from);",
    "or raise training.max_length in params.yaml, if they are only too long;",
    "or name another base or template there, if the model is the wrong one.",
)


def render(params: Params, root: Path, place: Place) -> dict[str, float | int | str]:
    """Render every row of the dataset with the base model's own template and tokenizer.

    Returns:
        Rows, and per op the longest row and its trainable tokens.

    Raises:
        UserError: the base model's tokenizer is not here.
        Refusal: names rows that the trainer would lose, in whole or in part, and a page with all of them.
    """
    from nightgarden.models import specs
    from nightgarden.models.load import load_tokenizer
    from nightgarden.templates import registry

    template = registry.get(params.base_spec.template)
    tokenizer = load_tokenizer(specs.folder(params.base_spec, root))
    longest, labelled, faults = [0] * len(OPS), [0] * len(OPS), list[Shown]()
    number = 0
    for number, row in enumerate(rows_of(root), 1):
        try:
            encoded = registry.encode_example(template, tokenizer, row.turns, row.memories, row.directives)
        except (Refusal, UserError) as error:
            faults.append(Shown(id=row.id, turn=-1, reason="the template does not take it", snippet=str(error)[:80]))
            continue
        reasons = list(row_faults(row, encoded, template, tokenizer, params.training.max_length))
        faults += [Shown(id=row.id, turn=-1, reason=reason, snippet=row.turns[-1].content[:80]) for reason in reasons]
        longest[row.op] = max(longest[row.op], len(encoded.ids))
        labelled[row.op] += sum(label != registry.IGNORED for label in encoded.labels)
        if number % TOLD_EVERY == 0:
            log.info("render: %d rows", number)
    report: dict[str, Any] = {"rows": number, "base": params.base, "template": template.name}
    for op in range(len(OPS)):
        report |= {f"op{op}_longest": longest[op], f"op{op}_labelled": labelled[op]}
    _require(faults, number, root)
    write_json(root / REPORT, report | {"digest": dataset_digest(root)})
    log.info("render: %d rows as %s sees them; the longest has %d tokens", number, params.base, max(longest))
    return report


def row_faults(row: Example, encoded: Encoded, template: ChatTemplate, tokenizer: Any, max_length: int) -> Iterator[str]:
    """Why the trainer would lose something of a row."""
    from nightgarden.templates import registry

    text = _decoded(tokenizer, encoded.ids)
    spoken = _decoded(tokenizer, [token for token in encoded.labels if token != registry.IGNORED])
    if not spoken:
        yield "no trainable token"
    given = row.turns[0].content if row.turns[0].role == "system" else ""
    if (system := registry.system_text(given, row.directives, row.memories)) and system not in text:
        yield "the system text is not in what is rendered"
    for turn in row.turns:
        where = spoken if turn.role == "assistant" else text
        if turn.role != "system" and turn.content.strip() not in where:
            yield f"a turn of the {turn.role} did not survive in its role"
    if len(encoded.ids) > max_length:
        yield "more tokens than training.max_length"
    expected = {"<memory>": bool(row.memories), "<directives>": bool(row.directives)}
    wrong = [tag for tag in TAGS if text.count(tag) != expected[tag.replace("/", "")]]
    if wrong:
        yield f"{', '.join(wrong)} where no memory block stands"


def _decoded(tokenizer: Any, ids: list[int]) -> str:
    text: str = tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
    return text


def _require(faults: list[Shown], rows: int, root: Path) -> None:
    if not faults:
        refused.clear("render", root)
        return
    counts = Counter(shown.reason for shown in faults)
    told = [f"{times} times of {rows} rows: {reason}" for reason, times in counts.most_common()]
    page = refused.write("render", told, WAYS, counts, faults[:MAX_SHOWN], root)
    raise Refusal(
        f"the trainer would lose rows, such as {faults[0].id}: {'; '.join(told)}. Look at {page}, then {' '.join(WAYS)}"
    )
