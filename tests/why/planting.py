"""Situations: clusters with limits and obstacles, what is expected of them, and how each is lifted.

An application of ann's has three containers of 1 GB. A second one, also ann's and in the same
queue, waits for two. Each limit is such that the first application reaches it.
"""

from collections.abc import Callable, Mapping
from itertools import combinations

import msgspec
from tests.unit.core.schedulers.waiting import Cluster

from fairshare.core.model.inputs import (
    ChangeBlacklist,
    DrainNode,
    HoldApplication,
    KillApplication,
    LoadConfiguration,
    ReleaseApplication,
    SetSafeMode,
    UndrainNode,
)
from fairshare.core.model.work import TaskGroup
from fairshare.core.schedulers.capacity.settings import Amount as CapacityAmount
from fairshare.core.schedulers.capacity.settings import CapacitySettings, Percentage, Vector
from fairshare.core.schedulers.capacity.settings import QueueSettings as CapacityQueue
from fairshare.core.schedulers.fair.settings import (
    AllocationSettings,
    Amount,
    FairSettings,
    QueueSettings,
)
from fairshare.core.schedulers.fifo import FifoSettings
from fairshare.core.schedulers.pools.settings import PoolAllocation, PoolAllocations, PoolsSettings
from fairshare.core.schedulers.reasons import Cause

LARGE = (65_536, 64)
NODES = (("n1", (8192, 8)), ("n2", (8192, 8)))


class Planted(msgspec.Struct, frozen=True):
    """A limit or an obstacle: the cause that must be named, of which queue, with which words."""

    cause: Cause
    queue: str = ""
    words: str = ""


FAIR = {
    "queue maximum": Planted(Cause.QUEUE_MAXIMUM, "root.p.a", "maximum of 3,072 MB, 8 vcores"),
    "parent maximum": Planted(Cause.QUEUE_MAXIMUM, "root.p", "maximum of 3,072 MB, 8 vcores"),
    "queue applications": Planted(Cause.QUEUE_APPLICATIONS, "root.p.a", "runs 1 application"),
    "parent applications": Planted(Cause.QUEUE_APPLICATIONS, "root.p", "runs 1 application"),
    "user applications": Planted(Cause.USER_APPLICATIONS, "", "ann has 1 application running"),
}
CAPACITY = {
    "queue maximum": Planted(Cause.QUEUE_MAXIMUM, "root.p.a", "maximum of 3,072 MB"),
    "parent maximum": Planted(Cause.QUEUE_MAXIMUM, "root.p", "maximum of 3,072 MB"),
    "user limit": Planted(Cause.USER_LIMIT, "root.p.a", "ann has 3,072 MB"),
    "queue applications": Planted(Cause.QUEUE_APPLICATIONS, "root.p.a", "runs 1 application"),
    "parent applications": Planted(Cause.QUEUE_APPLICATIONS, "root.p", "runs 1 application"),
    "user applications": Planted(Cause.USER_APPLICATIONS, "", "ann has 1 application running"),
}
POOLS = {
    "pool jobs": Planted(Cause.QUEUE_APPLICATIONS, "root.a", "runs 1 application"),
    "user jobs": Planted(Cause.USER_APPLICATIONS, "", "ann has 1 application running"),
}
OBSTACLES = {
    "no room": Planted(Cause.NO_ROOM, "", "No node"),
    "drained": Planted(Cause.NO_ROOM, "", "n2 has room, and is being drained"),
    "blacklist": Planted(Cause.NO_ROOM, "", "n2 has room, and its master refuses it"),
}
ALONE = {
    "held": Planted(Cause.HELD, "", "It is held."),
    "safe mode": Planted(Cause.SAFE_MODE, "", "safe mode"),
    "all drained": Planted(Cause.NODES_DRAINED, "", "being drained"),
}
"""What hides all other reasons while it lasts."""


def _fair(limits: Mapping[str, Planted]) -> FairSettings:
    def most(name: str) -> Amount | None:
        return Amount(absolute=(3072, 8)) if f"{name} maximum" in limits else None

    def count(name: str) -> int | None:
        return 1 if f"{name} applications" in limits else None

    queues = (
        QueueSettings(
            "root.p",
            parent=True,
            max_share=most("parent"),
            max_running_applications=count("parent"),
        ),
        QueueSettings("root.p.a", max_share=most("queue"), max_running_applications=count("queue")),
        QueueSettings("root.b"),
    )
    users = {"ann": 1} if "user applications" in limits else {}
    return FairSettings(
        maximum_allocation=LARGE,
        allocations=AllocationSettings(
            queues={one.name: one for one in queues}, user_max_applications=users
        ),
    )


def _amounts(memory_mb: int, vcores: int) -> Vector:
    return Vector((CapacityAmount(memory_mb), CapacityAmount(vcores)))


def _capacity(limits: Mapping[str, Planted]) -> CapacitySettings:
    """Capacities are amounts, which a drained node does not change."""

    def most(name: str) -> Vector | None:
        return _amounts(3072, 8) if f"{name} maximum" in limits else None

    def count(name: str) -> int | None:
        return 1 if f"{name} applications" in limits else None

    # A user gets one container more than fits into its limit of 2 GB.
    factor = 2.0 if "user limit" in limits else 100.0
    queues = {
        "root": CapacityQueue(children=("p", "b"), capacity=Percentage(100.0)),
        "root.p": CapacityQueue(
            children=("a",),
            capacity=_amounts(1024, 1),
            maximum_capacity=most("parent"),
            maximum_parallel_applications=count("parent"),
        ),
        "root.p.a": CapacityQueue(
            capacity=_amounts(1024, 1),
            maximum_capacity=most("queue"),
            maximum_master_share=1.0,
            user_limit_factor=factor,
            maximum_parallel_applications=count("queue"),
        ),
        "root.b": CapacityQueue(
            capacity=_amounts(6144, 6), maximum_master_share=1.0, user_limit_factor=100.0
        ),
    }
    users = {"ann": 1} if "user applications" in limits else {}
    return CapacitySettings(
        queues=queues, maximum_allocation=LARGE, users_maximum_parallel_applications=users
    )


