from pathlib import Path

import pytest

from nightgarden import jsonl, params
from nightgarden.errors import UserError
from nightgarden.memory import migrations
from nightgarden.params import Params
from nightgarden.records import HEADS, Feedback, Label
from nightgarden.stage import Place
from nightgarden.teacher.ask import Batch
from nightgarden.teacher.items import NIGHTS, read_day
from nightgarden.teacher.label import label, settle

ROOT = Path(__file__).parents[2]
NIGHT = "2026-09-07"
SEED = [ROOT / f"data/seed/{name}.jsonl" for name in ("days/core", f"days/{NIGHT}", f"labels/{NIGHT}")]
LINES = [record for path in SEED for record in migrations.read(path)]


@pytest.fixture
def settings() -> Params:
    return params.load(ROOT / "params.yaml")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(root=tmp_path, state=tmp_path / "state", tracking_uri="none")


def freeze(place: Place, lines: list) -> None:
    jsonl.write(place.root / NIGHTS / NIGHT / "day.jsonl", lines)


def written(place: Place) -> list[Label]:
    return list(jsonl.read(place.root / NIGHTS / NIGHT / "labels.jsonl", Label))


def judged(task: str, item: str, value: object) -> Label:
    return Label(schema=2, task=task, item=item, value=value, by="hand-written")  # type: ignore[arg-type]


def test_hand_written_labels_are_taken_as_they_stand(settings: Params, place: Place) -> None:
    freeze(place, LINES)
    report = label(NIGHT, settings, place.root, place)
    given = [line for line in LINES if isinstance(line, Label)]
    assert report["by"] == "hand-written"
    assert sum(int(report[f"{task}/kept"]) for task in HEADS) == len(written(place)) == len(given)
    assert all(line in given for line in written(place) if line.by == "hand-written")


def test_the_persons_ratings_outrank_the_labels(settings: Params, place: Place) -> None:
    said = [line.item for line in LINES if isinstance(line, Label) and line.value == "warm"][0]
    corrected = Feedback(schema=2, id="f9", at="2026-09-07T20:00:00Z", offset_minutes=120, reply=said, kind="rating", rating=1)
    freeze(place, [*LINES, corrected])
    label(NIGHT, settings, place.root, place)
    (line,) = [line for line in written(place) if line.item == said and line.task == "reaction"]
    assert (line.value, line.by) == ("cold", "user")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (judged("importance", "m9999-01", 4), "names m9999-01, which the day does not hold"),
        (judged("interest", "m0907-01", 40), "names m0907-01, which the day does not hold for this task"),
        (judged("importance", "c-01", 11), "11 is no importance"),
        (judged("importance", "m0907-01", 4), "m0907-01 has two hand-written importance labels"),
    ],
)
def test_a_wrong_hand_written_label_stops_the_stage(settings: Params, place: Place, wrong: Label, said: str) -> None:
    freeze(place, [*LINES, wrong])
    with pytest.raises(UserError, match=said):
        label(NIGHT, settings, place.root, place)
    assert not (place.root / NIGHTS / NIGHT / "labels.jsonl").exists()


def test_the_caps_hold_for_hand_written_labels_too_and_what_is_left_is_counted(settings: Params, place: Place) -> None:
    few = settings.night.teacher.model_copy(update={"importance": 10, "recalls": 2, "appraisal": 5, "interest": 3})
    capped = settings.model_copy(update={"night": settings.night.model_copy(update={"teacher": few})})
    freeze(place, LINES)
    report = label(NIGHT, capped, place.root, place)
    assert [report[f"{task}/kept"] for task in ("importance", "appraisal", "interest")] == [10, 5, 3]
    recalls = {line.item.split("/")[0] for line in written(place) if line.task == "relevance"}
    assert len(recalls) == 2
    account = jsonl.read_json(place.root / NIGHTS / NIGHT / "label_counts.json", dict)
    assert account["importance"]["left"] == sum(line.task == "importance" for line in LINES if isinstance(line, Label)) - 10


def test_labelling_twice_gives_the_same_bytes(settings: Params, place: Place) -> None:
    freeze(place, LINES)
    label(NIGHT, settings, place.root, place)
    first = [(place.root / NIGHTS / NIGHT / name).read_bytes() for name in ("labels.jsonl", "label_counts.json")]
    label(NIGHT, settings, place.root, place)
    assert first == [(place.root / NIGHTS / NIGHT / name).read_bytes() for name in ("labels.jsonl", "label_counts.json")]


def test_a_degenerate_batch_is_refused_whole_but_the_persons_own_ratings_stand() -> None:
    lines = [judged("reaction", f"p{number}", "warm") for number in range(20)]
    kept, account = settle(Batch(task="reaction", labels=lines, asked=21), {"p3": "cold"})
    assert [(line.item, line.value, line.by) for line in kept] == [("p3", "cold", "user")]
    assert (account["asked"], account["answered"], account["missing"], account["refused"]) == (21, 20, 1, 20)
    assert "always says the same" in str(account["reason"])


def test_an_honest_batch_passes_the_same_door() -> None:
    lines = [judged("reaction", f"p{number}", ("warm", "cold", "neutral")[number % 3]) for number in range(20)]
    kept, account = settle(Batch(task="reaction", labels=lines, asked=20), {})
    assert kept == lines
    assert (account["refused"], account["reason"], account["kept"]) == (0, "", 20)


def test_a_night_that_is_not_frozen_is_the_users_to_repair(settings: Params, place: Place) -> None:
    with pytest.raises(UserError, match=r"day\.jsonl"):
        label(NIGHT, settings, place.root, place)


def test_a_named_model_without_a_server_says_what_to_set(settings: Params, place: Place) -> None:
    served = settings.night.teacher.model_copy(update={"by": "server", "model": "qwen3-30b"})
    freeze(place, LINES)
    with pytest.raises(UserError, match="OPENAI_BASE_URL"):
        label(
            NIGHT, settings.model_copy(update={"night": settings.night.model_copy(update={"teacher": served})}), place.root, place
        )


def test_the_embedded_teacher_starts_by_itself_answers_and_stops(settings: Params, place: Place, base_model: Path) -> None:
    small = {"by": "server", "importance": 1, "appraisal": 0, "recalls": 0, "interest": 0}
    teacher = settings.night.teacher.model_copy(update=small)
    asking = settings.model_copy(update={"night": settings.night.model_copy(update={"teacher": teacher})})
    freeze(place, LINES)
    day = read_day(NIGHT, place.root)
    unrated, rated = [reply for reply in day.replies.values() if not reply.unsent][:2]
    rating = Feedback(schema=2, id="f9", at="2026-09-07T20:00:00Z", offset_minutes=120, reply=rated.id, kind="rating", rating=5)
    freeze(place, [day.memories["c-03"], day.events[unrated.event], day.events[rated.event], unrated, rated, rating])
    (place.root / "models/base").mkdir(parents=True)
    (place.root / "models/base/smollm2-135m").symlink_to(base_model)

    report = label(NIGHT, asking, place.root, place)

    assert (report["by"], report["importance/asked"], report["reaction/asked"]) == ("server", 1, 1)
    (own,) = [line for line in written(place) if line.by == "user"]
    assert (own.item, own.value) == (rated.id, "warm")
    by_model = [line for line in written(place) if line.by != "user"]
    assert {line.item for line in by_model} <= {"c-03", unrated.id}
    assert by_model and all(line.by.startswith("SmolLM2-135M-Instruct") and "@" in line.by for line in by_model)
