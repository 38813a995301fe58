"""The arithmetic of Hadoop's two resource calculators.

The memory-only calculator considers memory alone; its rounded or divided results have one vcore, or
none when the memory is 0. The dominant calculator considers the dominant share of the cluster.
Results equal Hadoop's exactly, single precision included (Hadoop: ResourceCalculator).
"""

import math
from functools import cache
from typing import Protocol

from fairshare.core.model.resources import UNBOUNDED, Resource, subtract
from fairshare.core.schedulers.calculators import SPLIT, single

MOST_CONTAINERS = 2**31 - 1
EXACT = 2**24
"""Integers up to here are exact in single precision."""


class ResourceCalculator(Protocol):
    """The operations of both calculators. `total` is the amount of which shares are computed."""

    name: str

    def compare(self, total: Resource, a: Resource, b: Resource) -> int:
        """-1, 0 or 1: less, equal, greater."""

    def fits(self, need: Resource, room: Resource) -> bool:
        """Whether `need` is within `room`."""

    def containers(self, available: Resource, size: Resource) -> int:
        """How many containers of a size fit."""

    def divide(self, total: Resource, a: Resource, b: Resource) -> float:
        """`a` over `b`, by the share of the cluster that the calculator uses; single precision."""

    def divisor(self, total: Resource, b: Resource) -> float:
        """What `divide` divides by: `divide(t, a, b) == use(t, a, divisor(t, b))`."""

    def use(self, total: Resource, a: Resource, divisor: float) -> float:
        """`a` over the `divisor` of `b`: `divide` for many values with the same `b`."""

    def ratio(self, a: Resource, b: Resource) -> float:
        """`a` over `b` regardless of the cluster; single precision."""

    def multiply_up(self, a: Resource, by: float, step: Resource) -> Resource:
        """`a` times `by`, rounded up to the step."""

    def multiply_down(self, a: Resource, by: float, step: Resource) -> Resource:
        """`a` times `by`, rounded down to the step."""

    def round_up(self, a: Resource, step: Resource) -> Resource:
        """Round up to a multiple of the step."""

    def round_down(self, a: Resource, step: Resource) -> Resource:
        """Round down to a multiple of the step."""

    def ceil_divide(self, a: Resource, by: float) -> Resource:
        """`a / by` in single precision, rounded up; 0 when `by` is 0."""

    def ceil_divide_whole(self, a: Resource, by: int) -> Resource:
        """`a / by` rounded up, for an integer."""

    def normalise(
        self, ask: Resource, minimum: Resource, maximum: Resource, step: Resource
    ) -> Resource:
        """The size that is granted for an ask."""

    def above_zero(self, a: Resource) -> bool:
        """Whether an amount that the calculator considers is positive."""

    def zero_or_less(self, a: Resource) -> bool:
        """Whether an amount that the calculator considers is 0 or negative."""


def ceil_to(amount: int, step: int) -> int:
    """`ceil_to(1500, 1024) == 2048`; a step of 0 does not round.

    Negative amounts are rounded towards 0, and further than necessary: `ceil_to(-1024, 1024) == 0`,
    as in Java.
    """
    return ceil_quotient(amount, step) * step if step else amount


def ceil_quotient(amount: int, by: int) -> int:
    """`ceil_quotient(5, 2) == 3`; below 0 as in Java, `ceil_quotient(-4, 2) == -1`."""
    over = amount + by - 1
    return over // by if over >= 0 else -(-over // by)


def floor_to(amount: int, step: int) -> int:
    """`floor_to(1500, 1024) == 1024`; negative amounts are rounded towards 0, as Java divides."""
    if not step:
        return amount
    return amount // step * step if amount >= 0 else -(-amount // step) * step


def truncate(a: Resource, by: float) -> Resource:
    """Each amount times `by`, truncated: `truncate((1000, 3), 0.5) == (500, 1)`."""
    return tuple([int(amount * by) for amount in a])


def _ceil_float(amount: int, by: float) -> int:
    return 0 if by == 0 else math.ceil(single(single(amount) / by))


def _quotient(a: float, b: float) -> float:
    if b:
        if not -EXACT <= b <= EXACT:
            b = single(b)
        if -EXACT <= a <= EXACT:
            return single(a / b)
        return single(single(a) / b)
    return math.inf if a > 0 else 0.0


def _whole(value: float) -> int:
    """Convert a Java double to a long: NaN becomes 0, and infinity the largest value."""
    if math.isnan(value):
        return 0
    return UNBOUNDED if value >= UNBOUNDED else math.ceil(value)


