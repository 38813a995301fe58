"""A plan with the unchanged configuration reproduces what servers did, whatever happens to them."""

import pytest
from soak.plans import live


@pytest.mark.parametrize("scheduler", ["fair", "capacity"])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_plan_makes_every_grant_of_a_random_life_again(seed, scheduler):
    verdict = live(seed, scheduler)
    assert verdict.proof.grants > 20
    assert verdict.kinds["SubmitApplication"] > 5
    assert verdict.whole, (verdict.proof, verdict.lag_ms)
