"""What is asked for is rounded: minimum, multiple, maximum, in this order."""

from hypothesis import given
from hypothesis import strategies as st

from fairshare.core.model.resources import UNBOUNDED
from fairshare.core.schedulers.calculators import normalise

AMOUNTS = st.integers(0, 10_000)


def test_an_ask_below_the_minimum_becomes_the_minimum_and_then_a_multiple() -> None:
    assert normalise((100, 0), (1500, 1), (1000, 4), (9000, 32)) == (2000, 4)


def test_the_maximum_cuts_last() -> None:
    assert normalise((4500, 5), (1024, 1), (1024, 1), (5000, 4)) == (5000, 4)


def test_nothing_stays_nothing_when_the_minimum_is_nothing() -> None:
    assert normalise((0, 0, 0), (0, 0, 0), (1024, 1, 0), (8192, 4, UNBOUNDED)) == (0, 0, 0)


def test_without_increment_an_ask_is_taken_as_it_is() -> None:
    assert normalise((3, 7), (0, 0), (0, 0), (UNBOUNDED, UNBOUNDED)) == (3, 7)


@given(AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS)
def test_the_result_is_the_smallest_amount_that_the_rules_allow(
    ask: int, minimum: int, increment: int, maximum: int
) -> None:
    (granted,) = normalise((ask,), (minimum,), (increment,), (maximum,))
    assert granted <= maximum
    if granted < maximum:
        assert granted >= max(ask, minimum)
        assert granted - max(ask, minimum) < max(increment, 1)
        assert increment == 0 or granted % increment == 0
