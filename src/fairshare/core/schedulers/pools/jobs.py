"""Owns an attempt of a job, the values of each kind of task of a job or pool, and the count of a
job's tasks: those it still needs, and whether its reduces may start. Decides nothing.

`Slots` has the values of the last update, except the running tasks, which are always current. Each
generation counts in its own way (Hadoop: FairScheduler.updateTaskCounts,
JobSchedulable.updateDemand).
"""

from math import ceil

from fairshare.core.model.applications import Application
from fairshare.core.model.asks import AskKey
from fairshare.core.model.attempts import Attempt
from fairshare.core.model.events import Locality
from fairshare.core.schedulers.pools.settings import MAP, REDUCE, PoolsSettings


class Slots:
    """One kind of task, map or reduce, of one job or pool.

    `demand` (running and to start), `needed` (to start) and `running` are counts of tasks; `min` is
    the part of its pool's minimum that a job was given; `deficit` is in slot-milliseconds. A pool's
    times are when it last had its minimum, and half of its fair share.
    """

    __slots__ = (
        "at_half_share_ms",
        "at_min_share_ms",
        "deficit",
        "demand",
        "fair_share",
        "min",
        "needed",
        "running",
        "weight",
    )

    def __init__(self) -> None:
        self.demand = 0
        self.needed = 0
        self.running = 0
        self.min = 0
        self.weight = 0.0
        self.deficit = 0
        self.fair_share = 0.0
        self.at_min_share_ms = 0
        self.at_half_share_ms = 0

    @property
    def wanted(self) -> int:
        """Tasks to start and started, as the deficit scheduler counts them."""
        return self.needed + self.running


class Job(Attempt):
    """The current attempt of an application, as the pool scheduler sees it.

    `limits` and `slow_start` come from its properties: how many tasks of a kind may run, and which
    part of the maps must have finished before reduces start. `finished` counts its successful
    tasks. `initialized`: its tasks have been created. `unlocated`: some map names no place. The
    rest belongs to delay scheduling (Hadoop: LocalityLevel): the level of the last map that was
    started, how long the job has waited since, and whether the last heartbeat passed it over.
    """

    __slots__ = (
        "finished",
        "first_task_ms",
        "initialized",
        "level",
        "limits",
        "passed_over",
        "slots",
        "slow_start",
        "unlocated",
        "waited_ms",
    )

    limits: tuple[int, int]
    slow_start: float

    def __init__(self, application: Application, number: int, types: int) -> None:
        super().__init__(application, number, types)
        self.slots = (Slots(), Slots())
        self.finished = [0, 0]
        self.first_task_ms: int | None = None
        self.initialized = False
        self.unlocated = False
        self.level = Locality.NODE_LOCAL
        self.waited_ms = 0
        self.passed_over = False

    @property
    def queue(self) -> str:
        """The queue of its pool."""
        return self.application.queue

    @property
    def priority(self) -> int:
        """1 (VERY_LOW) to 5 (VERY_HIGH)."""
        return self.application.priority

    @property
    def submitted_ms(self) -> int:
        """The instant of the submission."""
        return self.application.submitted_ms

    @property
    def running(self) -> bool:
        """Whether it can be given slots (a limit may still hold it back): its tasks have been
        created, or it needs one for its master."""
        return self.active and (self.registered or self.managed)

    @property
    def preparing(self) -> bool:
        """Whether it waits for its tasks to be created."""
        return self.active and not self.running

    def pending_keys(self, place: int) -> list[AskKey]:
        """The asks for slots at this place in a vector, in the order of service."""
        return [
            key
            for key in self.asks.wanting
            if key.anywhere is not None and key.anywhere.resource[place]
        ]

    def pending(self, place: int) -> int:
        """How many tasks are to be started on slots at this place in a vector."""
        return sum(key.anywhere.count for key in self.pending_keys(place) if key.anywhere)


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
