"""Each rule on rows as people write them: what falls, what stays, and for which reason."""

import re
import sys
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgarden.curation.annotate import find, load
from nightgarden.curation.rules import length
from nightgarden.records import Example, MemoryLine, Turn
from nightgarden.rule_params import RULES as NAMES
from nightgarden.rule_params import ExclamationRule, QuestionCascadeRule
from tests.curation.rows import RULES, example

ONE_ROW = [rule for rule in NAMES if rule not in {"duplicate", "contamination"}]


def reasons(rule: str, row: Example, **changes: Any) -> list[str]:
    settings = RULES.of(rule).model_copy(update=changes)
    return [hit.reason for hit in find(rule, [row], settings).get(row.id, ())]


FALLS = [
    ("placeholder", "Dear [LANDLORD NAME], the fan stopped on Monday.", "slot in capitals"),
    ("placeholder", "I am {{name}}, made by {{ author }}.", "slot in double braces"),
    ("placeholder", "Sincerely, [Your Name]", "slot to be filled"),
    ("placeholder", "I can start on <insert date> in May.", "slot in angle brackets"),
    ("placeholder", "It pours well. TODO: add the glaze.", "open TODO"),
    ("placeholder", "Lorem  ipsum dolor.", "mark: lorem ipsum"),
    ("placeholder", "[dry-run] PLACEHOLDER", "mark: placeholder"),
    ("placeholder", "```\nDear [Your Landlord],\nthe fan stopped.\n```", "slot to be filled"),
    ("placeholder", "Estimada [insertar nombre], gracias.", "slot in another language"),
    ("placeholder", "I'm sorry, but as an AI language model, I am unable to answer this question.", "answer that only refuses"),
    ("placeholder", "Sorry, I can’t help with that. Is there anything else I can do for you?", "answer that only refuses"),
    ("placeholder", "Es tut mir leid, aber dabei kann ich Ihnen nicht weiterhelfen.", "answer that only refuses"),
    ("placeholder", "Je suis désolé, mais je ne peux pas vous aider.", "answer that only refuses"),
    ("placeholder", "(no response)", "answer that is a stub"),
    ("placeholder", "\u200b\n", "empty answer"),
    ("residue", "Ria and fjord.<|im_end|>\n<|im_start|>user", "control token: token in bars"),
    ("residue", "<s>[INST] Ouagadougou. [/INST]</s>", "control token: llama 2 or mistral bracket"),
    ("residue", "<｜end▁of▁sentence｜>", "control token: token in bars"),
    ("residue", "Turn the nut. </S> is none, </s> is.", "control token: sentence mark"),
    ("residue", "### Response:\nRembrandt, in 1642.", "control token: alpaca heading"),
    ("instruct_isms", "Certainly, press it with a warm iron.", "instruct-ism: certainly"),
    ("memory_narration", "As you mentioned, the knee is weak.", "memory narration: you mentioned"),
    ("bullets", "Bring:\n- a tent\n- a lamp", "list line, one of 2"),
    ("bullets", "Bring:\n\n1. a tent\n\n2. a lamp", "list line, one of 2"),
    ("bullets", "Bring:\n  • a tent\n  a) a lamp", "list line, one of 2"),
    ("bullets", "**1. Tent** first.\n**2. Lamp** after it.", "list line, one of 2"),
    ("bullets", "2つあります。\n１．水筒\n２．帽子", "list line, one of 2"),
    ("bullets", "一、先关水。\n二、再关电。", "list line, one of 2"),
    ("bullets", "~~~\n- not closed by\n```\n- this\n~~~\n- a\n- b", "list line, one of 2"),
    ("exclamation", "It climbs all the way down!", "exclamation mark in prose"),
    ("exclamation", "Well done❗", "exclamation mark in prose"),
    ("exclamation", "Run `sudo !!` again.", "exclamation mark in code"),
    ("exclamation", "See ![the knot](knot.png).", "exclamation mark in a Markdown image"),
    ("exclamation", 'He shouted "mind the gap!" and left.', "exclamation mark in a quotation"),
    ("question_cascade", "Six minutes. Do you want them marinated?", "the answer ends in a question"),
    ("question_cascade", "Six minutes. Shall I go on?)**", "the answer ends in a question"),
    ("question_cascade", "Is it thin? Is it long? Cross it over.", "one of 2 questions"),
    ("question_cascade", "Πού είναι; Στο ράφι. Και το άλλο; Εκεί.", "one of 2 questions"),
    ("length", "", "answer of 0 words, fewer than 1"),
    ("length", "水" * 131, "answer of 131 words, more than 130"),
    ("length", "tide—" * 131, "answer of 131 words, more than 130"),
    ("length", "!!", "answer of 0 words, fewer than 1"),
    ("length", "word " * 131, "answer of 131 words, more than 130"),
    ("schema", "  ", "empty assistant turn"),
    ("schema", "\u200b", "empty assistant turn"),
]
STAYS = [
    ("placeholder", "The pattern is ^[A-Z]{1,2}[0-9][A-Z]{2}$ in capitals."),
    ("placeholder", "Set url to https://ghcr.io/${{ github.repository }} there."),
    ("placeholder", "Read [your guide](https://example.org) first."),
    ("placeholder", "The letter said [sic] and [REDACTED]."),
    ("placeholder", "[Enter FATHER and MOTHER] By heaven's grace."),
    ("placeholder", "I cannot answer for the roof, but the walls are sound."),
    ("placeholder", "Unfortunately I can't do more than 40 on that road."),
    ("placeholder", "The sequence {x_n} is bounded, and $\\mathbf{T}_{{n}}$ too. GET /users/{user_id} lists it."),
    ("placeholder", "```python\nnames = [your[0] for your in rows]\n# TODO: sort\n```"),
    ("placeholder", "Na"),
    ("placeholder", "None."),
    ("residue", "In F# write x |> f <|> g, in HTML <b>bold</b>."),
    ("residue", "Response: in two days."),
    ("residue", "struct Door<S> { state: S }"),
    ("instruct_isms", "Pay it first, before anything else."),
    ("memory_narration", "Ask where it was stored in winter."),
    ("bullets", "Well - not quite. 3. June it is."),
    ("bullets", "- one line is no list"),
    ("bullets", "Like so:\n```yaml\n- tent\n- lamp\n- hat\n```"),
    ("bullets", "— Tu viens ?\n— Oui.\n— Alors marche."),
    ("question_cascade", "Is it thin? Then cross it over."),
    ("question_cascade", "Match it with `(?:ab)?c?` or:\n```sql\nSELECT a FROM t WHERE b = ? AND c = ?\n```"),
    ("question_cascade", "The angles are α; β; γ; and δ."),
    ("length", "https://example.org/" + "a/" * 200),
    ("length", "well-worn, " * 130),
    ("question_cascade", "Really?! Then open https://example.org/?a=1?b=2 and look."),
    ("length", "Allowed."),
]


