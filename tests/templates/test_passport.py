import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nightgarden.cli import app
from nightgarden.errors import Refusal, UserError
from nightgarden.models.load import load_tokenizer
from nightgarden.records import Turn
from nightgarden.templates import families, registry, render
from nightgarden.templates.fingerprint import CARD_KEY, fingerprint
from nightgarden.templates.passport import Passport, inspect, require
from tests.templates.known import KNOWN

SMOLLM2 = registry.get("smollm2")
Make = Callable[[str], Path]


@pytest.fixture(scope="module")
def card(smollm2: Any) -> dict[str, Any]:
    return {CARD_KEY: fingerprint(SMOLLM2, smollm2)}


def against(passport: Passport) -> list[str]:
    return [witness.name for witness in passport.witnesses if witness.says == "refused"]


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_the_untouched_adapter_passes(model_folder: Make, card: dict[str, Any]) -> None:
    passport = inspect(model_folder("smollm2"), card, SMOLLM2)
    assert (passport.verdict, passport.family) == ("agree", "smollm2")
    assert [witness.name for witness in passport.witnesses] == ["tokenizer", "canary", "config", "card"]
    require(passport)


def test_a_template_changed_by_one_space_is_refused_by_name(model_folder: Make, card: dict[str, Any]) -> None:
    spaced = replace(SMOLLM2, text=SMOLLM2.text.replace("'<|im_start|>assistant\\n'", "'<|im_start|>assistant \\n'"))
    passport = inspect(model_folder("smollm2"), card, spaced)
    assert against(passport) == ["canary", "card"]
    with pytest.raises(Refusal, match=r"canary: template smollm2 .* renders .*card: trained with another template"):
        require(passport)


def test_a_space_that_no_canary_sees_is_seen_by_the_card(model_folder: Make, card: dict[str, Any]) -> None:
    spaced = replace(SMOLLM2, text=SMOLLM2.text.replace("{#- ", "{#-  "))
    folder = model_folder("smollm2")
    assert against(inspect(folder, card, spaced)) == ["card"]
    assert inspect(folder, None, spaced).verdict == "agree"  # what a run without the card would have done


def test_a_tokenizer_with_other_control_ids_is_refused_by_name(model_folder: Make) -> None:
    folder = model_folder("smollm2")
    state = json.loads((folder / "tokenizer.json").read_text())
    start, end = state["added_tokens"][1], state["added_tokens"][2]
    start["content"], end["content"] = end["content"], start["content"]
    vocab = state["model"]["vocab"]
    vocab["<|im_start|>"], vocab["<|im_end|>"] = vocab["<|im_end|>"], vocab["<|im_start|>"]
    (folder / "tokenizer.json").write_text(json.dumps(state))
    passport = inspect(folder, None, SMOLLM2)
    assert against(passport) == ["tokenizer"]
    assert "<|im_start|> is 2, not 1" in passport.witnesses[0].why


def test_a_models_own_template_that_renders_otherwise_is_refused_by_name(model_folder: Make, card: dict[str, Any]) -> None:
    folder = model_folder("smollm2")
    edit(folder / "chat_template.jinja", "'<|im_start|>' + message['role']", "'<|im_start|> ' + message['role']")
    passport = inspect(folder, card, SMOLLM2)
    assert against(passport) == ["canary"]
    assert "the model's own template" in passport.witnesses[1].why


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"intermediate_size": 1536', '"intermediate_size": 2560'),
        ('"rope_theta": 100000.0', '"rope_theta": 10000.0'),
        ('"vocab_size": 49152', '"vocab_size": 49153'),
        ('"num_hidden_layers": 30', '"num_hidden_layers": 32'),
        ('"attention_bias": false', '"text_config": {"num_hidden_layers": 2}'),
    ],
)
def test_a_config_that_vetoes_is_named(model_folder: Make, card: dict[str, Any], old: str, new: str) -> None:
    folder = model_folder("smollm2")
    edit(folder / "config.json", old, new)
    assert against(inspect(folder, card, SMOLLM2)) == ["config"]
    assert against(inspect(folder)) == ["config"]


@pytest.mark.parametrize(
    "broken",
    [{}, {"golden_ids": {"bare": [1, 2, 3]}}, {"tokenizer_sha256": "0"}, {"memory_block_sha256": "0"}],
)
def test_a_card_that_differs_is_named(model_folder: Make, card: dict[str, Any], broken: dict[str, Any]) -> None:
    kept = {CARD_KEY: card[CARD_KEY] | broken} if broken else {}
    assert against(inspect(model_folder("smollm2"), kept, SMOLLM2)) == ["card"]


def test_the_embedded_model_and_a_base_without_a_template_are_recognised(model_folder: Make) -> None:
    for model, family in (("smollm2", "smollm2"), ("mistral-small-24b-base", "mistral_v7_tekken")):
        passport = inspect(model_folder(model))
        assert (passport.family, passport.verdict, passport.template) == (family, "agree", registry.get(family))


@pytest.mark.parametrize("model", KNOWN)
def test_every_familys_own_folder_passes_as_ours_or_natively_and_marked(model: str, model_folder: Make) -> None:
    family = KNOWN[model].family
    passport = inspect(model_folder(model))
    require(passport)
    assert (passport.family, passport.verdict) == (family, "agree" if family else "unverified")
    assert passport.template is not None
    assert passport.template.name == (family or "native")


