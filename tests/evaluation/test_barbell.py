from nightgarden.evaluation.barbell import barbell, pole
from tests.evaluation.planted import scored


def test_a_reply_is_excellent_middle_or_failing_by_its_failed_checks() -> None:
    assert scored("a", "stock").pole == "excellent"
    assert scored("a", "stock", fails=("bullets",)).pole == "middle"
    assert scored("a", "stock", fails=("bullets", "length")).pole == "failing"
    assert scored("a", "stock", skips=("format_compliance", "context_use")).pole == "excellent"
    assert pole("empty", ()) == "failing"


def test_a_missed_fact_counts_once() -> None:
    assert scored("a", "stock", fails=("format_compliance", "context_use")).pole == "middle"


def test_shares_are_counted_per_category_and_side_with_their_denominator() -> None:
    replies = [
        scored("i-1", "adapted"),
        scored("i-2", "adapted", void="empty"),
        scored("m-1", "adapted", category="memory_channels", fails=("length",)),
        scored("i-1", "stock", fails=("length", "bullets")),
    ]
    table = barbell(replies, 0.05)
    mine = table["identity_stripping"]["adapted"]
    assert [(mine[name].count, mine[name].of) for name in ("failing", "middle", "excellent")] == [(1, 2), (0, 2), (1, 2)]
    assert table["all"]["adapted"]["middle"].count == 1 and table["all"]["adapted"]["middle"].of == 3
    assert table["memory_channels"]["stock"]["failing"].of == 0 and "correction_compliance" not in table
