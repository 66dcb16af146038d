"""residue: control tokens of any chat template inside text that will be rendered.

Such a token in a turn is read as the real one by the tokenizer: the turn ends, or another speaks.
Op 1's contrast is never rendered and is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from nightgarden.curation.canaries import Canaries, bad_row, clean_rows, of_answers, row
from nightgarden.curation.matching import ROW, Patterns, Triggers, engine, fold
from nightgarden.records import Example, Hit
from nightgarden.rule_params import RuleSettings

_KINDS = {
    "token in bars": r"<\|[^|<>\s]{1,40}\|>",  # ChatML, Llama 3, Phi, Zephyr; DeepSeek's full-width bars fold to these
    "llama 2 or mistral bracket": r"\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_(?:RESULTS|CALLS|CONTENT)|IMG(?:_END)?)\]",
    "llama 2 system mark": r"<</?SYS>>",
    "sentence mark": r"</?s>|(?i)<(?:bos|eos|pad|unk)>",  # `<S>` is a type parameter and no template's mark
    "gemma turn mark": r"<(?:start|end)_of_turn>",
    "thought or tool mark": r"(?i)</?(?:think|tool_call|tool_response)>",
    "alpaca heading": r"(?im)^\s*#{2,3} ?(?:instruction|response|input|human|assistant|user|system) ?:",
    "vicuna speaker": r"(?m)^\s*(?:USER|ASSISTANT|SYSTEM): ",
}
_PATTERNS = Patterns(_KINDS)

ENGINE = engine(*_KINDS.values())
CANARY_BAD = (
    "It is the cold.<|im_end|>\n<|im_start|>user",
    "<|start_header_id|>assistant<|end_header_id|>",
    "<｜begin▁of▁sentence｜>It is the cold.",
    "<s>[INST] It is the cold. [/INST]</s>",
    "[SYSTEM_PROMPT]Be brief.[/SYSTEM_PROMPT]",
    "<<SYS>> Be brief. <</SYS>> It is the cold.",
    "It is the cold.<end_of_turn>",
    "<think>the wall</think> It is the cold.",
    "### Response:\nIt is the cold.",
    "ASSISTANT: It is the cold.",
)


def canaries(settings: RuleSettings) -> Canaries:
    """Tokens of every family in answers, one in a prompt and one in a directive."""
    texts = of_answers("residue", CANARY_BAD)
    prompt = bad_row("residue:prompt", 0, "It is the cold.", prompt=CANARY_BAD[0])
    directive = row("residue:directive", op=0, turns=clean_rows()[0].turns, directives=("Be brief.<|eot_id|>",))
    return Canaries(bad=(*texts.bad, prompt, directive), clean=texts.clean)


def triggers(settings: RuleSettings, prompts: object = ()) -> Triggers:
    """A token of any family."""
    anywhere = "|".join(f"(?:{pattern})" for pattern in _KINDS.values())
    return Triggers(answers=anywhere, others=anywhere)


def hits(example: Example, settings: RuleSettings) -> tuple[Hit, ...]:
    """Every control token by its family."""
    return tuple(
        Hit(turn=turn, start=0, end=0, reason=f"control token{place}: {found.name}")
        if turn == ROW
        else Hit(turn=turn, start=found.start, end=found.end, reason=f"control token: {found.name}")
        for turn, place, text in _texts(example)
        for found in _PATTERNS.find(fold(text))
    )


def _texts(example: Example) -> Iterator[tuple[int, str, str]]:
    for index, turn in enumerate(example.turns):
        yield index, "", turn.content
    for memory in example.memories:
        yield ROW, " in a memory", memory.text
    for directive in example.directives:
        yield ROW, " in a directive", directive
