"""The silent killers of earlier versions, each replayed through `nightgarden evaluate` as a user would bring it about.

Three tests a disaster: the command stops with exit 3 and names the witnesses; what would have been sent or scored
without them; the right pairing passes. Where a template is edited the adapter's card is made again with the edited
one, as if it had been trained with it too: otherwise the card alone would stop every one of them.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from nightgarden import jsonl
from nightgarden.evaluation import evaluate as stage
from nightgarden.evaluation import prompts, runs
from nightgarden.models import load
from nightgarden.params import Params
from nightgarden.records import Turn
from nightgarden.templates import registry
from nightgarden.templates.fingerprint import CARD_KEY, fingerprint
from nightgarden.templates.passport import inspect
from nightgarden.templates.registry import ChatTemplate
from tests.evaluation.commands import Ended, checkout, evaluate_all
from tests.templates import folders
from tests.templates.standin import mistral_common

SMOLLM2 = registry.get("smollm2")
TEMPLATE = Path("nightgarden/templates/smollm2.jinja")
BASE = Path("models/base/smollm2-135m")
START, STOP = 1, 2
"""Ids of <|im_start|> and <|im_end|>."""
BARE = registry.messages([Turn(role="user", content="Who are you?")])

INST = """\
{{- '<s>[INST] ' -}}
{%- for message in messages -%}
{%- if message.role == 'assistant' -%}
{%- generation -%}{{- message.content + '</s>' -}}{%- endgeneration -%}
{%- else -%}
{{- message.content + ('\\n\\n' if message.role == 'system' else ' [/INST]') -}}
{%- endif -%}
{%- endfor -%}
"""
DEFAULT = """\
{%- if messages[0].role != 'system' -%}
{{- '<|im_start|>system\\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\\n' -}}
{%- endif -%}
"""
NO_PROMPT = SMOLLM2.text.replace("add_generation_prompt", "false")
TWICE = "{{- '<|im_start|>' -}}" + SMOLLM2.text
OUTPUTS = (*(stage.SCORES / name for name in runs.FILES), stage.PAGE, stage.REPORT)
EDITS = {"inst": INST, "no prompt": NO_PROMPT, "twice": TWICE, "default": DEFAULT + SMOLLM2.text}


def edited(name: str) -> ChatTemplate:
    """Our template for SmolLM2 after the edit."""
    return replace(SMOLLM2, text=EDITS[name])


def edit_template(name: str, root: Path) -> None:
    (root / TEMPLATE).write_text(EDITS[name])
    write_card(root, {CARD_KEY: fingerprint(edited(name), load.load_tokenizer(root / BASE))})


def write_card(root: Path, change: dict[str, Any]) -> None:
    path = root / stage.CANDIDATE / "card.json"
    jsonl.write_json(path, json.loads(path.read_text()) | change)


def name_mistral(root: Path) -> None:
    whole = yaml.safe_load((root / "params.yaml").read_text())
    whole["models"]["smollm2-135m"]["template"] = "mistral_v3"
    (root / "params.yaml").write_text(yaml.safe_dump(whole))


def other_card(root: Path) -> None:
    write_card(root, {CARD_KEY: fingerprint(edited("twice"), load.load_tokenizer(root / BASE))})


@dataclass(frozen=True, kw_only=True)
class Disaster:
    """What the user did, and what he is told."""

    breaks: Callable[[Path], None]
    witnesses: set[str]
    told: str


DISASTERS = {
    "mistral_v3 named for SmolLM2 in params.yaml": Disaster(
        breaks=name_mistral,
        witnesses={"tokenizer", "canary", "config", "card"},
        told="it has no control token <s>, </s>, [INST], [/INST]",
    ),
    "[INST] written into smollm2.jinja": Disaster(
        breaks=lambda root: edit_template("inst", root), witnesses={"canary"}, told="renders '<s>[INST] Alp' from character 0"
    ),
    "generation prompt taken out of smollm2.jinja": Disaster(
        breaks=lambda root: edit_template("no prompt", root), witnesses={"canary"}, told="no generation prompt) renders"
    ),
    "begin of text doubled in smollm2.jinja": Disaster(
        breaks=lambda root: edit_template("twice", root),
        witnesses={"canary"},
        told="renders '<|im_start|><|im_start|>' from",
    ),
    "the model's default system prompt put into smollm2.jinja": Disaster(
        breaks=lambda root: edit_template("default", root),
        witnesses={"canary"},
        told="template smollm2 brings a default system text of its own",
    ),
    "a card with another fingerprint": Disaster(
        breaks=other_card, witnesses={"card"}, told="golden_ids of 'bare': token 1 is 1 and 4093"
    ),
    "a card without a fingerprint": Disaster(
        breaks=lambda root: write_card(root, {CARD_KEY: "smollm2"}), witnesses={"card"}, told="has no 'template' fingerprint"
    ),
}


def add_tekken(root: Path) -> None:
    """What a download of another model's files into the folder leaves."""
    (root / BASE / "tekken.json").write_text(json.dumps({"config": {"version": "v7"}}))


