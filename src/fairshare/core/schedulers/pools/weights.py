"""A job's weight: size, priority, and the result of an adjuster (Hadoop: WeightAdjuster).

Other packages add adjusters with `register`; this module does not know where they come from.
"""

from math import log2
from typing import Protocol, runtime_checkable

import msgspec

from fairshare.core.schedulers.pools.jobs import Job
from fairshare.core.schedulers.pools.settings import (
    NO_ADJUSTER,
    NORMAL,
    PRIORITIES,
    SLOTS,
    PoolsSettings,
)
from fairshare.core.schedulers.pools.tree import pool_of

BOOSTER = "new-job-weight-booster"


class JobFacts(msgspec.Struct, frozen=True):
    """The values passed to an adjuster. `slots` is `map-slots` or `reduce-slots`; times are ms."""

    application: int
    name: str
    user: str
    pool: str
    priority: str  # VERY_LOW to VERY_HIGH
    slots: str
    tasks: int  # running and to start
    submitted_ms: int
    first_task_ms: int | None
    properties: dict[str, str]


@runtime_checkable
class WeightAdjuster(Protocol):
    """Changes a job's weight. Must be a pure function: the same arguments give the same result."""

    name: str

    def adjust(self, job: JobFacts, weight: float, now_ms: int) -> float:
        """The adjusted weight; 0 or more."""


ADJUSTERS: dict[str, WeightAdjuster] = {}
"""Adjusters of installed packages by name; the booster is built in."""


def register(adjuster: WeightAdjuster) -> None:
    """Register an adjuster under its name."""
    ADJUSTERS[adjuster.name] = adjuster


def size_weight(tasks: int) -> float:
    """`log2(1 + tasks)`: the weight of a job with this many tasks
    (Hadoop: FairScheduler.getJobWeight).

    >>> size_weight(3), size_weight(0)
    (2.0, 0.0)
    """
    return log2(1.0 + tasks)


def boosted(weight: float, age_ms: int, factor: float, duration_ms: int) -> float:
    """The weight of a job of this age: `factor` times as much while it is new
    (Hadoop: NewJobWeightBooster).

    >>> boosted(2.0, 299_999, 3.0, 300_000), boosted(2.0, 300_000, 3.0, 300_000)
    (6.0, 2.0)
    """
    return weight * factor if age_ms < duration_ms else weight


def priority_name(priority: int) -> str:
    """`priority_name(5) == "VERY_HIGH"`."""
    return PRIORITIES[(priority or NORMAL) - 1]


def raw_weight(settings: PoolsSettings, job: Job, kind: int, tasks: int, now_ms: int) -> float:
    """The weight of a runnable job, for map or reduce slots.

    Example: 3 tasks, weighed by size, priority HIGH: log2(4) * 2 = 4.
    """
    weight = size_weight(tasks) if settings.size_based_weight else 1.0
    weight *= settings.priority_factors[(job.priority or NORMAL) - 1]
    name = settings.weight_adjuster
    if name == NO_ADJUSTER:
        return weight
    if name == BOOSTER:
        since_ms = _boosted_since_ms(settings, job)
        age_ms = 0 if since_ms is None else now_ms - since_ms
        return boosted(weight, age_ms, settings.booster_factor, settings.booster_duration_ms)
    facts = JobFacts(
        application=job.id,
        name=job.submission.name,
        user=job.user,
        pool=pool_of(job.queue),
        priority=priority_name(job.priority),
        slots=SLOTS[kind],
        tasks=tasks,
        submitted_ms=job.submitted_ms,
        first_task_ms=job.first_task_ms,
        properties=dict(job.submission.properties),
    )
    adjusted = ADJUSTERS[name].adjust(facts, weight, now_ms)
    # Whatever a foreign adjuster returns, weights must stay ordered.
    return adjusted if adjusted > 0.0 else 0.0


def steady_until_ms(settings: PoolsSettings, job: Job, now_ms: int) -> int | None:
    """When a job's weight may change with time alone; None: never.

    A foreign adjuster may change its result at any time: in the next millisecond.
    """
    if settings.weight_adjuster == NO_ADJUSTER:
        return None
    if settings.weight_adjuster != BOOSTER:
        return now_ms + 1
    since_ms = _boosted_since_ms(settings, job)
    if since_ms is None or now_ms >= since_ms + settings.booster_duration_ms:
        return None
    return since_ms + settings.booster_duration_ms


def _boosted_since_ms(settings: PoolsSettings, job: Job) -> int | None:
    return job.first_task_ms if settings.boost_from == "first-task" else job.submitted_ms
