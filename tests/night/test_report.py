import re
from pathlib import Path

from nightgarden import params
from nightgarden.night import report
from nightgarden.trust import record
from nightgarden.trust.gate import Verdict
from nightgarden.trust.record import NightRecord
from nightgarden.trust.skill import Skill

SETTINGS = params.load(Path(__file__).parents[2] / "params.yaml").night.trust


def history(*trusts: float | None) -> list[NightRecord]:
    """One record a night; None is a night whose reaction head could not be measured."""
    nights: list[NightRecord] = []
    for number, trust in enumerate(trusts, 1):
        skills = {"reaction": Skill(value=trust, n=40, baseline=0.5, why="" if trust else "1 held-out lesson")}
        verdict = Verdict(end="Promoted", reason="a < b & c")
        nights.append(record.close(f"2026-09-{number:02d}", verdict, skills, None, nights[-1] if nights else None, {}))
    return nights


def test_the_page_of_a_night_is_whole_and_escapes_what_it_quotes() -> None:
    page = report.page(history(0.3), {"hand-written": 12}, SETTINGS)
    assert "A &lt; b &amp; c." in page
    assert "12 hand-written labels" in page
    assert page.count("<table>") == page.count("</table>") == 2


def test_a_night_without_a_number_is_a_gap_and_not_a_zero() -> None:
    colour = report.COLOURS["reaction"]

    def drawn(*trusts: float | None) -> tuple[int, int]:
        picture = report.picture(history(*trusts), 0.2)
        return len(re.findall(f'<circle[^>]*fill="{colour}"', picture)), len(re.findall(f'stroke="{colour}"', picture))

    assert drawn(0.1, 0.3, 0.4) == (3, 2)
    assert drawn(0.1, None, 0.4) == (2, 0)
    assert drawn(0.3) == (1, 0)


def test_the_dates_of_a_long_history_do_not_run_into_each_other() -> None:
    picture = report.picture(history(*[0.3] * 28), 0.2)
    assert len(re.findall(r"2026-09-\d\d", picture)) <= report.MOST_DATES


def test_every_judge_is_named() -> None:
    assert report.whose({"user": 3, "SmolLM2@1a2b": 5}) == "5 labels by the teacher SmolLM2@1a2b, 3 from the person's own ratings"
    assert report.whose({}) == "no label tonight"


def test_no_head_is_consulted_below_the_threshold() -> None:
    assert "No head is consulted yet." in report.page(history(0.19), {}, SETTINGS)
    assert "Consulted from now on: reaction." in report.page(history(0.2), {}, SETTINGS)