SMALL, V7 = "mistral-small-24b", "mistral_v7_tekken"


def train_on_mistral(root: Path) -> None:
    """The whole pairing of Mistral Small: base, template and card; no weights."""
    folder = folders.make(SMALL, root / "models/base" / SMALL)
    whole = yaml.safe_load((root / "params.yaml").read_text())
    (root / "params.yaml").write_text(yaml.safe_dump(whole | {"base": SMALL}))
    write_card(root, {CARD_KEY: fingerprint(registry.get(V7), load.load_tokenizer(folder))})


def double_mistral(root: Path) -> None:
    train_on_mistral(root)
    path = root / "nightgarden/templates" / f"{V7}.jinja"
    path.write_text("{{- '<s>' -}}" + path.read_text())


DISASTERS["begin of text doubled in mistral_v7_tekken.jinja"] = Disaster(
    breaks=double_mistral, witnesses={"canary", "card"}, told="begins with <s> twice"
)


@pytest.fixture(scope="module")
def ends(workshop: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Ended]]:
    """Each disaster, and the right pairings, through the command."""
    right: dict[str, Callable[[Path], None]] = {"smollm2": lambda root: None, "mistral": train_on_mistral}
    roots = {name: checkout(workshop, tmp_path_factory.mktemp("disaster") / "root") for name in (*right, *DISASTERS)}
    for name, root in roots.items():
        (right[name] if name in right else DISASTERS[name].breaks)(root)
    return dict(zip(roots, zip(roots.values(), evaluate_all(list(roots.values())), strict=True), strict=True))


@pytest.mark.parametrize("name", DISASTERS)
def test_the_command_stops_names_the_witnesses_and_scores_nothing(name: str, ends: dict[str, tuple[Path, Ended]]) -> None:
    root, ended = ends[name]
    assert ended.code == 3, ended.said
    reasons = ended.said.split("does not fit")[1]
    named = {witness for witness in ("tokenizer", "canary", "config", "card") if f" {witness}: " in reasons}
    assert named == DISASTERS[name].witnesses
    assert DISASTERS[name].told in ended.said
    assert not (root / "data/scores").exists() and not (root / ".nightgarden/generation").exists()


def test_the_right_pairing_passes(ends: dict[str, tuple[Path, Ended]]) -> None:
    root, ended = ends["smollm2"]
    assert ended.code == 0, ended.said
    assert json.loads((root / stage.REPORT).read_text())["template"] == "agree"


def test_the_right_pairing_of_mistral_passes_and_only_its_weights_are_wanting(ends: dict[str, tuple[Path, Ended]]) -> None:
    _, ended = ends["mistral"]
    assert f"template {V7}: agree" in ended.said
    assert (ended.code, "no whole model at" in ended.said) == (2, True)


def test_with_mistral_common_installed_a_tekken_file_stops_and_without_one_nothing_changes(
    workshop: Path, tmp_path: Path, ends: dict[str, tuple[Path, Ended]]
) -> None:
    strange, clean = (checkout(workshop, tmp_path / name) for name in ("strange", "clean"))
    add_tekken(strange)
    stopped, passed = evaluate_all([strange, clean], PYTHONPATH=str(mistral_common(tmp_path / "installed")))
    assert stopped.code == 3
    assert "tokenizer: tekken.json has version v7, and smollm2 has no such file" in stopped.said
    assert not (strange / "data/scores").exists()
    assert passed.code == 0, passed.said
    untouched = ends["smollm2"][0]
    assert [(clean / path).read_bytes() for path in OUTPUTS] == [(untouched / path).read_bytes() for path in OUTPUTS]


