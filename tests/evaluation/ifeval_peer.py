"""Our verdicts beside those of lm-evaluation-harness, and where and why the two may differ.

`python -m tests.evaluation.ifeval_peer pick FILE OUT` writes 100 prompts of all 25 kinds as a suite, and
`python -m tests.evaluation.ifeval_peer run SUITE DIR` compares both on the replies of a run of `evaluate --suite`.
"""

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from nightgarden import jsonl
from nightgarden.evaluation import ifeval, runs
from nightgarden.evaluation.ifeval import Args, Item

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".peers/bin/python"
PER_KIND = 4
"""Prompts of each kind in `picked`."""
LETTER = "where a row names no letter but # or ! (keys 1122 and 1129) they count a random one"
CAPITALS = "langdetect takes English in capitals for German or Vietnamese; the same text in small letters it knows"
SHORT = "of fewer than 20 words neither side knows the language surely"
LOWER = "change_case:english_lowercase"
LANGUAGE = ("change_case:english_capital", LOWER, "language:response_language")


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Both sides on one instruction and one answer."""

    key: int
    kind: str
    args: Args
    answer: str
    ours: tuple[bool, bool]
    """Strict, loose."""
    theirs: tuple[bool, bool]


def pairs(items: Iterable[Item], replies: Iterable[dict[str, Any]]) -> list[Pair]:
    """Both sides on replies, {"key", "reply"} each; a key may come again."""
    by_key = {item.key: item for item in items}
    asked: list[tuple[Item, int, str, tuple[bool, bool]]] = []
    for line in replies:
        item, reply = by_key[line["key"]], str(line["reply"])
        judged = ifeval.judge(item, reply)
        asked += [
            (item, number, reply, (strict is None, loose is None))
            for number, (strict, loose) in enumerate(zip(judged.strict, judged.loose, strict=True))
        ]
    told = ask([_line(item, number, reply) for item, number, reply, _ in asked])
    return [
        Pair(
            key=item.key,
            kind=item.instruction_id_list[number],
            args=item.kwargs[number],
            answer=reply,
            ours=ours,
            theirs=theirs,
        )
        for (item, number, reply, ours), theirs in zip(asked, told, strict=True)
    ]


def ask(lines: list[dict[str, Any]]) -> list[tuple[bool, bool]]:
    """What the harness says, strict and loose."""
    command = [PYTHON, Path(__file__).parent / "ifeval_theirs.py"]
    given = "".join(json.dumps(line) + "\n" for line in lines)
    told = subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout
    return [(verdict["strict"], verdict["loose"]) for verdict in map(json.loads, told.splitlines())]


def _line(item: Item, number: int, reply: str) -> dict[str, Any]:
    args = {name: value for name, value in msgspec.to_builtins(item.kwargs[number]).items() if value is not None}
    return {"kind": item.instruction_id_list[number], "args": args, "prompt": item.prompt, "answer": reply}


def picked(items: list[Item]) -> list[Item]:
    """For each kind, the first four prompts that no earlier kind has taken: 100, in the file's order."""
    taken: set[int] = set()
    for kind in ifeval.CHECKS:
        free = (item.key for item in items if kind in item.instruction_id_list and item.key not in taken)
        taken |= {key for key, _ in zip(free, range(PER_KIND), strict=False)}
    return [item for item in items if item.key in taken]


def edited(items: list[Item], rows: list[str], seed: int) -> list[dict[str, Any]]:
    """Replies to each item: rows of text as they stand, and edited towards what the instructions ask for."""
    rng = random.Random(seed)
    return [{"key": item.key, "reply": reply} for item in items for reply in _shapes(item, rows, rng)]


