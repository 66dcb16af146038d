"""Where adapted and stock part along one text."""

from pathlib import Path

import pytest
import torch

from nightgarden.evaluation import generate
from nightgarden.evaluation.divergence import along, divergence
from nightgarden.evaluation.generate import Sides
from nightgarden.params import Params

CANDIDATE = Path("models/adapters/candidate")
PROMPT, REPLY = (1, 4093, 198, 28120, 2), (504, 6376, 314, 4461, 30)


@pytest.fixture(scope="module")
def sides(workshop: Path, params: Params) -> Sides:
    return generate.load_sides(params.base_spec, workshop, workshop / CANDIDATE, PROMPT)


def test_the_divergence_at_a_position_is_that_of_the_two_distributions_there(sides: Sides) -> None:
    curve = along(sides, PROMPT, REPLY)
    assert len(curve) == len(REPLY)
    for place in (0, 3):
        before = (*PROMPT, *REPLY[:place])
        adapted = torch.distributions.Categorical(logits=generate.last_logits(sides.model, before).double())
        with sides.on("stock"):
            stock = torch.distributions.Categorical(logits=generate.last_logits(sides.model, before).double())
        assert curve[place] == pytest.approx(float(torch.distributions.kl_divergence(adapted, stock)), rel=1e-3)
    assert min(curve) > 0


def test_a_side_does_not_part_from_itself(sides: Sides) -> None:
    same = Sides(sides.model, sides.pristine, sides.probe)
    object.__setattr__(same, "on", lambda side: sides.model.disable_adapter())
    with sides.model.disable_adapter():
        assert along(same, PROMPT, REPLY) == [0.0] * len(REPLY)


def test_the_mean_curve_counts_only_replies_that_reach_a_position() -> None:
    found = divergence([[4.0, 2.0], [2.0]])
    assert (found.nats, found.replies, found.first_share) == ((3.0, 2.0), (2, 1), 1.0)
    assert divergence([[1.0] * 20]).first_share == 0.5
    assert divergence([[0.0]]).first_share is None