@pytest.mark.parametrize(("rule", "answer", "reason"), FALLS)
def test_an_answer_falls_for_its_reason(rule: str, answer: str, reason: str) -> None:
    assert any(found.startswith(reason) for found in reasons(rule, example(answer)))


@pytest.mark.parametrize(("rule", "answer"), STAYS)
def test_an_answer_stays(rule: str, answer: str) -> None:
    assert reasons(rule, example(answer)) == []


STYLE = ["instruct_isms", "memory_narration", "bullets", "exclamation", "question_cascade"]
CLICHES = "Certainly! As you mentioned:\n- one!\n- two!\nWhat else? Anything?"


@pytest.mark.parametrize("rule", STYLE)
def test_style_rules_read_answers_only_and_never_the_contrast(rule: str) -> None:
    row = example("It is the cold.", ask=CLICHES, system=CLICHES, op=1, meta={"contrast": CLICHES})
    assert reasons(rule, row) == []
    assert reasons(rule, example(CLICHES)) != []


KEY = "AKIA" + "4QZT7MWR2XK9PLVD"


@pytest.mark.parametrize(("rule", "fault"), [("secrets", f"Use {KEY} then."), ("placeholder", "I am {{name}}.")])
def test_secrets_and_slots_are_sought_in_the_contrast_too(rule: str, fault: str) -> None:
    (reason,) = reasons(rule, example("It is the cold.", op=1, meta={"contrast": fault}))
    assert " in meta" in reason


def test_a_question_about_a_template_is_no_unfilled_slot() -> None:
    assert reasons("placeholder", example("Fill in the date.", ask="What goes where it says [DATE] or TODO?")) == []


def test_a_prompt_with_an_open_slot_in_braces_is_one() -> None:
    assert reasons("placeholder", example("It is a bird.", ask="What is a {{animal}}?")) != []


