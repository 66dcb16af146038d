"""The seed's four claims, one after the other on three nights of written lessons."""

from pathlib import Path

import numpy as np

from nightgarden import params
from nightgarden.models import specs
from nightgarden.night import stages, steps
from nightgarden.params import Params
from nightgarden.stage import Place
from nightgarden.student import predict
from nightgarden.student.backbone import Backbone
from nightgarden.teacher.items import NIGHTS, answer_form
from nightgarden.trust import record

ROOT = Path(__file__).parents[2]
PARAMS = params.load(ROOT / "params.yaml")
UNSEEN = [  # (said, warm, cold), on matters that no lesson touches
    (
        "The kiln broke in the middle of the firing.",
        "With your blue bowls inside. Did any of them survive the night?",
        "Equipment requires regular maintenance.",
    ),
    (
        "I ran ten kilometres without stopping.",
        "Ten, and in November you gave up at three. Who was the first you told?",
        "Regular exercise is recommended for adults.",
    ),
    (
        "My aunt is selling the farm.",
        "The farm with the swing. I am sorry, you learnt to walk there. Will you go once more?",
        "Property sales are common. Consult a notary.",
    ),
    (
        "He did not look at me in the hall.",
        "And you had rehearsed that good morning for two days. What do you think he was afraid of?",
        "Do not overinterpret the behaviour of others.",
    ),
]


def with_night(section: str, **changes: object) -> Params:
    """params.yaml with other values in one section of `night`."""
    changed = getattr(PARAMS.night, section).model_copy(update=changes)
    return PARAMS.model_copy(update={"night": PARAMS.night.model_copy(update={section: changed})})


def night_record(nights: Place, night: str) -> record.NightRecord:
    return record.read(nights.root / NIGHTS / night / "record.json")


def warmths(nights: Place, night: str, texts: list[str]) -> list[float]:
    """P(warm) - P(cold) of a night's model."""
    backbone = Backbone(nights.root / specs.EMBEDDER, nights.state)
    student = predict.load(nights.root / stages.STUDENTS / night, backbone.digest)
    vectors = backbone.vectors(texts)
    said = student.answers("reaction", np.stack([vectors[text] for text in texts]))
    assert said is not None
    return predict.warmth(said).tolist()


def test_promotion_works(nights: Place) -> None:
    first, second = night_record(nights, "2026-11-01"), night_record(nights, "2026-11-02")
    assert (first.end, first.serving) == ("Promoted", "2026-11-01")
    assert (second.end, second.serving) == ("Promoted", "2026-11-02")


def test_trust_rises_above_0_2_on_learnable_lessons(nights: Place) -> None:
    first, second = night_record(nights, "2026-11-01"), night_record(nights, "2026-11-02")
    assert (first.heads["importance"].trust or 0) < 0.2
    assert first.heads["reaction"].trust is None
    assert (second.heads["importance"].trust or 0) > 0.2
    assert (second.heads["reaction"].trust or 0) > 0.2


def test_the_reaction_head_comes_to_prefer_a_warm_reply_over_a_cold_one(nights: Place) -> None:
    warm = warmths(nights, "2026-11-02", [answer_form(said, reply) for said, reply, _ in UNSEEN])
    cold = warmths(nights, "2026-11-02", [answer_form(said, reply) for said, _, reply in UNSEEN])
    assert all(one > other for one, other in zip(warm, cold, strict=True)), (warm, cold)


def test_a_worse_model_rolls_back_and_only_the_gate_prevents_it(nights: Place) -> None:
    night, lazy = "2026-11-03", {"learning_rate": 1e-6, "max_epochs": 1}
    report = steps.distil(night, with_night("student", **lazy), nights.root, nights)
    now, before = night_record(nights, night), night_record(nights, "2026-11-02")
    assert report["end"] == now.end == "RolledBack"
    assert now.serving == "2026-11-02"
    assert {head: one.trust for head, one in now.heads.items()} == {head: one.trust for head, one in before.heads.items()}
    assert (now.heads["reaction"].skill or 0) < (now.heads["reaction"].before or 0)
    assert (nights.root / stages.STUDENTS / "2026-11-02" / predict.WEIGHTS).is_file()

    open_gate = with_night("trust", min_mean_change=-9.0, max_head_drop=9.0)
    careless = open_gate.model_copy(
        update={"night": open_gate.night.model_copy(update={"student": PARAMS.night.student.model_copy(update=lazy)})}
    )
    assert steps.distil(night, careless, nights.root, nights)["end"] == "Promoted"
    assert (night_record(nights, night).heads["reaction"].trust or 0) < 0.2

    assert steps.distil(night, PARAMS, nights.root, nights)["end"] == "Promoted"
    assert (night_record(nights, night).heads["reaction"].trust or 0) > 0.2