def _shapes(item: Item, rows: list[str], rng: random.Random) -> list[str]:
    text, other = rng.choice(rows), rng.choice(rows)
    shapes = [text, text.upper(), other.lower(), f'"{text}"', text.replace(",", ""), f"Sure!\n{text}\nHope that helps!"]
    shapes += [f"<<Title>>\n\n{text}\n\nP.S. {other[:80]}", f"{text}\n***\n{other}", f"{text}\n******\n{other}"]
    shapes += [f"* **bold one** and *two*\n* [x] [y]\n- *three*\n{text}\nP. P. S more", f"SECTION 1\n{text}\nSECTION 2\n{other}"]
    shapes += [
        "\n\n".join([text, other, rng.choice(rows)]),
        '```json\n{"a": 1}\n```',
        "My answer is no.",
        other.upper(),
        text.lower(),
        " \n",
    ]
    for args in item.kwargs:
        shapes += [reply for wanted, write in SHAPES.items() if getattr(args, wanted) for reply in [write(args, text, rows, rng)]]
    return shapes


def _heads(rows: list[str], count: int, rng: random.Random) -> list[str]:
    return [row.split(". ")[0].split("\n")[0].strip(".") for row in rng.sample(rows, count)]


SHAPES: dict[str, Callable[[Args, str, list[str], random.Random], str]] = {
    "end_phrase": lambda args, text, rows, rng: f"{text}\n{args.end_phrase}",
    "prompt_to_repeat": lambda args, text, rows, rng: f"{args.prompt_to_repeat}\n{text}",
    "keywords": lambda args, text, rows, rng: f"{text} {' '.join(args.keywords or ())}",
    "keyword": lambda args, text, rows, rng: text + f" {args.keyword}" * (args.frequency or 1),
    "forbidden_words": lambda args, text, rows, rng: f"{text} {rng.choice(args.forbidden_words or ())}ish",
    "first_word": lambda args, text, rows, rng: "\n\n".join(
        f"{(args.first_word or '').capitalize()}, {head}" for head in _heads(rows, args.num_paragraphs or 1, rng)
    ),
    "language": lambda args, text, rows, rng: TRAIN.get(args.language or "", text),
    "num_placeholders": lambda args, text, rows, rng: "\n".join(
        f"[{head}]" for head in _heads(rows, args.num_placeholders or 1, rng)
    ),
    "num_highlights": lambda args, text, rows, rng: " ".join(f"*{head}*" for head in _heads(rows, args.num_highlights or 1, rng)),
    "num_sections": lambda args, text, rows, rng: "\n".join(
        f"{args.section_spliter} {number}\n{head}" for number, head in enumerate(_heads(rows, args.num_sections or 1, rng), 1)
    ),
    "num_paragraphs": lambda args, text, rows, rng: "\n***\n".join(_heads(rows, args.num_paragraphs or 1, rng)),
    "num_bullets": lambda args, text, rows, rng: "".join(f"* {head}\n" for head in _heads(rows, args.num_bullets or 1, rng)),
    "num_sentences": lambda args, text, rows, rng: ". ".join(_heads(rows, args.num_sentences or 1, rng)),
    "num_words": lambda args, text, rows, rng: " ".join(" ".join(rows).split()[: args.num_words]),
    "capital_frequency": lambda args, text, rows, rng: f"{text} {' '.join(text.upper().split()[: args.capital_frequency])}",
    "postscript_marker": lambda args, text, rows, rng: f"{text}\n{args.postscript_marker} {rows[0][:40]}",
    "letter": lambda args, text, rows, rng: text + (args.letter or "") * ((args.let_frequency or 1) - 1),
}
"""By the argument that it serves: a row edited so that it follows, or nearly."""
TRAIN = {
    "ar": "تأخر القطار اليوم مرة أخرى، ولم يستغرب أحد على الرصيف ذلك.",
    "bg": "Днес влакът отново закъсня и никой на перона не се учуди на това.",
    "bn": "আজও ট্রেন দেরিতে এসেছে, আর প্ল্যাটফর্মে কেউ অবাক হয়নি।",
    "de": "Der Zug kommt heute wieder zu spät, und niemand auf dem Bahnsteig wundert sich darüber.",
    "fa": "قطار امروز دوباره دیر رسید و هیچ کس در ایستگاه از این موضوع تعجب نکرد.",
    "fi": "Juna on tänään taas myöhässä, eikä kukaan laiturilla ole siitä yllättynyt.",
    "gu": "આજે પણ ટ્રેન મોડી આવી અને પ્લેટફોર્મ પર કોઈને નવાઈ લાગી નહીં.",
    "hi": "आज ट्रेन फिर देर से आई और प्लेटफ़ॉर्म पर किसी को आश्चर्य नहीं हुआ।",
    "it": "Oggi il treno è di nuovo in ritardo e nessuno sul binario se ne meraviglia.",
    "kn": "ಇಂದು ರೈಲು ಮತ್ತೆ ತಡವಾಗಿ ಬಂದಿತು ಮತ್ತು ವೇದಿಕೆಯಲ್ಲಿ ಯಾರಿಗೂ ಆಶ್ಚರ್ಯವಾಗಲಿಲ್ಲ.",
    "ko": "오늘도 기차가 늦게 왔지만 승강장에 있던 사람들은 아무도 놀라지 않았다.",
    "mr": "आज गाडी पुन्हा उशिरा आली आणि फलाटावर कोणालाही आश्चर्य वाटले नाही.",
    "ne": "आज रेल फेरि ढिलो आयो र प्लेटफर्ममा भएका कसैलाई पनि अचम्म लागेन।",
    "pa": "ਅੱਜ ਰੇਲਗੱਡੀ ਫਿਰ ਦੇਰ ਨਾਲ ਆਈ ਅਤੇ ਪਲੇਟਫਾਰਮ ਉੱਤੇ ਕਿਸੇ ਨੂੰ ਹੈਰਾਨੀ ਨਹੀਂ ਹੋਈ।",
    "pt": "O trem chegou atrasado outra vez hoje, e ninguém na plataforma ficou surpreso com isso.",
    "ru": "Поезд сегодня опять опоздал, и никто на платформе этому не удивился.",
    "sw": "Leo treni imechelewa tena, na hakuna mtu yeyote kituoni aliyeshangaa jambo hilo.",
    "ta": "இன்றும் ரயில் தாமதமாக வந்தது, மேடையில் இருந்த யாரும் ஆச்சரியப்படவில்லை.",
    "te": "ఈరోజు రైలు మళ్ళీ ఆలస్యంగా వచ్చింది, ప్లాట్‌ఫారమ్‌పై ఎవరూ ఆశ్చర్యపోలేదు.",
    "th": "วันนี้รถไฟมาสายอีกแล้ว และไม่มีใครบนชานชาลาแปลกใจเลย",
    "ur": "آج ٹرین پھر دیر سے آئی اور پلیٹ فارم پر کسی کو حیرت نہیں ہوئی۔",
    "vi": "Hôm nay tàu lại đến muộn và không ai trên sân ga ngạc nhiên về điều đó.",
}
"""The same sentence in each language that the public file asks for."""


