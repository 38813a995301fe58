"""Estimates that are stretched to what came of earlier ones, so that of their P90 nine of ten are
met, whatever the draws are worth.

An estimate is stretched by a quantile of the ratios of what happened to what was drawn, over the
last estimates (conformal prediction). What has not happened yet counts with the time that it has
taken so far (the estimator of Kaplan and Meier 1958): else those that end early would make all
estimates too short. The part of that quantile adapts itself: with each estimate that was not met it
grows, and it shrinks with each that was (adaptive conformal inference, Gibbs and Candes 2021), so
that the coverage comes to what it shall be also where the workload changes.

A floor is added to both sides of a ratio, a part of what it took in the median. Without it one
application that was drawn to start at once, and started after hours, makes a ratio of thousands.
"""

from collections.abc import Sequence
from statistics import median
from typing import Final, NamedTuple

import msgspec

LEAST_OUTCOMES: Final = 20
"""With fewer nothing is stretched."""

MOST_OUTCOMES: Final = 100
RATE: Final = 0.02
FLOOR_MS: Final = 1_000
FLOOR_PART: Final = 0.2
"""Added to both sides of a ratio: so many ms, and at least such a part of the median of what
happened. Of times that are short beside it the difference counts."""


class Outcome(msgspec.Struct, frozen=True):
    """An estimate: what was drawn and what was said (ms; None: beyond the horizon), and after how
    long it happened; `open`: it has not happened for so long. `due`: what was said has passed, so
    that it would be known by now whether it was met."""

    drawn_ms: int | None
    said_ms: int | None
    actual_ms: int
    open: bool = False
    due: bool = True

    @property
    def met(self) -> bool:
        """Whether it was not later than what was said, as far as that is known."""
        return self.said_ms is None or self.actual_ms <= self.said_ms

    def ratio(self, floor_ms: int) -> float:
        """What happened to what was drawn."""
        return (self.actual_ms + floor_ms) / ((self.drawn_ms or 0) + floor_ms)


class Stretch(NamedTuple):
    """What is said of drawn times, from so many `outcomes`."""

    outcomes: int
    factor: float = 1.0
    floor_ms: int = FLOOR_MS

    @property
    def calibrated(self) -> bool:
        """Whether there are enough outcomes to stretch anything."""
        return self.outcomes >= LEAST_OUTCOMES

    def of(self, drawn_ms: int | None) -> int | None:
        """A drawn time that is stretched.

        >>> Stretch(30, 2.0, 1_000).of(9_000), Stretch(30, 2.0).of(None)
        (19000, None)
        """
        if drawn_ms is None:
            return None
        return max(round((drawn_ms + self.floor_ms) * self.factor) - self.floor_ms, 0)


def stretch(part: float, outcomes: Sequence[Outcome]) -> Stretch:
    """How drawn times are to be stretched that shall not be exceeded in such a part of all cases,
    from earlier estimates, in the order in which their outcomes became known.

    >>> late = [Outcome(6_000, 6_000, 20_000)] * 30
    >>> stretch(0.9, late)
    Stretch(outcomes=30, factor=2.4, floor_ms=4000)
    >>> stretch(0.9, late).of(6_000), stretch(0.9, late[:3])
    (20000, Stretch(outcomes=3, factor=1.0, floor_ms=1000))
    """
    known = [one for one in outcomes if one.drawn_ms is not None][-MOST_OUTCOMES:]
    times_ms = [one.actual_ms for one in known if not one.open]
    if len(times_ms) < LEAST_OUTCOMES:
        return Stretch(len(times_ms))
    floor_ms = max(FLOOR_MS, round(FLOOR_PART * median(times_ms)))
    level = part
    for one in known:
        if one.due:  # those that are met early alone would make it too small
            level = min(max(level + RATE * (part - one.met), part / 2), 0.999)
    left, still = len(known), 1.0
    largest = 1.0
    for one in sorted(known, key=lambda one: (one.ratio(floor_ms), one.open)):
        largest = one.ratio(floor_ms)
        if not one.open:
            still *= 1 - 1 / left
            if 1 - still >= level:
                break
        left -= 1
    return Stretch(len(times_ms), largest, floor_ms)
