"""Estimates that are stretched to what came of earlier ones, so that of their P90 nine of ten are
met, whatever the draws are worth.

An estimate is stretched by a quantile of the ratios of what happened to what was drawn, over the
last estimates (conformal prediction). What has not happened yet counts with the time that it has
taken so far (the estimator of Kaplan and Meier 1958): else those that end early would make all
estimates too short. The part of that quantile adapts itself: with each estimate that was not met it
grows, and it shrinks with each that was (adaptive conformal inference, Gibbs and Candes 2021), so
that the coverage comes to what it shall be also where the workload changes.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

LEAST_OUTCOMES: Final = 20
"""With fewer nothing is stretched."""

MOST_OUTCOMES: Final = 100
RATE: Final = 0.02
FLOOR_MS: Final = 1_000
"""Added to both sides of a ratio: of short times the difference counts."""


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

    @property
    def ratio(self) -> float:
        """What happened to what was drawn."""
        return (self.actual_ms + FLOOR_MS) / ((self.drawn_ms or 0) + FLOOR_MS)


def stretch(part: float, outcomes: Sequence[Outcome]) -> float:
    """By what drawn times are to be multiplied that shall not be exceeded in such a part of all
    cases, from earlier estimates, in the order in which their outcomes became known.

    >>> late = [Outcome(9_000, 9_000, 19_000)] * 30
    >>> stretch(0.9, late)
    2.0
    """
    known = [one for one in outcomes if one.drawn_ms is not None][-MOST_OUTCOMES:]
    if sum(not one.open for one in known) < LEAST_OUTCOMES:
        return 1.0
    level = part
    for one in known:
        if one.due:  # those that are met early alone would make it too small
            level = min(max(level + RATE * (part - one.met), part / 2), 0.999)
    left, still = len(known), 1.0
    largest = 1.0
    for one in sorted(known, key=lambda one: (one.ratio, one.open)):
        largest = one.ratio
        if not one.open:
            still *= 1 - 1 / left
            if 1 - still >= level:
                break
        left -= 1
    return largest


def stretched(drawn_ms: int | None, factor: float) -> int | None:
    """A drawn time that is multiplied by a factor.

    >>> stretched(9_000, 2.0), stretched(None, 2.0)
    (19000, None)
    """
    if drawn_ms is None:
        return None
    return max(round((drawn_ms + FLOOR_MS) * factor) - FLOOR_MS, 0)
