"""Owns how long calls of each function take, and what follows for the containers that they share.

Pure: no clock, no server.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil

SAMPLES = 10
"""So many calls weigh as much as the one that ended last, times so many."""

MOST_FUNCTIONS = 100
"""The functions that are remembered: the last ones whose calls have ended."""

LONG_S = 1.0
"""Calls that take so long get containers of their own."""

SHARE_S = 0.5
"""So much work is worth a worker."""

LIFE_S = 5.0
"""So long a worker takes calls, before the scheduler decides again who gets its container."""

PROBES = 8
"""The workers for calls of a function that is not known yet."""


class Durations:
    """The mean duration of calls of each function, in seconds."""

    def __init__(self) -> None:
        self._means: dict[bytes, tuple[float, int]] = {}

    def add(self, function: bytes, seconds: float) -> None:
        """A call of a function has ended."""
        mean, samples = self._means.pop(function, (0.0, 0))
        samples = min(samples + 1, SAMPLES)
        self._means[function] = mean + (seconds - mean) / samples, samples
        while len(self._means) > MOST_FUNCTIONS:
            del self._means[next(iter(self._means))]

    def estimate(self, function: bytes, running_s: Iterable[float] = ()) -> float | None:
        """How long a call takes; None if that is unknown. Calls that run for longer than the mean
        count as if they ended now.

        >>> durations = Durations()
        >>> durations.add(b"f", 0.25)
        >>> durations.estimate(b"f", [0.1, 0.75])
        0.5
        """
        mean, samples = self._means.get(function, (0.0, 0))
        longer = [seconds for seconds in running_s if seconds > mean]
        if not samples and max(longer, default=0.0) < SHARE_S:
            return None
        return (mean * samples + sum(longer)) / (samples + len(longer))


def workers_wanted(waiting: Mapping[bytes, int], estimates: Mapping[bytes, float | None]) -> int:
    """How many workers the waiting calls of each function are worth: one for SHARE_S of work, but
    no more than calls, and at most PROBES for calls of unknown length.

    >>> workers_wanted({b"f": 2_000, b"g": 3}, {b"f": 0.001, b"g": 4.0})
    7
    """
    return sum(
        min(count, PROBES)
        if (seconds := estimates[function]) is None
        else min(count, max(1, ceil(count * seconds / SHARE_S)))
        for function, count in waiting.items()
    )


def lives_wanted(waiting: Mapping[bytes, int], estimates: Mapping[bytes, float | None]) -> int:
    """How many workers one after the other the waiting calls need, each for LIFE_S."""
    work_s = sum(count * (estimates[function] or 0.0) for function, count in waiting.items())
    return ceil(work_s / LIFE_S)


def by_function(
    functions: Sequence[bytes], chosen: Callable[[bytes], bool] = lambda function: True
) -> dict[bytes, int]:
    """How many there are of each function.

    >>> by_function([b"f", b"g", b"f"])
    {b'f': 2, b'g': 1}
    """
    counts: dict[bytes, int] = {}
    for function in functions:
        if chosen(function):
            counts[function] = counts.get(function, 0) + 1
    return counts
