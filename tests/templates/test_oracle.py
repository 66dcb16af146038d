"""Our Mistral templates against mistral-common, token id by token id.

The ids of a few chats lie in golden_mistral.json, with the pieces of the vocabularies that they need, so the
default suite needs no mistral-common. The tests marked `oracle` ask it for all chats (`make test-oracle`).
"""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nightgarden.models.load import load_tokenizer
from nightgarden.records import Turn
from nightgarden.templates import registry
from nightgarden.templates.passport import inspect
from tests.templates import mistral
from tests.templates.chats import Chat, varied
from tests.templates.mistral import Folders, ask

GOLDEN = Path(__file__).parent / "golden_mistral.json"
COUNT = 200
SHORT = 240
"""Characters; of the chats that are no longer, every third is kept in GOLDEN."""


def forms(chats: list[Chat]) -> list[tuple[Chat, tuple[Turn, ...]]]:
    """Each chat as a prompt and as an example."""
    return [(chat, turns) for chat in chats for turns in (chat.turns, (*chat.turns, chat.answer))]


def as_lines(family: str, chats: list[Chat]) -> list[dict[str, Any]]:
    """The forms as the oracle reads them."""
    told = [registry.messages(turns, chat.memories, chat.directives) for chat, turns in forms(chats)]
    return [{"family": family, "turns": turns} for turns in told]


def ids(family: str, tokenizer: Any, turns: tuple[Turn, ...], chat: Chat | None = None) -> list[int]:
    """Our ids, by the door that training or evaluation goes through."""
    template, rest = registry.get(family), (chat.memories, chat.directives) if chat else ((), ())
    if turns[-1].role == "assistant":
        return registry.encode_example(template, tokenizer, turns, *rest).ids
    return registry.encode_prompt(template, tokenizer, turns, *rest)


@pytest.fixture(scope="session")
def golden() -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(GOLDEN.read_text())
    return whole


@pytest.fixture(scope="session")
def small(golden: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """Model folders whose tokenizers hold only the pieces of the golden chats."""
    home = tmp_path_factory.mktemp("small")
    return {f: mistral.folder(home / f, golden[f]["vocabulary"], *mistral.STOCK[f]) for f in mistral.FAMILIES}


@pytest.mark.parametrize("family", mistral.FAMILIES)
def test_the_golden_chats_get_mistral_commons_ids(family: str, golden: dict[str, Any], small: Folders) -> None:
    tokenizer = load_tokenizer(small[family])
    kept = golden[family]["chats"]
    roles = {(chat["turns"][0]["role"], chat["turns"][-1]["role"]) for chat in kept}
    assert roles == {(first, last) for first in ("system", "user") for last in ("user", "assistant")}
    for chat in kept:
        assert ids(family, tokenizer, tuple(Turn(**turn) for turn in chat["turns"])) == chat["ids"]


@pytest.mark.parametrize("family", mistral.FAMILIES)
def test_the_passport_of_mistral_commons_own_vocabulary_agrees(family: str, small: Folders) -> None:
    passport = inspect(small[family])
    assert (passport.family, passport.verdict) == (family, "agree")


@pytest.mark.parametrize("family", mistral.FAMILIES)
def test_one_space_more_is_seen_by_the_golden_chats(family: str, golden: dict[str, Any], small: Folders) -> None:
    tokenizer = load_tokenizer(small[family])
    kept = [chat for chat in golden[family]["chats"] if chat["turns"][-1]["role"] == "user" and chat["turns"][-1]["content"]]
    template = registry.get(family)
    old, new = ("'[INST]' -}}{{- ' '", "'[INST]' -}}{{- '  '") if family == "mistral_v3" else ("'[INST]' +", "'[INST] ' +")
    assert old in template.text
    spaced = replace(template, text=template.text.replace(old, new))
    assert len(kept) > 20
    for chat in kept:
        assert registry.encode(spaced, tokenizer, chat["turns"], generation_prompt=True).ids != chat["ids"]


@pytest.mark.oracle
@pytest.mark.parametrize("family", mistral.FAMILIES)
def test_200_varied_chats_get_mistral_commons_ids(family: str, whole: Folders) -> None:
    chats = varied(COUNT)
    assert sum(chat.turns[0].role == "system" for chat in chats) == COUNT // 2
    theirs = [json.loads(line) for line in ask("ids", lines=as_lines(family, chats)).splitlines()]
    tokenizer = load_tokenizer(whole[family])
    ours = [ids(family, tokenizer, turns, chat) for chat, turns in forms(chats)]
    assert len(theirs) == 2 * COUNT
    assert ours == theirs


@pytest.mark.oracle
@pytest.mark.parametrize("family", mistral.FAMILIES)
def test_the_passport_agrees_with_the_whole_vocabulary_beside_its_tekken_file(family: str, whole: Folders) -> None:
    passport = inspect(whole[family])
    assert (passport.family, passport.verdict) == (family, "agree")


@pytest.mark.oracle
def test_the_stock_v3_template_drops_every_system_prompt_in_training_form(whole: Folders) -> None:
    tokenizer = load_tokenizer(whole["mistral_v3"])
    stock = registry.native(tokenizer)
    with_system = [chat for chat in varied(COUNT) if chat.turns[0].role == "system"]
    dropped = kept = 0
    for chat in with_system:
        row = registry.messages((*chat.turns, chat.answer))
        bare = registry.encode(stock, tokenizer, row[1:], generation_prompt=False).ids
        dropped += registry.encode(stock, tokenizer, row, generation_prompt=False).ids == bare
        kept += ids("mistral_v3", tokenizer, (*chat.turns, chat.answer)) != ids(
            "mistral_v3", tokenizer, (*chat.turns[1:], chat.answer)
        )
    assert (len(with_system), dropped, kept) == (COUNT // 2, COUNT // 2, COUNT // 2)


def golden_chats() -> list[Chat]:
    """The chats of GOLDEN."""
    short = [chat for chat in varied(COUNT) if sum(len(t.content) for t in (*chat.turns, chat.answer)) <= SHORT]
    return [chat for number, chat in enumerate(short) if number % 3 == 0]


@pytest.mark.oracle
def test_the_golden_file_is_what_the_oracle_says_now(golden: dict[str, Any]) -> None:
    """With UPDATE_GOLDEN=1 in the environment the file is written instead, for a look at its diff."""
    told = ask("golden", lines=[line for family in mistral.FAMILIES for line in as_lines(family, golden_chats())])
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(told)
    assert json.loads(told) == (json.loads(GOLDEN.read_text()) if os.environ.get("UPDATE_GOLDEN") else golden)
