"""Rounding to 32 bits by a multiplication, as the hottest code does it."""

from random import Random

import pytest

from fairshare.core.schedulers.calculators import SPLIT, single
from fairshare.core.schedulers.capacity.calculators import EXACT, calculator


def split(value: float) -> float:
    """`value`, rounded as `SPLIT` says."""
    high = value * SPLIT
    return high - (high - value)


TIE = 2.0**-24


@pytest.mark.parametrize("nudge", [0.0, 2.0**-52, -(2.0**-52)])
def test_a_split_of_a_tie_goes_to_even_as_javas_rounding_does(nudge):
    """Halfway between two 32-bit floats, and the doubles beside it."""
    for number in range(4_000):
        value = 1.0 + TIE * (2 * number + 1) + nudge
        for scaled in (value, -value, value * 2.0**-100, value * 2.0**100):
            assert split(scaled) == single(scaled)


def test_a_split_is_the_nearest_32_bit_float():
    random = Random(1)
    for _ in range(20_000):
        value = random.uniform(-1.0, 1.0) * 2.0 ** random.randrange(-100, 100)
        assert split(value) == single(value)
        between = single(random.random()) - single(random.random() * 2.0 ** -random.randrange(30))
        assert split(between) == single(between)
    assert split(0.0) == 0.0


def quotient(a: int, b: int) -> float:
    """Two numbers as 32-bit floats, divided as such."""
    if b:
        return single(single(a) / single(b))
    return float("inf") if a > 0 else 0.0


def amount(random: Random) -> int:
    """Around what is exact in 32 bits, and beyond."""
    kind = random.randrange(4)
    near = EXACT + random.randrange(-9, 9)
    large = random.randrange(2**40)
    return (random.randrange(-5, 5), near, large, large // 2**10 * 2**10)[kind]


def test_a_ratio_of_resources_is_one_of_32_bit_floats():
    random = Random(2)
    memory, dominant = calculator(False, 2), calculator(True, 2)
    for _ in range(20_000):
        a, b = ((amount(random), amount(random)) for _ in range(2))
        first = quotient(a[0], b[0])
        assert memory.ratio(a, b) == first
        assert dominant.ratio(a, b) == max(first, quotient(a[1], b[1]), 0.0)
        if b[0]:
            assert memory.use(b, a, memory.divisor(b, b)) == first
