"""Makes the small folders of `known.py`: a config, a tokenizer and a native template; no weights."""

import json
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from tests.templates.known import BASES, KNOWN, Known

FIRST_LETTER = 300
"""Id of the first letter: behind every control id of the sentencepiece models."""


def _tokenizer(known: Known) -> Tokenizer:
    printable = [*map(chr, range(32, 127)), "▁", "é", "\n"]
    alphabet = printable if known.letters else sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = known.control | {letter: FIRST_LETTER + place for place, letter in enumerate(alphabet)}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[], unk_token="<unk>" if "<unk>" in vocab else None))
    if known.letters == "each":
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
        tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    elif known.letters:
        scheme = "first" if known.letters == "first" else "never"
        tokenizer.normalizer = normalizers.Replace(" ", "▁")
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=False)
        tokenizer.decoder = decoders.Metaspace(prepend_scheme=scheme)
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(sorted(known.control))
    return tokenizer


def make(name: str, folder: Path) -> Path:
    """The folder of one of KNOWN or BASES."""
    known = (KNOWN | BASES)[name]
    fast = PreTrainedTokenizerFast(tokenizer_object=_tokenizer(known), bos_token=known.bos, eos_token=known.eos)
    fast.chat_template = known.template
    fast.save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps(known.config))
    return folder