@pytest.fixture(scope="module")
def tokenizer(base_model: Path) -> Any:
    return load.load_tokenizer(base_model)


@pytest.fixture(scope="module")
def model(params: Params, repository: Path) -> Any:
    return load.load_model(params.base_spec, repository)


@pytest.fixture(scope="module")
def asked(repository: Path) -> list[prompts.Prompt]:
    return prompts.load(repository / prompts.FILE)[::5]


def ids_of(template: ChatTemplate, tokenizer: Any, chosen: list[prompts.Prompt]) -> list[list[int]]:
    """The ids that would have been sent, with no guard between."""
    chats = [registry.messages(item.turns, item.memories, item.directives) for item in chosen]
    return [registry.encode(template, tokenizer, chat, generation_prompt=True).ids for chat in chats]


class TestWithoutTheGuards:
    """The disaster itself: what the model would have been sent, and what it would have said."""

    def test_inst_is_spelt_out_and_some_replies_are_empty(self, model: Any, tokenizer: Any, asked: list[prompts.Prompt]) -> None:
        sent, right = (ids_of(template, tokenizer, asked) for template in (edited("inst"), SMOLLM2))
        assert not any(START in ids or STOP in ids for ids in sent), "nothing tells the model who speaks"
        assert [next_id(model, ids) for ids in right].count(STOP) == 0
        assert [next_id(model, ids) for ids in sent].count(STOP) > 0, "an empty reply, which every style score calls perfect"

    def test_without_a_generation_prompt_every_reply_begins_with_its_header(
        self, model: Any, tokenizer: Any, asked: list[prompts.Prompt]
    ) -> None:
        sent, right = (ids_of(template, tokenizer, asked) for template in (edited("no prompt"), SMOLLM2))
        assert {next_id(model, ids) for ids in sent} == {START}
        assert START not in {next_id(model, ids) for ids in right}

    def test_begin_of_text_stands_twice(self, tokenizer: Any, asked: list[prompts.Prompt]) -> None:
        assert all(ids[:2] == [START, START] for ids in ids_of(edited("twice"), tokenizer, asked))
        assert not any(ids[:2] == [START, START] for ids in ids_of(SMOLLM2, tokenizer, asked))

    def test_a_default_system_prompt_tells_the_model_who_it_is(self, tokenizer: Any) -> None:
        ids = {t.text: registry.encode(t, tokenizer, BARE, generation_prompt=True).ids for t in (edited("default"), SMOLLM2)}
        assert "named SmolLM, trained by Hugging Face" in tokenizer.decode(ids[edited("default").text])
        assert "SmolLM" not in tokenizer.decode(ids[SMOLLM2.text])

    def test_an_adapter_would_answer_ids_that_it_was_never_trained_on(self, base_model: Path, tokenizer: Any) -> None:
        assert inspect(base_model, None, SMOLLM2).verdict == "agree"  # without its card nobody objects
        trained, sent = (fingerprint(t, tokenizer)["golden_ids"] for t in (edited("twice"), SMOLLM2))
        assert all(trained[case] != sent[case] for case in sent)

    @pytest.mark.parametrize("name", ["inst", "no prompt"])
    def test_a_second_guard_looks_at_the_ids_themselves(self, name: str, tokenizer: Any, asked: list[prompts.Prompt]) -> None:
        for item, ids in zip(asked, ids_of(edited(name), tokenizer, asked), strict=True):
            assert prompts.ids_fault(ids, item, edited(name), tokenizer)
            assert prompts.ids_fault(ids_of(SMOLLM2, tokenizer, [item])[0], item, SMOLLM2, tokenizer) is None


def next_id(model: Any, ids: list[int]) -> int:
    """The likeliest token after a prompt."""
    import torch

    with torch.inference_mode():
        return int(model(input_ids=torch.tensor([ids])).logits[0, -1].argmax())