SECRETS = {
    "aws access key": KEY,
    "github token": "ghp_" + "Zk83nVqLw0RtYb5XsMd27hJfGcPa9uE4oTiN",
    "openai key": "sk-proj-" + "Vt8mQ2xLr5NbYc0KdHs7WfZa3JpEuGo9TiXy4RkD1BvM6nCq",
    "hugging face token": "hf_" + "bQmXkWtRzLpVnYcJdHsGfAeUoTiMwNxKrZ",
    "slack token": "xoxb-" + "2281940573316-7730125588460-Qh7VtLz0mWc3RbnYpXeK8sJu",
    "json web token": "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiI4ODE0MiJ9" + ".q7Xw3Ztb0YkVnP5sLrJdE2mHcUa9TfGoB8i",
    "private key": "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEowIBAAKCAQEA",
    "password in a url": "postgres://choir:Nettle42pie@db.example.org/songs",
    "assigned secret": "db_password: 'Nettle42pie!x'",
}


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_is_named_by_kind_and_hash_and_never_quoted(kind: str) -> None:
    (reason,) = reasons("secrets", example("Revoke it.", ask=f"is this right? {SECRETS[kind]} thanks"))
    assert reason.startswith(f"{kind}, sha256 ")
    assert SECRETS[kind][:12] not in reason


@pytest.mark.parametrize(
    "text",
    [
        "AKIA" + "IOSFODNN7EXAMPLE is the key of AWS's manual.",
        "password = hashlib.sha256(text).hexdigest()",
        "The password is a word that you choose: something long.",
        "token = settings.api_token2",
        "The commit is 9fceb02d0ae598e95dc970b74767f19372d61af8.",
        "Read https://example.org:8080/path and write to ann@example.org.",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "Put ghp_" + "x" * 36 + " there, or sk-ant-your-key-goes-here-between-the-quotes.",
        "postgres://app:${DB_PASSWORD}@db/app, redis://:%REDIS_PASS1%@cache, PASSWORD=$DB_PASSWORD_2",
    ],
)
def test_prose_and_code_about_secrets_is_none(text: str) -> None:
    assert reasons("secrets", example(text)) == []


def test_a_key_that_is_hidden_in_a_foreign_field_is_found() -> None:
    (reason,) = reasons("secrets", example("It is the cold.", meta={"foreign": {"auth": {"deep": [KEY]}}}))
    assert reason.startswith("aws access key in meta, sha256 ")


def test_masking_leaves_no_part_of_a_key() -> None:
    secrets = load("secrets")
    masked = secrets.masked(f"api_key={SECRETS['openai key']} and {KEY}.")
    assert re.fullmatch("⟦assigned secret, sha256 [0-9a-f]{12}⟧ and ⟦aws access key, sha256 [0-9a-f]{12}⟧.", masked)
    assert secrets.masked(masked) == masked


SCHEMA = {
    "the last turn is no answer": example("x").turns[:1],
    "empty user turn": (Turn(role="user", content=""), Turn(role="assistant", content="x")),
    "user turn where the assistant should speak": (*example("x").turns[:1], *example("x").turns),
    "assistant turn where the user should speak": example("x").turns[1:],
    "a system turn that is not the first turn": (*example("x").turns, Turn(role="system", content="x"), *example("x").turns),
}


@pytest.mark.parametrize("reason", SCHEMA)
def test_turns_that_form_no_chat_fall_by_schema(reason: str) -> None:
    assert reason in reasons("schema", Example(id="a", op=0, turns=SCHEMA[reason]))


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (example("x", op=1), "op 1 without meta.contrast"),
        (example("x", op=2), "op 2 without a system turn"),
        (example("x", op=3), "op 3 without memories"),
        (
            example("x", op=3, memories=(MemoryLine(type="episodic", text="Rain.", date="in May"),)),
            "memory 1: its date is no day",
        ),
    ],
)
def test_a_row_needs_what_its_op_is_about(row: Example, reason: str) -> None:
    assert any(found.startswith(reason) for found in reasons("schema", row))


@pytest.mark.parametrize("answer", ["N/A", "I can't help with that."])
def test_a_stub_that_the_prompt_asks_for_is_an_answer(answer: str) -> None:
    told = f"You sell tickets. To all else say {answer!r} and nothing more."
    assert reasons("placeholder", example(answer, system=told, op=2)) == []
    assert reasons("placeholder", example(answer, system="You sell tickets.", op=2)) != []


