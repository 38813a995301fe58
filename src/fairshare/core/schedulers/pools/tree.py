"""The pools, and pools inside them; the other data of the pool scheduler's state, which only events
change (`state.py`); and the limits on running jobs of users and pools (Hadoop:
FairScheduler.updateRunnability), and on the tasks of one pool.

The root is a pool, too: the cluster, which contains the other pools. Without nesting no other pool
contains pools.
"""

from typing import TYPE_CHECKING

from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.queues import ROOT, Queue
from fairshare.core.model.resources import NO_LIMIT
from fairshare.core.schedulers.pools.jobs import Job, Slots
from fairshare.core.schedulers.pools.settings import Mode

if TYPE_CHECKING:
    from fairshare.core.schedulers.pools.state import PoolsState

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
        pools: list[Pool] = [self]
        while (parent := pools[-1].parent) is not None:
            pools.append(parent)
        return tuple(pools)

    def all_jobs(self) -> list[Job]:
        """Its jobs and those of all pools inside."""
        jobs = list(self.jobs.values())
        for part in self.parts:
            jobs += part.all_jobs()
        return jobs


def first_come(job: Job) -> tuple[int, int, int]:
    """The order of first come, first served: the highest priority first, then by start
    (Hadoop: FifoJobComparator)."""
    return -job.priority, job.submitted_ms, job.id


def admit(state: "PoolsState") -> None:
    """Compute which jobs may run; a job that may not does not hold up others.

    In 1.2 jobs in preparation count towards the limits, too, and are initialized when admitted.
    """
    settings = state.settings
    later = not settings.deficits
    users: dict[str, int] = {}
    pools: dict[str, int] = {}
    for job in sorted(state.jobs.values(), key=first_come):
        job.runnable = False
        if not (job.running or (later and job.preparing)):
            continue
        pool = state.queues[job.queue]
        around = [part for part in pool.path if part.parent is not None]
        if users.get(job.user, 0) >= settings.user_max_running_jobs(job.user):
            continue
        if any(pools.get(p.name, 0) >= settings.max_running_jobs(p.pool) for p in around):
            continue
        users[job.user] = users.get(job.user, 0) + 1
        for part in around:
            pools[part.name] = pools.get(part.name, 0) + 1
        job.runnable = job.running
        job.initialized = True


def pool_limit(state: "PoolsState", pool: "Pool", kind: int) -> int:
    """How many tasks of a kind a pool may run at once; only 1.2 has a limit."""
    if state.settings.deficits or pool.parent is None:
        return NO_LIMIT
    return state.settings.allocation(pool.pool).max_share[kind]