def reason(pair: Pair) -> str:
    """Why the two sides differ, or the pair itself where no reason is known."""
    if pair.kind == "keywords:letter_frequency" and pair.args.letter in ("#", "!"):
        return LETTER
    small = [{"kind": LOWER, "args": {}, "prompt": "", "answer": pair.answer.lower()}]
    if pair.kind == "change_case:english_capital" and pair.ours == (True, True) and ask(small) == [(True, True)]:
        return CAPITALS
    return SHORT if pair.kind in LANGUAGE and len(pair.answer.split()) < 20 else repr(pair)


def differences(found: list[Pair]) -> Counter[str]:
    """How often the two sides differ, by reason."""
    return Counter(reason(pair) for pair in found if pair.ours != pair.theirs)


def main(what: str, suite: str, place: str) -> None:
    """Pick a suite, or compare both on a run of one."""
    items = ifeval.load(Path(suite))
    if what == "pick":
        jsonl.write(Path(place), picked(items))
        return
    told = [{"key": int(reply.prompt), "reply": reply.text} for reply in runs.read(Path(place)).replies]
    found = pairs(items, told)
    held = [sum(pair.ours[how] for pair in found) for how in (0, 1)]
    kinds = {pair.kind for pair in found}
    sys.stdout.write(
        f"{len(told)} replies, {len(found)} instructions of {len(kinds)} kinds; followed {held[0]} strict, {held[1]} loose\n"
    )
    for why, count in differences(found).items():
        sys.stdout.write(f"{count} judged otherwise: {why}\n")
    sys.stdout.write(f"{sum(pair.ours == pair.theirs for pair in found)} judged alike\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
