from nightgarden.evaluation.answers import Scored
from nightgarden.evaluation.promotion import Promotion, decide
from nightgarden.evaluation.verdicts import Comparison, compare, rate
from tests.evaluation.planted import scored

PROMPTS = [f"p-{number:02d}" for number in range(20)]


def side(name: str, fails: dict[str, int], **planted: object) -> list[Scored]:
    """Twenty replies of which the first n fail each named check."""
    return [
        scored(prompt, name, fails=tuple(check for check, n in fails.items() if row < n), **planted)  # type: ignore[arg-type]
        for row, prompt in enumerate(PROMPTS)
    ]


def against_stock(stock: dict[str, int], adapted: dict[str, int]) -> Comparison:
    return compare(side("stock", stock), side("adapted", adapted), "stock", 0.05)


def promotion(stock: dict[str, int], adapted: dict[str, int], template: str = "agree") -> Promotion:
    return decide(template, [against_stock(stock, adapted)])


def test_a_rate_says_how_many_of_how_many_judged_replies() -> None:
    replies = side("stock", {"bullets": 5}) + [scored("q", "stock", skips=("bullets",))]
    assert (rate(replies, "bullets", 0.05).count, rate(replies, "bullets", 0.05).of) == (5, 20)
    assert rate(replies, "format_compliance", 0.05).count == 21
    assert rate([], "bullets", 0.05).value is None


def test_a_family_improves_when_one_score_does_after_holm() -> None:
    verdict = against_stock({"exclamations": 12}, {}).families["suppression"]
    assert verdict.verdict == "improved" and "exclamations 12 won, 0 lost of 20" in verdict.reason


def test_eight_one_way_changes_are_not_enough_for_seven_tests() -> None:
    comparison = against_stock({"exclamations": 8}, {})
    assert comparison.tests["exclamations"].p < 0.05
    assert comparison.families["suppression"].verdict == "cannot tell"
    assert "9 prompts changed all one way would" in comparison.families["suppression"].reason


def test_a_family_is_worse_when_any_score_is() -> None:
    assert against_stock({"exclamations": 12}, {"bullets": 12}).families["suppression"].verdict == "worse"


def test_style_never_wins_while_compliance_is_lost() -> None:
    verdict = against_stock({"exclamations": 15}, {"format_compliance": 6}).families["suppression"]
    assert verdict.verdict == "cannot tell" and "compliance was lost in identity stripping" in verdict.reason


def test_void_replies_cannot_win_a_style_test() -> None:
    silent = [scored(prompt, "adapted", void="empty", skips=("exclamations",)) for prompt in PROMPTS]
    comparison = compare(side("stock", {"exclamations": 20}), silent, "stock", 0.05)
    assert comparison.tests["exclamations"].of == 0
    assert comparison.tests["exclamations"].verdict == "cannot tell"
    assert comparison.compliance["all"].after == 0


def test_seeds_of_a_prompt_are_one_pair() -> None:
    stock = [scored("p", "stock", fails=("bullets",), seed=seed) for seed in range(12)]
    adapted = [scored("p", "adapted", seed=seed) for seed in range(12)]
    test = compare(stock, adapted, "stock", 0.05).tests["bullets"]
    assert (test.won, test.lost, test.of) == (1, 0, 1)


def test_an_adapter_that_improves_and_loses_nothing_is_promoted() -> None:
    decision = promotion({"exclamations": 12}, {"format_compliance": 1})
    assert decision.verdict == "promote"
    assert "improves on stock: exclamations 12 won, 0 lost of 20" in decision.reason


def test_an_adapter_that_improves_nothing_is_kept_back_and_the_nearest_score_is_named() -> None:
    decision = promotion({"bullets": 4}, {})
    assert decision == Promotion(
        verdict="keep", reason="No score improves on stock after Holm; nearest: bullets 4 won, 0 lost of 20, p 0.88."
    )


def test_an_adapter_that_loses_compliance_in_one_category_is_kept_back() -> None:
    decision = promotion({"exclamations": 15}, {"format_compliance": 8})
    assert decision.verdict == "keep"
    assert decision.reason.startswith("Compliance was lost in identity stripping: 12 of 20 replies comply, 20 with stock")


def test_without_a_passport_that_agrees_nothing_is_promoted() -> None:
    decision = promotion({"exclamations": 15}, {}, template="unverified")
    assert decision.verdict == "keep" and "unverified" in decision.reason


def test_the_champion_must_be_beaten_too() -> None:
    better = side("adapted", {})
    stock = compare(side("stock", {"exclamations": 15}), better, "stock", 0.05)
    equal = compare(side("adapted", {"exclamations": 1}), better, "the champion", 0.05)
    beaten = compare(side("adapted", {"length": 12}), better, "the champion", 0.05)
    assert decide("agree", [stock, equal]).reason.startswith("No score improves on the champion")
    assert decide("agree", [stock, beaten]).verdict == "promote"