class MemoryCalculator:
    """Memory alone (Hadoop: DefaultResourceCalculator)."""

    name = "memory"

    def __init__(self, types: int = 2) -> None:
        self._rest = (0,) * (types - 2)

    def _of(self, memory: int) -> Resource:
        return (memory, 1 if memory > 0 else 0, *self._rest)

    def compare(self, total: Resource, a: Resource, b: Resource) -> int:
        """By memory."""
        return (a[0] > b[0]) - (a[0] < b[0])

    def fits(self, need: Resource, room: Resource) -> bool:
        """By memory."""
        return need[0] <= room[0]

    def containers(self, available: Resource, size: Resource) -> int:
        """Whole division of memory."""
        return available[0] // size[0] if available[0] > 0 else 0

    def divide(self, total: Resource, a: Resource, b: Resource) -> float:
        """Memory over memory."""
        return _quotient(a[0], b[0])

    def divisor(self, total: Resource, b: Resource) -> float:
        """Memory, in single precision."""
        return single(b[0])

    def use(self, total: Resource, a: Resource, divisor: float) -> float:
        """Memory over memory."""
        memory: float = a[0]
        if not divisor:
            return _quotient(memory, divisor)
        if not -EXACT <= memory <= EXACT:
            memory = single(memory)
        quotient = memory / divisor
        high = quotient * SPLIT  # `single`, written out
        return high - (high - quotient)

    def ratio(self, a: Resource, b: Resource) -> float:
        """Memory over memory."""
        memory: float = a[0]
        whole: float = b[0]
        if whole <= 0:
            return _quotient(memory, whole)
        if whole > EXACT:
            high = whole * SPLIT  # `single`, written out three times
            whole = high - (high - whole)
            high = memory * SPLIT
            memory = high - (high - memory)
        elif not -EXACT <= memory <= EXACT:
            memory = single(memory)
        quotient = memory / whole
        high = quotient * SPLIT
        return high - (high - quotient)

    def multiply_up(self, a: Resource, by: float, step: Resource) -> Resource:
        """Adds half a MB, then truncates."""
        memory = a[0] * by + 0.5
        whole = int(memory) if math.isfinite(memory) else _whole(memory)
        return self._of(ceil_to(whole, step[0]))

    def multiply_down(self, a: Resource, by: float, step: Resource) -> Resource:
        """Truncates the fraction first."""
        return self._of(floor_to(int(a[0] * by), step[0]))

    def round_up(self, a: Resource, step: Resource) -> Resource:
        """Memory, and one vcore."""
        return self._of(ceil_to(a[0], step[0]))

    def round_down(self, a: Resource, step: Resource) -> Resource:
        """Memory, and one vcore."""
        return self._of(floor_to(a[0], step[0]))

    def ceil_divide(self, a: Resource, by: float) -> Resource:
        """Memory, and one vcore."""
        return self._of(_ceil_float(a[0], by))

    def ceil_divide_whole(self, a: Resource, by: int) -> Resource:
        """Memory, and one vcore."""
        return self._of(ceil_quotient(a[0], by))

    def normalise(
        self, ask: Resource, minimum: Resource, maximum: Resource, step: Resource
    ) -> Resource:
        """Memory within its bounds, and one vcore whatever was asked for."""
        memory = ceil_to(max(ask[0], minimum[0]), step[0] or minimum[0])
        return self._of(min(memory, maximum[0]))

    def above_zero(self, a: Resource) -> bool:
        """Whether the memory is positive."""
        return a[0] > 0

    def zero_or_less(self, a: Resource) -> bool:
        """Whether the memory is 0 or negative."""
        return a[0] <= 0


