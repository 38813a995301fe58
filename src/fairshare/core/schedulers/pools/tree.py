"""Owns the pools, and pools inside them, and the other data of the pool scheduler's state; only
events change it (`state.py`). Decides nothing.

The root is a pool, too: the cluster, which contains the other pools. Without nesting no other pool
contains pools.
"""

from fairshare.core.model.applications import Application
from fairshare.core.model.events import ContainerAllocated
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.queues import ROOT, Queue
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.state import ClusterState
from fairshare.core.schedulers.pools.jobs import Job, Slots
from fairshare.core.schedulers.pools.settings import (
    MAP,
    MAP_SLOTS,
    REDUCE,
    REDUCE_SLOTS,
    Mode,
    PoolsSettings,
)

PREFIX = ROOT + "."


def queue_of(pool: str) -> str:
    """The queue of a pool: `queue_of("production") == "root.production"`."""
    return PREFIX + pool


def pool_of(queue: str) -> str:
    """The pool of a queue, written with or without root: `pool_of("root.a") == "a"`."""
    return queue.removeprefix(PREFIX)


class Pool(Queue[Job]):
    """One pool. `jobs` include those ended since the last update, `applications` only the live
    ones.

    `mode` is stored here and not in the settings: a pool that the file does not name keeps its
    initial mode (Hadoop: PoolManager.reloadAllocs).
    """

    __slots__ = ("jobs", "mode", "parent", "parts", "slots")

    def __init__(self, name: str, dynamic: bool, parent: "Pool | None", types: int) -> None:
        super().__init__(name, True, dynamic, types)
        self.parent = parent
        self.parts: list[Pool] = []
        self.jobs: dict[ApplicationId, Job] = {}
        self.mode: Mode = "fair"
        self.slots = (Slots(), Slots())
        if parent is not None:
            parent.parts.append(self)
            parent.leaf = False

    @property
    def pool(self) -> str:
        """Its name in the pools file."""
        return pool_of(self.name)

    @property
    def path(self) -> "tuple[Pool, ...]":
        """The pool and all pools around it, root last."""
        found: list[Pool] = [self]
        while (parent := found[-1].parent) is not None:
            found.append(parent)
        return tuple(found)

    def all_jobs(self) -> list[Job]:
        """Its jobs and those of all pools inside."""
        found = list(self.jobs.values())
        for part in self.parts:
            found += part.all_jobs()
        return found


class PoolsCluster(ClusterState[Pool, Job]):
    """The cluster as the pool scheduler sees it.

    `places` are those of map slots and reduce slots in a vector. `jobs` are the live ones, and
    those that have ended since the last update. `changed`: an update would compute other values;
    `arrived`: a job was added for which no update has run yet. `beat_ms` is the last heartbeat of
    any node that passed a job over, `checked_ms` the last check of the preemption. `given` has the
    limits on tasks and the slow start of each application that is not over, by the settings at its
    submission.
    """

    def __init__(self, types: ResourceTypes) -> None:
        super().__init__(types)
        self.settings = PoolsSettings(types=types)
        self.places = (types.names.index(MAP_SLOTS), types.names.index(REDUCE_SLOTS))
        self.root = Pool(ROOT, False, None, len(self.none))
        self.jobs: dict[ApplicationId, Job] = {}
        self.given: dict[ApplicationId, tuple[tuple[int, int], float]] = {}
        self.waiting: dict[ApplicationId, Job] = {}  # those that the last heartbeat passed over
        self.delays_ms = (0, 0)
        self.changed = False
        self.arrived = False
        self.updated_ms = 0
        self.beat_ms = 0
        self.checked_ms = 0

    def new_attempt(self, application: Application, number: int) -> Job:
        """An attempt of a job."""
        job = Job(application, number, len(self.none))
        job.limits, job.slow_start = self.given[application.id]
        return job

    def ancestry(self, queue: str) -> tuple[Pool, ...]:
        """A pool and all pools around it."""
        return self.queues[queue].path

    def kind_of(self, event: ContainerAllocated) -> int:
        """Whether a container is a map or a reduce."""
        return MAP if event.resource[self.places[MAP]] else REDUCE
