"""A plan with the unchanged configuration reproduces what servers did, whatever happens to them."""

import pytest
from soak.plans import live

LIVES = 5
"""The journal does not have all that a server on a busy machine did: one life in a hundred that the
machine kept waiting for hundreds of milliseconds is not reproduced, and is lived again."""


@pytest.mark.parametrize("scheduler", ["fair", "capacity"])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_plan_makes_every_grant_of_a_random_life_again(seed, scheduler):
    for _ in range(LIVES):
        verdict = live(seed, scheduler)
        if verdict.whole or verdict.calm:
            break
    assert verdict.proof.grants > 20
    assert verdict.kinds["SubmitApplication"] > 5
    assert verdict.whole, (verdict.proof, verdict.lag_ms)
