"""What mistral-common says: token ids of chats, and its vocabularies. Run by the python of `make oracle`.

    oracle.py ids < chats.jsonl > ids.jsonl     one {"family", "turns": [{"role", "content"}]} a line
    oracle.py vocabulary FAMILY FOLDER          writes FOLDER/vocabulary.json, and tekken.json for a tekken family
    oracle.py golden < chats.jsonl > FILE       ids of the chats with the few pieces of each vocabulary that they need

A chat that ends with the assistant is encoded in finetuning mode, one that ends with the user in serving mode.
Imports nothing of the project: the two sides share only these lines of JSON.
"""

import base64
import json
import sys
import tempfile
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mistral_common
import sentencepiece
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.validator import ValidationMode
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer
from mistral_common.tokens.tokenizers.tekken import Tekkenizer

DATA = Path(mistral_common.__file__).parent / "data"
SPM = DATA / "mistral_instruct_tokenizer_240323.model.v3"
TEKKEN = DATA / "tekken_240911.json"
FAMILIES = ("mistral_v3", "mistral_v7_tekken")


def tekken_v7() -> dict[str, Any]:
    """The tekken vocabulary as version 7, as Mistral Small 24B has it: the wheel ships it as version 3 with the same ids."""
    tekken: dict[str, Any] = json.loads(TEKKEN.read_bytes())
    tekken["config"]["version"] = "v7"
    tekken["special_tokens"] = [
        {"rank": token["rank"], "token_str": str(token["token_str"].value), "is_control": token["is_control"]}
        for token in Tekkenizer.DEPRECATED_SPECIAL_TOKENS
    ]
    del tekken["image"]
    return tekken


@cache
def tokenizer(family: str, mode: ValidationMode) -> MistralTokenizer:
    """mistral-common's tokenizer of a family."""
    if family == "mistral_v3":
        return MistralTokenizer.from_file(SPM, mode=mode)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tekken.json"
        path.write_text(json.dumps(tekken_v7()))
        return MistralTokenizer.from_file(path, mode=mode)


def ids(family: str, turns: list[dict[str, str]]) -> list[int]:
    """Token ids of a chat."""
    trains = turns[-1]["role"] == "assistant"
    mode = ValidationMode.finetuning if trains else ValidationMode.serving
    request = ChatCompletionRequest(messages=turns, model=family)
    return list(tokenizer(family, mode).encode_chat_completion(request).tokens)


def vocabulary(family: str) -> dict[str, Any]:
    """The vocabulary of a family.

    Returns:
        `pattern`: cuts text into words before merging; None for sentencepiece, which merges across words.
        `control`, `added`: {token: id}; added tokens are no control tokens, but are found whole in any text.
        `pieces`: [piece, id] in the order in which pairs merge: text for sentencepiece, bytes in hex for tekken.
    """
    if family == "mistral_v3":
        return _sentencepiece()
    tekken = tekken_v7()
    first, size = tekken["config"]["default_num_special_tokens"], tekken["config"]["default_vocab_size"]
    named = {token["token_str"]: token["rank"] for token in tekken["special_tokens"]}
    fillers = {f"<SPECIAL_{rank}>": rank for rank in range(len(named), first)}
    pieces = [[base64.b64decode(item["token_bytes"]).hex(), first + item["rank"]] for item in tekken["vocab"][: size - first]]
    return {"pattern": tekken["config"]["pattern"], "control": named | fillers, "added": {}, "pieces": pieces}


def _sentencepiece() -> dict[str, Any]:
    model = sentencepiece.SentencePieceProcessor(model_file=str(SPM))
    every = range(model.vocab_size())
    control = {model.id_to_piece(token): token for token in every if model.is_control(token) or model.is_unknown(token)}
    normal = [token for token in every if model.get_score(token) < 0]
    added = {
        model.id_to_piece(token): token
        for token in every
        if model.get_score(token) == 0 and not model.is_byte(token) and model.id_to_piece(token) not in control
    }
    # By score and not by id: runs of spaces have low ids and merge last.
    rest = [token for token in every if model.get_score(token) == 0]
    order = rest + sorted(normal, key=lambda token: -model.get_score(token))
    return {"pattern": None, "control": control, "added": added, "pieces": [[model.id_to_piece(t), t] for t in order]}


def golden(chats: list[dict[str, Any]]) -> dict[str, Any]:
    """Ids of chats, and of each vocabulary only the pieces that a text of these chats could hold."""
    told: dict[str, Any] = {"made_by": f"tests/templates/oracle.py with mistral-common {version('mistral-common')} (Apache-2.0)"}
    for family in FAMILIES:
        mine = [chat for chat in chats if chat["family"] == family]
        told[family] = {
            "vocabulary": _cut(vocabulary(family), _texts([chat["turns"] for chat in mine])),
            "chats": [{"turns": chat["turns"], "ids": ids(family, chat["turns"])} for chat in mine],
        }
    return told


def _texts(chats: list[list[dict[str, str]]]) -> list[str]:
    """Every text that is cut into pieces as one; version 3 joins the system text to the last user's."""
    texts = {f" {turn['content']}" for turns in chats for turn in turns}
    return sorted(texts | {f" {turns[0]['content']}\n\n{turn['content']}" for turns in chats for turn in turns})


def _cut(whole: dict[str, Any], texts: list[str]) -> dict[str, Any]:
    """The same vocabulary without the pieces that are no part of any text: it merges these texts alike."""
    tekken = whole["pattern"] is not None
    longest = max(len(piece) for piece, _ in whole["pieces"])
    step = 2 if tekken else 1  # letters of a piece's smallest part: a byte has two in hex
    parts = {f"{byte:02x}" for byte in range(256)} if tekken else {f"<0x{byte:02X}>" for byte in range(256)}
    for text in (text.encode().hex() if tekken else text.replace(" ", "▁") for text in texts):
        starts = range(0, len(text), step)
        parts |= {text[start:stop] for start in starts for stop in range(start + step, start + longest + step, step)}
    kept = [[piece, number] for piece, number in whole["pieces"] if piece in parts]
    return whole | {"control": {token: number for token, number in whole["control"].items() if number < 20}, "pieces": kept}


def main(act: str, *words: str) -> None:
    """Do what the command line says."""
    if act == "vocabulary":
        family, folder = words[0], Path(words[1])
        (folder / "vocabulary.json").write_text(json.dumps(vocabulary(family)))
        if family == "mistral_v7_tekken":
            (folder / "tekken.json").write_text(json.dumps(tekken_v7()))
        return
    chats = [json.loads(line) for line in sys.stdin]
    if act == "golden":
        sys.stdout.write(json.dumps(golden(chats), ensure_ascii=False) + "\n")
        return
    for chat in chats:
        sys.stdout.write(json.dumps(ids(chat["family"], chat["turns"])) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
