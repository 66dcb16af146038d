import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nightgarden.evaluation import pairs, prompts, report
from nightgarden.evaluation.answers import SIDES, Reply, Score
from nightgarden.evaluation.results import Result, judge, summary
from nightgarden.params import Params
from nightgarden.templates.passport import Passport, Verdict, Witness

GOOD, CHATTY = "It is in the cellar.", "Certainly! <script>alert('x')</script> Shall I go on?"


@pytest.fixture(scope="module")
def found(repository: Path, params: Params) -> Callable[..., Result]:
    """A result with planted replies: chatty stock, plain adapted."""
    chosen = prompts.load(repository / prompts.FILE)

    def make(verdict: Verdict = "agree", adapted: str = GOOD, **fields: Any) -> Result:
        witness = Witness(name="canary", says=verdict, why="planted")
        seal = Passport(folder=Path("base"), family="smollm2", template=None, witnesses=(witness,))
        replies = [
            Reply(
                prompt=prompt.id,
                category=prompt.category,
                seed=0,
                side=side,
                prompt_ids=(1,),
                prompt_sha="",
                reply_ids=(2,),
                text=CHATTY if side == "stock" else adapted,
                truncated=False,
            )
            for side in SIDES
            for prompt in chosen
        ]
        return judge(seal, params.evaluation, chosen, replies, None)

    return make


def test_a_plain_adapter_after_a_chatty_stock_is_promoted_with_both_verdicts_told(found: Callable[..., Result]) -> None:
    result = found()
    report_ = summary(result)
    assert report_["promote"]["verdict"] == "promote"
    assert report_["families"]["suppression"]["verdict"] == "improved"
    assert report_["stock"]["instruct_isms"] == 1.0 and report_["counts"]["adapted"]["instruct_isms"] == [0, 35]
    assert report_["barbell"]["all"]["stock"]["failing"]["count"] == 35


def test_a_silent_adapter_is_never_promoted(found: Callable[..., Result]) -> None:
    """Without the vacuity guard it would have perfect style: no instruct-ism, no mark, no question, no word too many."""
    report_ = summary(found(adapted=""))
    assert report_["void"] == {"stock": 0, "adapted": 35, "of": 35}
    assert report_["adapted"]["instruct_isms"] is None
    assert report_["promote"]["verdict"] == "keep"
    assert report_["barbell"]["all"]["adapted"]["failing"]["count"] == 35


def test_the_page_needs_no_network_runs_no_script_and_shows_replies_as_text(found: Callable[..., Result]) -> None:
    page = report.page(found())
    assert not re.search(r"(?:src|href)=\"(?!data:)", page)
    assert "<script" not in page and "&lt;script&gt;" in page
    assert page.count("data:image/svg+xml;base64,") == 2


def test_the_page_begins_with_the_verdict_and_marks_what_was_found(found: Callable[..., Result]) -> None:
    page = report.page(found())
    assert page.index("<h1>Promote</h1>") < page.index("Template passport") < page.index("Replies: identity stripping")
    assert '<mark class="bad" title="Instruct-isms">Certainly</mark><mark class="bad" title="Exclamations">!</mark>' in page
    assert '<mark class="good" title="Context and memory use">cellar</mark>' in page


def test_equal_results_give_equal_pages(found: Callable[..., Result]) -> None:
    assert report.page(found()) == report.page(found())


def test_an_unverified_template_is_marked_and_promotes_nothing(found: Callable[..., Result]) -> None:
    result = found(verdict="unverified")
    assert summary(result)["template"] == "unverified" and summary(result)["promote"]["verdict"] == "keep"
    assert "The template is unverified" in report.page(result)


def test_marks_never_overlap_and_lose_no_character() -> None:
    scores = (
        Score(name="instruct_isms", value=1, passed=False, reason="", spans=((0, 4),)),
        Score(name="exclamations", value=1, passed=False, reason="", spans=((3, 5), (6, 7))),
        Score(name="bullets", value=0, passed=True, reason="", spans=((0, 7),)),
    )
    marked = pairs.highlighted("<abc>!?", scores)
    assert re.sub(r"</?mark[^>]*>", "", marked) == "&lt;abc&gt;!?"
    assert marked.count("<mark") == 2


def test_every_prompt_has_the_class_of_each_filter_that_it_belongs_to(found: Callable[..., Result]) -> None:
    page = report.page(found())
    articles = re.findall(r'<article class="([^"]*)"><h3>([^<]*)', page)
    assert len(articles) == 35 and all("is-every" in classes and "is-better" in classes for classes, _ in articles)
    assert not any("is-worse" in classes or "is-void" in classes for classes, _ in articles)
    silent = report.page(found(adapted=""))
    assert len(re.findall(r'<article class="[^"]*is-worse is-void', silent)) == 35
    for name in pairs.FILTERS:
        assert f'id="show-{name}"' in page
        assert name == "every" or f"main:has(#show-{name}:checked) .prompt:not(.is-{name})" in page


def test_the_most_telling_pairs_stand_first_with_a_bar_where_they_part(found: Callable[..., Result]) -> None:
    page = report.page(found(adapted="Certainly not. It is in the cellar."))
    told = page[page.index("Most telling pairs") : page.index('class="filters"')]
    assert 1 <= told.count("<article>") <= 8 and "adapted better by" in told
    assert '<mark class="bad" title="Instruct-isms">Certainly</mark><span class="parts"></span>' in told
    same = report.page(found(adapted=CHATTY))
    assert "No pair differs in its checks." in same
