"""A plan with the unchanged configuration reproduces what servers did, whatever happens to them."""

import pytest
from soak.plans import live


@pytest.mark.parametrize("seed", [1, 2])
def test_a_plan_makes_every_grant_of_a_random_life_again(seed):
    found = live(seed)
    assert found.proof.grants > 20
    assert found.kinds["SubmitApplication"] > 5
    assert found.whole, (found.proof, found.lag_ms)
