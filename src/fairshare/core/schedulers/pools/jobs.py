"""A job: the values of each kind of task, the count of its tasks (those it still needs, and whether
its reduces may start), and how far from its data it may start a map now.

`Slots` has the values of the last update, except the running tasks, which are always current. Each
generation counts in its own way (Hadoop: FairScheduler.updateTaskCounts,
JobSchedulable.updateDemand, FairScheduler.getAllowedLocalityLevel).
"""

from collections.abc import Callable
from math import ceil
from typing import ClassVar

from fairshare.core.model.applications import Application, Attempt
from fairshare.core.model.asks import AskKey
from fairshare.core.model.events import Locality
from fairshare.core.model.nodes import Node
from fairshare.core.model.resources import Resource, fits
from fairshare.core.schedulers.base import level_of
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

    matters_ended: ClassVar[bool] = True

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


LONGEST_DELAY_MS = 15_000
_DELAY_PART = 1.5


def allowed_level(last: Locality, waited_ms: int, node_ms: int, rack_ms: int) -> Locality:
    """The locality allowed to a job that last started a map at level `last` and has waited since
    then.

    >>> allowed_level(Locality.NODE_LOCAL, 5000, 5000, 10_000).name
    'RACK_LOCAL'
    """
    if last == Locality.OFF_SWITCH:
        return last
    if last == Locality.RACK_LOCAL:
        return Locality.OFF_SWITCH if waited_ms >= rack_ms else Locality.RACK_LOCAL
    if waited_ms >= node_ms + rack_ms:
        return Locality.OFF_SWITCH
    return Locality.RACK_LOCAL if waited_ms >= node_ms else Locality.NODE_LOCAL


def heartbeat_interval_ms(settings: PoolsSettings, nodes: int) -> int:
    """The master's heartbeat interval for the nodes of such a cluster
    (Hadoop: JobTracker.getNextHeartbeatInterval).

    Example: 301 nodes: 7 s in 0.19, 4 s in 0.20, 3.01 s in 1.2.
    """
    if settings.generation == "0.19":
        return max(5_000, 1_000 * (nodes // 50 + 1))
    if settings.generation == "0.20":
        return max(3_000, 1_000 * -(-nodes // 100))
    per_second = max(1, settings.heartbeats_per_second)
    return max(300, int(1_000 * settings.heartbeat_scaling * nodes / per_second))


def delays_ms(settings: PoolsSettings, nodes: int) -> tuple[int, int]:
    """The delays for node and rack locality that are in force
    (`mapred.fairscheduler.locality.delay`).

    A common delay of -1 follows the heartbeat interval, and then applies to both, even when only
    one of the two has a value of its own. With both set it is ignored.
    """
    common = settings.locality_delay_ms
    node, rack = settings.locality_delay_node_ms, settings.locality_delay_rack_ms
    node_ms, rack_ms = (common if own is None else own for own in (node, rack))
    if common == -1 and -1 in (node_ms, rack_ms):
        automatic = int(heartbeat_interval_ms(settings, nodes) * _DELAY_PART)
        return (min(LONGEST_DELAY_MS, automatic),) * 2
    return node_ms, rack_ms


def nearest(
    job: Job,
    place: int,
    node: Node,
    farthest: Locality = Locality.OFF_SWITCH,
    refused: Callable[[Job, AskKey, Resource], bool] | None = None,
) -> tuple[AskKey, Locality] | None:
    """The ask of a job that a node serves at the best locality, up to a level; among equals the
    first. None that is `refused`.

    A more urgent ask (`priority`) goes before a nearer one.
    """
    if node.host in job.blacklist or node.rack in job.blacklist:
        return None
    best: tuple[AskKey, Locality] | None = None
    here_only, name, rack = farthest == Locality.NODE_LOCAL, node.host, node.rack
    size: Resource | None = None
    fit = False
    for key in job.asks.wanting:
        # A large job has an ask for each block of its data, and most are elsewhere.
        if here_only and name not in key.places:
            continue
        if best is not None:
            if key.order[0] != best[0].order[0] or not best[1]:
                break
            if name not in key.places and rack not in key.places:
                continue  # it is not nearer
        ask = key.anywhere
        if ask is None or not ask.resource[place]:
            continue
        if ask.resource != size:
            size, fit = ask.resource, fits(ask.resource, node.available)
        if not fit or (refused is not None and refused(job, key, ask.resource)):
            continue
        level = level_of(key, node)
        if level is not None and level <= farthest and (best is None or level < best[1]):
            best = key, level
    return best
