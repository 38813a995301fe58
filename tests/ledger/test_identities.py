"""What the ledger says of each hour adds up, over random lives of clusters."""

import pytest
from tests.effort import examples
from tests.labelled_queues import SCHEDULERS
from tests.ledger.identities import deviations


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("seed", range(examples(15)))
def test_the_ledger_of_a_life_adds_up_exactly(scheduler, seed):
    assert list(deviations(scheduler, seed)) == []
