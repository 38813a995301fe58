"""Estimates of whose P90 nine of ten are met, whatever the draws are worth.

What is said is a quantile of the draws, whose level adapts itself: it grows with each earlier
estimate that was not met, and shrinks with each that was. So the part that is met comes to what it
shall be, also where the workload changes (adaptive conformal inference, Gibbs and Candes 2021). A
level of 1 + x, beyond all draws, is the last draw times e to the x, and one of -x the first draw
divided by it (a quantile tracked on a scale of scores: Angelopoulos, Candes and Tibshirani 2023).

An estimate counts as met or not once what was said has passed, and in that order: those that come
early alone would make the level too small.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

RATE: Final = 0.05
"""After n outcomes the part that was met differs from what it shall be by as much as the level has
changed by then, divided by n times this."""

LEAST_OUTCOMES: Final = 50
"""With fewer an estimate is not said to be calibrated: where the level had to change by 0.1, the
part that was met was wrong by 4 % then."""

MOST_BEYOND: Final = 3.0
"""Twenty times the last draw, or a twentieth of the first."""

FLOOR_MS: Final = 1_000
"""Added to a draw before it is multiplied."""


def quantile(values: Sequence[int | None], part: float) -> int | None:
    """The smallest of the values that such a part of them does not exceed; None is beyond all.

    >>> quantile((4, None, 1, 2, 3), 0.5), quantile((1, 2, None), 0.9)
    (3, None)
    """
    known = sorted(value for value in values if value is not None)
    place = max(math.ceil(part * len(values)) - 1, 0)
    return known[place] if place < len(known) else None


class Level(NamedTuple):
    """At which level of the draws something is said, from so many `outcomes`."""

    outcomes: int
    level: float

    @property
    def calibrated(self) -> bool:
        """Whether there are enough outcomes to rely on it."""
        return self.outcomes >= LEAST_OUTCOMES

    def of(self, draws: Sequence[int | None]) -> int | None:
        """What is said of some draws (ms; None: beyond the horizon).

        >>> Level(30, 0.75).of((4_000, 1_000, 3_000, 2_000)), Level(30, 1.5).of((1_000, 9_000))
        (3000, 15487)
        """
        inside = min(max(self.level, 0.0), 1.0)
        found = quantile(draws, inside)
        if found is None or inside == self.level:
            return found
        return max(round((found + FLOOR_MS) * math.exp(self.level - inside)) - FLOOR_MS, 0)


def level(part: float, met: Iterable[bool]) -> Level:
    """The level at which such a part of all estimates is met, from whether earlier ones were, in
    the order in which they were due.

    >>> level(0.9, [False] * 30).level > 1 > level(0.9, [True] * 30).level
    True
    >>> level(0.9, [True] * 10).level
    0.85
    """
    found, outcomes = part, 0
    for one in met:
        found = min(max(found + RATE * (part - one), -MOST_BEYOND), 1 + MOST_BEYOND)
        outcomes += 1
    return Level(outcomes, round(found, 6))
