"""The search for a ratio begins near it, and ends where one that begins at 1 ends."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from fairshare.core.schedulers import shares
from fairshare.core.schedulers.shares import Row

ROWS = st.lists(
    st.tuples(
        st.floats(1e-6, 1e6),
        st.sampled_from([0.0, 0.0, 0.0, 3.0, 1000.0]),
        st.sampled_from([0.5, 7.0, 1e4, 2.0**53, 2.0**63]),
        st.integers(1, 10_000),
    ),
    min_size=1,
    max_size=4,
).map(tuple)


def _ratio_from_one(target: int, rows: tuple[Row, ...]) -> float:
    high, low = 1.0, 0.0
    while shares._used(rows, high) < target and high < math.inf:
        high *= 2.0
    for _ in range(shares.HALVINGS):
        middle = (low + high) / 2.0
        found = shares._used(rows, middle)
        if found == target:
            return middle
        low, high = (middle, high) if found < target else (low, middle)
    return high


@settings(max_examples=examples(300))
@given(st.integers(0, 2**63 - 1) | st.integers(0, 10_000), ROWS)
def test_the_ratio_does_not_depend_on_where_the_search_for_it_begins(
    target: int, rows: tuple[Row, ...]
) -> None:
    assert shares._ratio(target, rows) == _ratio_from_one(target, rows)
