"""Owns a pool, and the pools inside it. Decides nothing.

The root is a pool, too: the cluster, which contains the other pools. Without nesting no other pool
contains pools.
"""

from fairshare.model.identifiers import ApplicationId
from fairshare.model.queues import ROOT, Queue
from fairshare.schedulers.pools.jobs import Job, Slots
from fairshare.schedulers.pools.settings import Mode

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