class DominantCalculator:
    """The dominant share decides (Hadoop: DominantResourceCalculator)."""

    name = "dominant"

    def compare(self, total: Resource, a: Resource, b: Resource) -> int:
        """The dominant shares first, then the next ones."""
        if a == b:
            return 0
        if not total[0] and not any(total):
            less = any(x < y for x, y in zip(a, b, strict=True))
            greater = any(x > y for x, y in zip(a, b, strict=True))
            return greater - less
        if len(a) == 2:
            if total[0] and total[1]:
                return _compare(a[0] / total[0], a[1] / total[1], b[0] / total[0], b[1] / total[1])
            return _compare(*_shares(a, total), *_shares(b, total))
        parts = zip(
            sorted(_shares(a, total), reverse=True),
            sorted(_shares(b, total), reverse=True),
            strict=True,
        )
        for x, y in parts:
            if math.isinf(x) or math.isinf(y):
                continue
            if x != y:
                return 1 if x > y else -1
        return 0

    def fits(self, need: Resource, room: Resource) -> bool:
        if len(need) == 2:
            return need[0] <= room[0] and need[1] <= room[1]
        return all(x <= y for x, y in zip(need, room, strict=True))

    def containers(self, available: Resource, size: Resource) -> int:
        """By the type that runs out first."""
        counts = [x // y if x > 0 else 0 for x, y in zip(available, size, strict=True) if y > 0]
        return min(*counts, MOST_CONTAINERS) if counts else MOST_CONTAINERS

    def divide(self, total: Resource, a: Resource, b: Resource) -> float:
        """The largest share of `a` over the largest share of `b`."""
        return self.use(total, a, self.divisor(total, b))

    def divisor(self, total: Resource, b: Resource) -> float:
        """The largest share of the cluster."""
        return _largest_share(b, total)

    def use(self, total: Resource, a: Resource, divisor: float) -> float:
        """The largest share of the cluster over another one."""
        if len(a) == 2 and total[0] and total[1]:  # `_largest_share`, written out
            share, other = a[0] / total[0], a[1] / total[1]
            if other > share:
                share = other
            if share <= 0.0:
                share = 0.0
        else:
            share = _largest_share(a, total)
        if not divisor:
            return math.inf if share > 0 else math.nan
        quotient = share / divisor
        high = quotient * SPLIT  # `single`, written out
        return high - (high - quotient)

    def ratio(self, a: Resource, b: Resource) -> float:
        """The largest of the ratios, at least 0."""
        if len(a) == 2:
            memory: float
            whole: float
            (memory, vcores), (whole, cores) = a, b
            if whole > 0 and 0 < cores <= EXACT and vcores <= EXACT:
                if whole > EXACT:
                    high = whole * SPLIT  # `single`, written out three times
                    whole = high - (high - whole)
                    high = memory * SPLIT
                    memory = high - (high - memory)
                elif memory > EXACT:
                    memory = single(memory)
                quotient, other = memory / whole, vcores / cores
                if other > quotient:
                    quotient = other
                if quotient <= 0.0:
                    return 0.0
                high = quotient * SPLIT
                return high - (high - quotient)
        return max(0.0, *map(_quotient, a, b))

    def multiply_up(self, a: Resource, by: float, step: Resource) -> Resource:
        """Rounds up in single precision first."""
        return tuple([ceil_to(_whole(single(x * by)), s) for x, s in zip(a, step, strict=True)])

    def multiply_down(self, a: Resource, by: float, step: Resource) -> Resource:
        """Truncates the fraction first."""
        return tuple([floor_to(int(x * by), s) for x, s in zip(a, step, strict=True)])

    def round_up(self, a: Resource, step: Resource) -> Resource:
        return tuple(map(ceil_to, a, step))

    def round_down(self, a: Resource, step: Resource) -> Resource:
        return tuple(map(floor_to, a, step))

    def ceil_divide(self, a: Resource, by: float) -> Resource:
        return tuple([_ceil_float(x, by) for x in a])

    def ceil_divide_whole(self, a: Resource, by: int) -> Resource:
        return tuple([ceil_quotient(x, by) for x in a])

    def normalise(
        self, ask: Resource, minimum: Resource, maximum: Resource, step: Resource
    ) -> Resource:
        return tuple(
            min(ceil_to(max(x, least), s or least), most)
            for x, least, most, s in zip(ask, minimum, maximum, step, strict=True)
        )

    def above_zero(self, a: Resource) -> bool:
        """Whether any amount is positive."""
        return any(x > 0 for x in a)

    def zero_or_less(self, a: Resource) -> bool:
        """Whether any amount is 0 or negative."""
        return any(x <= 0 for x in a)


def _compare(a_high: float, a_low: float, b_high: float, b_low: float) -> int:
    """Compare two pairs of shares, the larger share of each pair first."""
    if a_low > a_high:
        a_high, a_low = a_low, a_high
    if b_low > b_high:
        b_high, b_low = b_low, b_high
    if a_high != b_high:
        return 1 if a_high > b_high else -1
    if a_low != b_low:
        return 1 if a_low > b_low else -1
    return 0


def _shares(a: Resource, total: Resource) -> list[float]:
    return [x / t if t else math.inf for x, t in zip(a, total, strict=True)]


def _largest_share(a: Resource, total: Resource) -> float:
    """The largest share that is finite and positive; 0 if there is none."""
    if len(a) == 2 and total[0] and total[1]:
        x, y = a[0] / total[0], a[1] / total[1]
        if y > x:
            x = y
        return x if x > 0 else 0.0
    shares = _shares(a, total)
    return max((share for share in shares if share > 0 and not math.isinf(share)), default=0.0)


@cache
def calculator(dominant: bool, types: int) -> ResourceCalculator:
    """The calculator that the settings name; the same object for the same arguments."""
    return DominantCalculator() if dominant else MemoryCalculator(types)


def smaller(c: ResourceCalculator, total: Resource, a: Resource, b: Resource) -> Resource:
    """The smaller of two vectors as a whole, not by type; the first when equal."""
    return a if c.compare(total, a, b) <= 0 else b


def larger(c: ResourceCalculator, total: Resource, a: Resource, b: Resource) -> Resource:
    """The larger of two vectors as a whole, not by type; the first when equal."""
    return a if c.compare(total, a, b) >= 0 else b


def subtract_not_below_zero(a: Resource, b: Resource) -> Resource:
    """`a - b`, where memory and vcores are at least 0 (further types may be negative)."""
    memory, vcores, *rest = subtract(a, b)
    return (max(memory, 0), max(vcores, 0), *rest)
