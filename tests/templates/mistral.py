"""The oracle asked, and Mistral tokenizers made from its vocabularies, whole or cut down, as transformers holds them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import bytes_to_unicode

from tests.templates.known import V3_CONFIG, V3_STOCK, V7_CONFIG, V7_STOCK

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".oracle/bin/python"
SITE = ROOT / ".oracle/lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
FAMILIES = ("mistral_v3", "mistral_v7_tekken")
STOCK = {"mistral_v3": (V3_CONFIG, V3_STOCK), "mistral_v7_tekken": (V7_CONFIG, V7_STOCK)}
"""Config and native template."""
Folders = dict[str, Path]
"""A model's folder by family."""
LETTER = bytes_to_unicode()


def ask(act: str, *words: str, lines: list[dict[str, Any]] | None = None) -> str:
    """What the oracle answers."""
    command = [PYTHON, Path(__file__).parent / "oracle.py", act, *words]
    given = "\n".join(map(json.dumps, lines or []))
    return subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout


def tokenizer(vocabulary: dict[str, Any]) -> Tokenizer:
    """A tokenizer of a vocabulary as `oracle.py` writes it."""
    tekken = vocabulary["pattern"] is not None
    pieces = {_piece(text, tekken): number for text, number in vocabulary["pieces"]}
    merges = [pair for piece in pieces if not _is_byte(piece) or tekken for pair in _pairs(piece, pieces)]
    model = models.BPE(
        vocab=pieces | vocabulary["control"] | vocabulary["added"],
        merges=merges,
        unk_token="<unk>",
        fuse_unk=not tekken,
        byte_fallback=not tekken,
        ignore_merges=tekken,
    )
    made = Tokenizer(model)
    if tekken:
        cut = pre_tokenizers.Split(Regex(vocabulary["pattern"]), behavior="isolated")
        made.pre_tokenizer = pre_tokenizers.Sequence([cut, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
        made.decoder = decoders.ByteLevel()
    else:
        made.normalizer = normalizers.Replace(" ", "▁")
        made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
        made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    made.add_special_tokens(list(vocabulary["control"]))
    made.add_tokens([AddedToken(token, normalized=False, special=False) for token in vocabulary["added"]])
    return made


def _piece(text: str, tekken: bool) -> str:
    return "".join(LETTER[byte] for byte in bytes.fromhex(text)) if tekken else text


def _is_byte(piece: str) -> bool:
    return len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">")


def _pairs(piece: str, pieces: dict[str, int]) -> list[tuple[str, str]]:
    cuts = ((piece[:place], piece[place:]) for place in range(1, len(piece)))
    return [(left, right) for left, right in cuts if left in pieces and right in pieces]


def folder(path: Path, vocabulary: dict[str, Any], config: dict[str, Any], chat_template: str) -> Path:
    """A model's folder without weights."""
    path.mkdir(parents=True, exist_ok=True)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer(vocabulary), bos_token="<s>", eos_token="</s>", unk_token="<unk>", chat_template=chat_template
    )
    fast.save_pretrained(path)
    (path / "config.json").write_text(json.dumps(config))
    return path
