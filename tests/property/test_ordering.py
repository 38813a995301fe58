"""The incremental order against a plain sort, under random changes."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairshare.core.schedulers.ordering import RANK_BITS, Entry, Order


class Sibling:
    """Something with a key of its own."""

    def __init__(self, value: int) -> None:
        self.value = value
        self.rank = 0
        self.entry: Entry | None = None


def whole_number(sibling: Sibling) -> Entry:
    """The key as a whole number."""
    return sibling.value << RANK_BITS | sibling.rank


def pair(sibling: Sibling) -> Entry:
    """The key as a tuple."""
    return (float(sibling.value), sibling.rank)


def _first(siblings: list[Sibling], key: Callable[[Sibling], Entry]) -> Sibling | None:
    return min((s for s in siblings if s.entry is not None), key=key, default=None)


kinds = st.sampled_from(["move", "change", "leave", "forget", "append", "renumber", "aside"])
changes = st.lists(st.tuples(kinds, st.integers(0, 30), st.integers(-5, 5)), max_size=200)


@pytest.mark.slow
@given(st.booleans(), changes)
def test_the_first_of_the_order_is_the_first_of_a_sort(
    whole: bool, changes: list[tuple[str, int, int]]
) -> None:
    key = whole_number if whole else pair
    order: Order[Sibling] = Order(key, whole)
    siblings: list[Sibling] = []
    for what, which, value in changes:
        if what == "append" or not siblings:
            siblings.append(Sibling(value))
            order.append(siblings[-1])
        else:
            sibling = siblings[which % len(siblings)]
            if what == "move":
                sibling.value = value
                order.moved(sibling)
            elif what == "change":
                sibling.value = value
                if sibling.entry is not None:
                    order.changed(sibling)
            elif what == "leave":
                order.leave(sibling)
            elif what == "aside":
                if sibling.entry is not None:
                    entry = order.put_aside(sibling)
                    assert order.first() is _first(siblings, key)
                    order.enter_again(sibling, entry)
            elif what == "forget":
                siblings.remove(sibling)
                order.forget(sibling)
            else:
                order.renumber(siblings[::-1])
                siblings.reverse()
        assert order.first() is _first(siblings, key)
