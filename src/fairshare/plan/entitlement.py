"""Owns which part of their entitlements the queues received in one simulation.

A queue is entitled to the smaller of its demand and its fair share, as in the reports of
simulations. What it uses beyond that at a time does not make up for what it lacks at another.
Knows neither records nor the scheduler: `simulate.collection` makes the intervals.
"""

from collections.abc import Sequence

import msgspec

from fairshare.model.resources import Resource, add, smallest, total
from fairshare.simulate.levels import KINDS, divided
from fairshare.simulate.usage import Interval

_ENTITLED = KINDS.index("entitled")


class Received(msgspec.Struct, frozen=True):
    """The parts of entitlements that were received, from 0 to 1, by queue and of all together.
    Queues that were entitled to nothing have none."""

    queues: dict[str, float] = {}
    whole: float | None = None


def received(intervals: Sequence[Interval], none: Resource) -> Received:
    """What was received in all intervals of a run together; `none` is the vector of zeros."""
    due: dict[str, Resource] = {}
    had: dict[str, Resource] = {}
    for interval in intervals:
        for queue, levels in interval.shares.items():
            entitled = list(divided(levels))[_ENTITLED]
            used = smallest(entitled, interval.used.get(queue, none))
            due[queue] = add(due.get(queue, none), entitled)
            had[queue] = add(had.get(queue, none), used)
    offered = total((one.total for one in intervals), len(none))
    parts = {queue: part_of(had[queue], due[queue], offered) for queue in due}
    whole = part_of(total(had.values(), len(none)), total(due.values(), len(none)), offered)
    return Received({name: part for name, part in parts.items() if part is not None}, whole)


def part_of(had: Resource, due: Resource, offered: Resource) -> float | None:
    """The part of what was due that was had, of the resource of which the largest part of the
    cluster was due; None if nothing was.

    Half the cluster's memory and a tenth of its vcores are due, so memory counts:

    >>> part_of((25, 10), (50, 10), (100, 100))
    0.5
    """
    parts = [
        (amount / whole, received / amount)
        for received, amount, whole in zip(had, due, offered, strict=True)
        if amount and whole
    ]
    return max(parts, key=lambda one: one[0])[1] if parts else None