def test_an_op_1_contrast_may_refuse_but_not_be_a_stub() -> None:
    for contrast, found in (("I'm sorry, I can't help with that.", 0), ("N/A", 1)):
        assert len(reasons("placeholder", example("Try the cellar.", op=1, meta={"contrast": contrast}))) == found


UNICODE_MARKS = [
    chr(code)
    for code in range(sys.maxunicode)
    if re.search("EXCLAMATION MARK|INTERROBANG", unicodedata.name(chr(code), "")) and unicodedata.category(chr(code))[0] in "PS"
]


@pytest.mark.parametrize("mark", sorted(set(UNICODE_MARKS) - set("🆙🔛")))
def test_every_exclamation_mark_of_unicode_counts(mark: str) -> None:
    assert reasons("exclamation", example(f"The wall is cold{mark}")) == ["exclamation mark in prose"]


MARKED = {
    "prose": "Well done! Rest now.",
    "code": "Write `!done` there.",
    "markdown_image": "See ![the knot](knot.png).",
    "quotation": 'He shouted "mind the gap!" and left.',
}


@pytest.mark.parametrize("context", MARKED)
def test_only_marks_in_a_listed_context_count(context: str) -> None:
    for standing, answer in MARKED.items():
        assert bool(reasons("exclamation", example(answer), contexts=(context,))) == (standing == context)
        others = tuple(other for other in MARKED if other != context)
        assert bool(reasons("exclamation", example(answer), contexts=others)) == (standing != context)


def test_marks_in_other_contexts_do_not_use_up_the_limit() -> None:
    row = example("Well done! Run `!1` and `!2`.")
    assert reasons("exclamation", row, max_marks=1, contexts=("prose",)) == []
    assert reasons("exclamation", row, max_marks=1, contexts=("code",)) == ["exclamation mark in code"] * 2


def test_settings_move_the_limits() -> None:
    assert reasons("exclamation", example("Well done! Rest now."), max_marks=1) == []
    assert reasons("exclamation", example("Rest.", ask="I won!"), scope="whole_row") == ["exclamation mark in prose"]
    assert reasons("question_cascade", example("Rest. Who won?"), allow_final=True) == []
    assert reasons("bullets", example("- a\n- b"), max_lines=2) == []
    assert reasons("length", example("one two three"), max_row_words=4) == ["row of 9 words, more than 4"]


@pytest.mark.parametrize("rule", NAMES)
def test_a_rule_that_is_switched_off_hits_nothing(rule: str) -> None:
    row = example(CLICHES + KEY + "{{name}}")
    assert find(rule, [row, row], RULES.of(rule).model_copy(update={"enabled": False})) == {}


@pytest.mark.parametrize("rule", NAMES)
def test_every_rule_says_what_decides_and_what_it_must_hit(rule: str) -> None:
    module = load(rule)
    assert module.__doc__.startswith(f"{rule}: ")
    assert module.ENGINE and module.CANARY_BAD


@pytest.mark.parametrize("rule", [r for r in ONE_ROW if r != "schema"])
def test_hits_lie_inside_their_turn(rule: str) -> None:
    module = load(rule)
    settings = RULES.of(rule)
    for row in module.canaries(settings).bad:
        for hit in module.hits(row, settings):
            assert hit.turn == -1 or 0 <= hit.start <= hit.end <= len(row.turns[hit.turn].content)


def test_the_quotes_of_the_reference_run_are_among_the_canaries() -> None:
    texts = " ".join(text for rule in ("memory_narration", "question_cascade") for text in load(rule).CANARY_BAD)
    assert "Based on our previous conversations" in texts
    assert "My cognitive architecture allows me to" in texts
    assert "What specific aspect would you like to explore?" in texts


def test_limits_are_part_of_the_types() -> None:
    assert isinstance(RULES.exclamation, ExclamationRule) and RULES.exclamation.max_marks == 0
    assert isinstance(RULES.question_cascade, QuestionCascadeRule)


@given(text=st.text(alphabet="aZ9_ -.,:'\n\té墙ا①\u200b", max_size=30), limit=st.integers(0, 20))
def test_the_quick_count_of_words_is_never_too_low_and_zero_only_without_a_word(text: str, limit: int) -> None:
    most, count = length._most(text, limit), length._count(text)
    assert most >= count and (most == 0) == (count == 0)
