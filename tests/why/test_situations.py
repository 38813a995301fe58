"""All planted situations, and some random states (`make why` has a thousand)."""

import pytest
from tests.why.judging import deviations
from tests.why.planting import situations
from tests.why.random_states import deviations as random_deviations


@pytest.mark.parametrize("situation", situations(), ids=str)
def test_a_situation_is_explained_and_its_remedies_start_it(situation):
    assert list(deviations(situation)) == []


# In the others what is done at one instant starts what waits, and one action after the other not.
@pytest.mark.parametrize("seed", [*range(10), 497, 519, 736])
def test_in_a_random_state_each_remedy_that_is_proved_starts_what_waits(seed):
    assert list(random_deviations(seed)) == []
