"""What the bounds of a user's limit say is what the limit itself says."""

from operator import lt
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from fairshare.core.schedulers.capacity.calculators import calculator
from fairshare.core.schedulers.capacity.limits import (
    NONE,
    bounds_of,
    sure_use,
    surely_below,
    user_limit,
)
from fairshare.core.schedulers.capacity.users import Users

amounts = st.tuples(st.integers(0, 40_000), st.integers(0, 60), st.integers(0, 5))
factors = st.sampled_from([-1.0, 0.1, 0.5, 1.0, 1.5, 4.0])
percents = st.sampled_from([0.5, 1.0, 25.0, 33.3, 50.0, 99.0, 100.0])


class Leaf:
    """A leaf of a cluster of one partition, as far as limits of users see it."""

    def __init__(self, dominant, types, total, minimum, guarantee, maximum, percent, factor):
        none = (0,) * types
        self.total = total[:types]
        self.user_limit_percent, self.user_limit_factor = percent, factor
        cut = [tuple(map(min, one[:types], self.total)) for one in (guarantee, maximum)]
        share = SimpleNamespace(effective_minimum=cut[0], effective_maximum=cut[1])
        self.shares = {"": share}
        self.users = Users(none)
        self.state = SimpleNamespace(
            calculator=calculator(dominant, types),
            settings=SimpleNamespace(minimum_allocation=minimum[:types]),
            none=none,
            total_of=lambda label: self.total,
        )

    def charge(self, name, amount):
        users, c = self.users, self.state.calculator
        users.get_or_add(name)
        users.charge(name, "", amount[: len(self.total)], c, self.total)
        users.compute_again()

    def below(self, name):
        """Whether the bounds know that a user is below its limit; and whether it is."""
        used = self.users.users[name].used[""]
        c = self.state.calculator
        bounds = bounds_of(self.state, self)
        known = surely_below(used, self.total, bounds, self.users, c.name)
        sure = sure_use(bounds, self.total, c.name)
        assert known or not all(map(lt, used, sure))
        limit = user_limit(self.state, self, name, "")
        return known, c.compare(self.total, used, limit) <= 0


sizes = st.tuples(st.integers(0, 10**6), st.integers(0, 1_000), st.integers(0, 20))
leaves = st.builds(
    Leaf,
    st.booleans(),
    st.sampled_from([2, 2, 3]),
    sizes,
    st.tuples(st.sampled_from([1, 128, 1024]), st.sampled_from([1, 2]), st.sampled_from([0, 1])),
    sizes,
    sizes,
    percents,
    factors,
)
charges = st.lists(
    st.tuples(st.sampled_from(["ann", "bob", "eve"]), amounts, st.booleans()), max_size=25
)


@pytest.mark.slow
@settings(max_examples=examples(1_500), deadline=None)
@given(leaves, charges)
def test_a_user_that_is_known_to_be_below_its_limit_is(leaf, given_charges):
    for name, amount, back in given_charges:
        leaf.charge(name, amount)
        known, below = leaf.below(name)
        assert below or not known
        if back:
            leaf.charge(name, tuple(-one for one in amount))


GB = (1024, 1)
BIG = (65_536, 64)


@pytest.mark.parametrize("dominant", [False, True])
def test_a_lone_user_is_known_to_be_below_its_limit_up_to_the_ceiling(dominant):
    leaf = Leaf(dominant, 2, BIG, GB, (16_384, 16), BIG, 100.0, -1.0)
    for number in range(63):
        leaf.charge("ann", GB)
        # The bounds leave a gap where the guarantee is all in use.
        assert leaf.below("ann") == (number not in {15}, True), number
    leaf.charge("ann", GB)
    assert leaf.below("ann") == (False, True)
    leaf.charge("ann", GB)
    assert leaf.below("ann") == (False, False)


@pytest.mark.parametrize("dominant", [False, True])
def test_a_user_within_its_percentage_of_the_guarantee_is_known_to_be_below(dominant):
    leaf = Leaf(dominant, 2, BIG, GB, (32_768, 32), BIG, 25.0, 1.0)
    for _ in range(7):
        leaf.charge("ann", GB)
        assert leaf.below("ann") == (True, True)
    leaf.charge("bob", GB)
    leaf.charge("ann", GB)
    assert leaf.below("ann") == (False, True)


def test_without_a_total_nothing_is_known():
    leaf = Leaf(True, 2, (65_536, 0), GB, GB, BIG, 100.0, 1.0)
    assert bounds_of(leaf.state, leaf) == NONE
    leaf.charge("ann", GB)
    assert leaf.below("ann")[0] is False
