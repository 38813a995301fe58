"""Owns the count of a job's tasks: those it still needs, and whether its reduces may start.

Both generations count here, each in its own way (Hadoop: FairScheduler.updateTaskCounts,
JobSchedulable.updateDemand).
"""

from math import ceil

from fairshare.schedulers.pools.jobs import Job
from fairshare.schedulers.pools.settings import MAP, REDUCE, PoolsSettings

WAIT_FOR_MAPS = 0.05
"""The part of the maps for which the reduces of 0.20 wait."""


def maps_suffice(maps: int, finished: int, *, strict: bool) -> bool:
    """Whether the reduces of a job of 0.20 may start: `finished >= max(1, 0.05 * maps)`.

    A job without maps counts as having finished them, unless `strict`. Example: of 21 maps one is
    not enough.
    """
    if maps == 0 and not strict:
        return True
    return finished >= max(1.0, WAIT_FOR_MAPS * maps)


def to_start(settings: PoolsSettings, job: Job, places: tuple[int, int]) -> tuple[int, int]:
    """How many maps and reduces of a runnable job are to be started now.

    `places` are those of the slots in a vector. A limit on the job's tasks reduces its demand.
    """
    waiting = [job.pending(place) for place in places]
    if not reduces_may_start(settings, job, waiting[MAP], places):
        waiting[REDUCE] = 0
    limited = [
        max(0, min(count, limit - job.used[place]))
        for count, limit, place in zip(waiting, job.limits, places, strict=True)
    ]
    return limited[MAP], limited[REDUCE]


def reduces_may_start(
    settings: PoolsSettings, job: Job, maps_waiting: int, places: tuple[int, int]
) -> bool:
    """Whether enough maps have finished."""
    if settings.generation == "0.19":
        return True
    finished = job.finished[MAP]
    maps = maps_waiting + job.used[places[MAP]] + finished
    if settings.generation == "0.20":
        return not settings.wait_for_maps or maps_suffice(maps, finished, strict=settings.strict)
    return finished >= ceil(job.slow_start * maps)
