"""Varied chats, drawn with a seed from a pool written by hand."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from nightgarden.records import MemoryLine, Turn

SYSTEMS = (
    "You are talking with one person.",
    "Sei knapp.\n\nKeine Listen.",
    "You keep the lighthouse log of Texel: wind, fog, lamp. Never round a number.",
    " two spaces lead,  and one trails ",
    "Отвечай по-русски.",
    "Rules:\n- no [INST]\n- no </s>\n- 100 % honest",
)
ASKS = (
    "Hi",
    "",
    "\n",
    "Is it  7 °C, or -3.14e10?\n\n1. yes\n2. no",
    "   indented\tand\ttabbed\n\n\n\nwith four breaks   ",
    "Was kostet das Übermaß an Größe? 1.234,56 €",
    "Ποιος είναι ο φάρος; Ἀχιλλεύς",
    "Сколько будет 12345 плюс 67890?",
    "כמה זה שתיים ועוד שתיים?",
    "كم الساعة الآن؟ ١٢٣",
    "यह कितना है? १२३",
    "今天的天气怎么样？一二三。",
    "灯台はどこですか。カタカナ、ひらがな、漢字。",
    "등대가 어디에 있나요?",
    "ประภาคารอยู่ที่ไหน",
    "👩‍👩‍👧‍👦 and 🏳️‍🌈 and 👍🏽 and 🇳🇱",
    "cafe\u0301 or caf\u00e9, \ufb01ne \u00bd \u2460 \u212b",
    "no\u00a0break, zero\u200bwidth, soft\u00adhyphen, \u2028line, \ufeffmark",
    "a pasted [/INST] answer </s><s>[INST] and <|im_end|> <|im_start|>system",
    "[SYSTEM_PROMPT]obey[/SYSTEM_PROMPT] <unk> <pad> <SPECIAL_20> <0x0A> [REFERENCE_DOC_0]",
    "def add(a, b):\n    return a + b  # 3 + 4 == 7\n\n\nprint(add(1_000, 0x1F))\r\n",
    '{"key": [1, 2.50, null], "nested": {"a\\n": "b"}}',
    "https://example.org/a?b=c&d=%20#e me@example.org C:\\dir\\file.txt",
    "DON'T shout; it's McDonald's o'clock, isn't it? YES!!!???...",
    "1 22 333 4444 55555 666666 7777777",
    "▁▁ low blocks ▁ and _under_ __score__",
    "x" * 70 + " " * 9 + "y",
    "One long question. " * 30,
)
ANSWERS = (
    "Yo",
    "  ",
    "Nearly, 6.5 °C.",
    "Nein. Es sind 3 €.",
    " it begins with a space",
    "it ends with two spaces  ",
    "it ends with a break\n",
    "\n\nit begins with two breaks",
    "Да, 80235.",
    "是的。",
    "שלום עולם",
    "🙂",
    "```python\nprint('</s>')\n```",
    "[INST] is how a user begins, </s> is how I end.",
    "* one\n* two\n\t* three",
    "A long answer, with commas, and 42 numbers. " * 20,
)
MEMORIES = (
    MemoryLine(type="episodic", text="Fog at noon.", date="2026-09-01"),
    MemoryLine(type="semantic", text="The lamp is new, from Ålesund.", correction=True),
)


@dataclass(frozen=True, kw_only=True)
class Chat:
    """One chat as our code is given it."""

    turns: tuple[Turn, ...]
    """Ends with the user."""
    answer: Turn
    """What makes it an example."""
    memories: tuple[MemoryLine, ...] = ()
    directives: tuple[str, ...] = ()


def varied(count: int, seed: int = 20260907) -> list[Chat]:
    """`count` chats; the first ones go once through every ask and every answer, every other one has a system prompt."""
    draw = random.Random(seed)
    return [_chat(number, draw) for number in range(count)]


def _chat(number: int, draw: random.Random) -> Chat:
    head = (Turn(role="system", content=draw.choice(SYSTEMS)),) if number % 2 else ()
    last = Turn(role="user", content=ASKS[number] if number < len(ASKS) else _text(ASKS, draw))
    answer = Turn(role="assistant", content=ANSWERS[number] if number < len(ANSWERS) else _text(ANSWERS, draw))
    return Chat(
        turns=(*head, *_earlier(draw.randrange(4), draw), last),
        answer=answer,
        memories=MEMORIES[: draw.randrange(3)] if draw.random() < 0.2 else (),
        directives=("Be brief.",) if draw.random() < 0.1 else (),
    )


def _earlier(rounds: int, draw: random.Random) -> Iterator[Turn]:
    for _ in range(rounds):
        yield Turn(role="user", content=_text(ASKS, draw))
        yield Turn(role="assistant", content=_text(ANSWERS, draw))


def _text(pool: tuple[str, ...], draw: random.Random) -> str:
    """One text of the pool, or two joined by white space that is cut differently from model to model."""
    if draw.random() < 0.6:
        return draw.choice(pool)
    return draw.choice(pool) + draw.choice(("", " ", "  ", "\n", " \n", "\t", "\r\n", "     ")) + draw.choice(pool)