def _pools(limits: Mapping[str, Planted]) -> PoolsSettings:
    pool = PoolAllocation("a", max_running_jobs=1 if "pool jobs" in limits else None)
    users = {"ann": 1} if "user jobs" in limits else {}
    allocations = PoolAllocations(pools={"a": pool}, user_max_jobs=users)
    return PoolsSettings(allocations=allocations)


SETTINGS: Mapping[str, Callable[[Mapping[str, Planted]], object]] = {
    "fair": _fair,
    "capacity": _capacity,
    "fifo": lambda _: FifoSettings(),
    "pools": _pools,
}
LIMITS: Mapping[str, Mapping[str, Planted]] = {
    "fair": FAIR,
    "capacity": CAPACITY,
    "fifo": {},
    "pools": POOLS,
}
QUEUES = {"fair": "root.p.a", "capacity": "root.p.a", "fifo": "root.a", "pools": "root.a"}


class Situation(msgspec.Struct, frozen=True):
    """One scheduler, and what is planted, by name."""

    scheduler: str
    names: tuple[str, ...]

    @property
    def planted(self) -> dict[str, Planted]:
        """All that is planted."""
        known = {**LIMITS[self.scheduler], **OBSTACLES, **ALONE}
        return {name: known[name] for name in self.names}

    def __str__(self) -> str:
        return f"{self.scheduler}: {' and '.join(self.names)}"

    def settings(self, lifted: frozenset[str] = frozenset()) -> object:
        """The configuration without the limits that are lifted."""
        kept = {name: one for name, one in self.planted.items() if name not in lifted}
        return SETTINGS[self.scheduler](kept)

    def build(self) -> "Built":
        """A cluster in this situation."""
        pools = self.scheduler == "pools"
        nodes = tuple((name, (8192, 8, 2, 2) if pools else total) for name, total in NODES)
        cluster = Cluster(self.scheduler, self.settings(), nodes)
        size = (0, 0, 1, 0) if pools else (1024, 1)

        def submit(count: int, queue: str, user: str) -> int:
            number: int = cluster.submit(
                tasks=(TaskGroup("t", count, size),), queue=queue, user=user
            )
            return number

        if {"drained", "blacklist"} & {*self.names}:
            cluster.feed(DrainNode("n2"))
        submit(3, QUEUES[self.scheduler], "ann")
        cluster.run()
        room = (4 if pools else 16) - 3
        other = None
        if {"drained", "blacklist"} & {*self.names}:
            room = 5
        if {*OBSTACLES} & {*self.names}:
            other = submit(room, "root.b", "bob")
            cluster.run()
        if "all drained" in self.names:
            for name, _ in NODES:
                cluster.feed(DrainNode(name))
        if "blacklist" in self.names:
            cluster.feed(UndrainNode("n2"))
        if "safe mode" in self.names:  # in which nothing is admitted
            waits = submit(2, QUEUES[self.scheduler], "ann")
            cluster.feed(SetSafeMode(True))
            return Built(self, cluster, waits, other)
        waits = submit(2, QUEUES[self.scheduler], "ann")
        if "blacklist" in self.names:
            cluster.feed(ChangeBlacklist(waits, ("n2",), ()))
        if "held" in self.names:
            cluster.feed(HoldApplication(waits))
        cluster.run()
        return Built(self, cluster, waits, other)


class Built(msgspec.Struct):
    """A cluster in a situation, with the application that waits, and the one that has the room."""

    situation: Situation
    cluster: Cluster
    waits: int
    other: int | None

    def containers(self) -> int:
        """What the waiting application has."""
        count: int = self.cluster.containers(self.waits)
        return count

    def lift(self, *names: str) -> None:
        """Lift what is planted."""
        for name in names:
            match name:
                case "no room":
                    self.cluster.feed(KillApplication(self.other))
                case "drained":
                    self.cluster.feed(UndrainNode("n2"))
                case "all drained":
                    self.cluster.feed(UndrainNode("n1"))
                    self.cluster.feed(UndrainNode("n2"))
                case "blacklist":
                    self.cluster.feed(ChangeBlacklist(self.waits, (), ("n2",)))
                case "held":
                    self.cluster.feed(ReleaseApplication(self.waits))
                case "safe mode":
                    self.cluster.feed(SetSafeMode(False))
        settings = self.situation.settings(frozenset(names))
        self.cluster.feed(LoadConfiguration(msgspec.json.encode(settings), 1))
        self.cluster.run()


def situations() -> list[Situation]:
    """All: each limit and obstacle alone, two limits, and a limit with an obstacle."""
    found = []
    for scheduler, limits in LIMITS.items():
        obstacles = ("no room",) if scheduler == "pools" else (*OBSTACLES,)
        sets: list[tuple[str, ...]] = [(name,) for name in (*limits, *obstacles, *ALONE)]
        sets += combinations(limits, 2)
        sets += [(limit, obstacle) for limit in limits for obstacle in obstacles]
        found += [Situation(scheduler, names) for names in sets]
    return found
