"""What preemption owes to an application that waits below its share: the queues that have more than
their share, and what keeps preemption from taking it from them.

A scheduler fills it in for one application (`Limits.preemption`); `insight` turns it into words.
"""

import enum
from collections.abc import Iterable

import msgspec

from fairshare.core.model.resources import Resource

PREEMPTED = "Container preempted by scheduler"
"""The diagnostics of a preempted container."""


class Obstacle(enum.StrEnum):
    """What keeps preemption from serving an application now. The first that applies is reported."""

    NONE = "none"
    """Preemption works for it: it selects containers at its next rounds, as far as its rules
    allow."""
    OFF = "off"
    OBSERVE_ONLY = "observe-only"
    """The monitor selects containers, and kills none."""
    UTILIZATION = "utilization-below-threshold"
    """The cluster is used by `percent`, and preemption begins above `threshold_percent`."""
    NO_TIMEOUT = "no-timeout"
    """No timeout of its queue or the queues above ends, so that it never counts as starved."""
    ABOVE_THRESHOLD = "above-starvation-threshold"
    """It counts as starved below `threshold_percent` of its share."""
    SMALL_DEFICIT = "small-deficit"
    """What it lacks of `threshold_percent` of its share, or its queue of its minimum, is less than
    one container."""
    NO_QUEUE_ABOVE = "no-queue-above"
    """No other has more than its share."""
    PROTECTED = "protected"
    """All queues above their share are exempt from preemption."""
    SMALL_EXCESS = "small-excess"
    """All queues above their share are so by at most `threshold_percent`, which is tolerated."""
    NOT_YET = "timeout-not-over"
    """It counts as starved from `due_ms` on."""


class Entitlement(enum.StrEnum):
    """What a share is."""

    FAIR_SHARE = "fair-share"
    """Of one application, in YARN's Fair Scheduler."""
    GUARANTEED_CAPACITY = "guaranteed-capacity"
    """Of a queue of the Capacity Scheduler."""
    POOL_SHARE = "pool-share"
    """The fair share of a pool, in slots of one kind."""


class Excess(msgspec.Struct, frozen=True):
    """A leaf queue that has more than its share, by `amount`."""

    queue: str
    amount: Resource


class Preemption(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What preemption owes to an application in `queue`: it, or its queue, uses `used` of
    `share`. `above` has the leaf queues with the largest excess; `above_count` have one."""

    obstacle: Obstacle
    entitlement: Entitlement
    queue: str
    used: Resource
    share: Resource
    above: tuple[Excess, ...] = ()
    above_count: int = 0
    percent: float = 0.0
    threshold_percent: float = 0.0
    due_ms: int = 0


MOST_ABOVE = 3
"""The maximum number of queues that `above` names."""


def largest_excesses(excesses: Iterable[tuple[str, Resource]]) -> tuple[Excess, ...]:
    """The queues that are the farthest above their share, by the first type that differs."""
    ordered = sorted(excesses, key=lambda one: (tuple(-part for part in one[1]), one[0]))
    return tuple(Excess(queue, amount) for queue, amount in ordered[:MOST_ABOVE])