@pytest.mark.parametrize("model", KNOWN)
def test_the_command_prints_the_passport(model: str, model_folder: Make) -> None:
    folder, runner = model_folder(model), CliRunner()
    told = json.loads(runner.invoke(app, ["template", "inspect", str(folder), "--json"]).stdout)
    assert told == inspect(folder).as_dict()
    table = runner.invoke(app, ["template", "inspect", str(folder)])
    assert table.exit_code == 0
    assert f"verdict: {told['verdict']}" in table.stdout
    assert json.loads(table.stdout.split("witnesses: ")[1]) == told["witnesses"]


def test_a_tokenizer_that_cuts_pieces_otherwise_than_the_whole_text_is_refused(model_folder: Make) -> None:
    folder = model_folder("phi-3-mini")
    assert against(inspect(folder)) == []
    state = json.loads((folder / "tokenizer.json").read_text())
    state["normalizer"] = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    state["pre_tokenizer"] = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False}
    (folder / "tokenizer.json").write_text(json.dumps(state))
    assert against(inspect(folder)) == ["canary"]
    tokenizer = load_tokenizer(folder)
    native = registry.native(tokenizer)
    chat = registry.messages([Turn(role="user", content="Hi")])
    text = render.plain(registry.render_text(native, tokenizer, chat, generation_prompt=True))
    pieces = registry.encode(native, tokenizer, chat, generation_prompt=True).ids  # what would have been sent
    assert len(pieces) > len(tokenizer(text, add_special_tokens=False)["input_ids"])


@pytest.mark.parametrize("model", [name for name, known in KNOWN.items() if known.family is None])
@pytest.mark.parametrize("template", registry.NAMES)
def test_no_template_of_ours_can_be_forced_on_another_model(model: str, template: str, model_folder: Make) -> None:
    assert inspect(model_folder(model), None, registry.get(template)).verdict == "refused"


def test_a_relative_with_a_familys_tokenizer_and_template_is_vetoed_by_its_config_or_unknown(model_folder: Make) -> None:
    assert against(inspect(model_folder("small-3.1"), None, registry.get("mistral_v7_tekken"))) == ["config"]
    assert against(inspect(model_folder("nemo-12b-base"))) == ["config"]


@pytest.mark.parametrize(
    ("model", "template", "witnesses"),
    [
        ("nemo-12b", "mistral_v7_tekken", ["canary", "config"]),
        ("nemo-12b", "mistral_v3", ["tokenizer", "canary", "config"]),
        ("llama-3-8b", "mistral_v3", ["tokenizer", "canary", "config"]),
        ("qwen3-14b", "mistral_v7_tekken", ["tokenizer", "canary", "config"]),
        ("mistral-small-24b", "mistral_v3", ["tokenizer", "canary", "config"]),
        ("mistral-7b-v0.3", "mistral_v7_tekken", ["tokenizer", "canary", "config"]),
    ],
)
def test_a_wrong_template_named_by_hand_is_refused(model: str, template: str, witnesses: list[str], model_folder: Make) -> None:
    assert against(inspect(model_folder(model), None, registry.get(template))) == witnesses


def test_a_tekken_version_outweighs_equal_control_ids(model_folder: Make) -> None:
    folder = model_folder("mistral-small-24b-base")
    (folder / "tekken.json").write_text(json.dumps({"config": {"version": "v3"}}))
    passport = inspect(folder, None, registry.get("mistral_v7_tekken"))
    assert against(passport) == ["tokenizer"]
    assert "tekken.json has version v3, not v7" in passport.witnesses[0].why


def test_an_unknown_model_without_a_template_cannot_be_used(model_folder: Make) -> None:
    folder = model_folder("qwen3-14b")
    (folder / "chat_template.jinja").unlink()
    passport = inspect(folder)
    assert against(passport) == ["canary"]
    with pytest.raises(Refusal, match="brings no template of its own"):
        require(passport)


def by_layers(config: dict[str, Any]) -> str:
    """The rule that earlier versions trusted: 32 layers are the 7B, everything else is the 24B."""
    return "mistral_v3" if config["num_hidden_layers"] == 32 else "mistral_v7_tekken"


@pytest.mark.parametrize(
    ("model", "says"), [("nemo-12b", "mistral_v7_tekken"), ("llama-3-8b", "mistral_v3"), ("qwen3-14b", "mistral_v7_tekken")]
)
def test_the_layer_rule_alone_names_a_wrong_template(model: str, says: str, model_folder: Make) -> None:
    folder = model_folder(model)
    assert by_layers(json.loads((folder / "config.json").read_text())) == says
    assert inspect(folder, None, registry.get(says)).verdict == "refused"


def test_the_layer_rule_alone_crashes_on_mistral3_and_calls_smollm2_a_24b(model_folder: Make) -> None:
    with pytest.raises(KeyError):
        by_layers(json.loads((model_folder("small-3.1") / "config.json").read_text()))
    assert by_layers(json.loads((model_folder("smollm2") / "config.json").read_text())) == "mistral_v7_tekken"


def test_the_description_has_the_shape_that_programs_read(model_folder: Make) -> None:
    told = inspect(model_folder("smollm2")).as_dict()
    assert (told["family"], told["verdict"]) == ("smollm2", "agree")
    assert [set(witness) for witness in told["witnesses"]] == [{"name", "says", "why"}] * 3


def test_a_folder_that_is_no_model_says_so(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no readable config.json"):
        inspect(tmp_path)


def test_each_family_has_a_template_of_its_name() -> None:
    assert [family.name for family in families.FAMILIES] == list(registry.NAMES)
