"""One sample of a grid point: build, fill, idle, churn, as the rivals were measured.

A heartbeat is what the resource manager does when a node reports: the ends of its containers, then
the node's update, which grants until nothing fits. Times are processor time of this thread, so
that a busy neighbour does not count.
"""

from collections.abc import Callable
from time import thread_time_ns
from typing import NamedTuple

import msgspec

from benchmarks.grid import ASK, CHURN, NODE, SEED, Point
from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ContainerAllocated, Event
from fairshare.core.model.inputs import (
    ContainerExited,
    LoadConfiguration,
    NodeBeat,
    NodeJoined,
    RequestContainers,
    SubmitApplication,
    UpdateShares,
)
from fairshare.core.model.resources import Resource, ResourceTypes
from fairshare.core.model.work import ContainerRequest
from fairshare.core.schedulers.capacity.settings import CapacitySettings, Weight
from fairshare.core.schedulers.capacity.settings import QueueSettings as CapacityQueueSettings
from fairshare.core.schedulers.fair.settings import AllocationSettings, FairSettings, QueueSettings
from fairshare.core.schedulers.pools.settings import TYPES as SLOT_TYPES
from fairshare.core.schedulers.pools.settings import (
    Generation,
    PoolAllocation,
    PoolAllocations,
    PoolsSettings,
)
from fairshare.settings.registry import family_of

_MASK = (1 << 64) - 1
TURN = 10
"""Masters ask again after so many heartbeats."""


class Sample(msgspec.Struct):
    """What one sample came to; rates are containers per second of processor time."""

    point: str
    policy: str
    containers_per_s_fill: float = 0.0
    containers_per_s_churn: float = 0.0
    heartbeat_us_p50: float = 0.0
    heartbeat_us_p99: float = 0.0
    idle_heartbeat_us_p50: float = 0.0
    update_ms: float = 0.0
    fill_containers: int = 0
    fill_complete: bool = True
    churn_containers: int = 0


class SplitMix64:
    """The random numbers of the rivals' harness: what ends depends on positions only."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def unit(self) -> float:
        """The next number in [0, 1), from the top 53 bits."""
        self.state = (self.state + 0x9E3779B97F4A7C15) & _MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return ((z ^ (z >> 31)) >> 11) / float(1 << 53)


def leaf_names(tree: tuple[int, ...]) -> list[str]:
    """`leaf_names((2, 2))[1] == 'root.q0.q1'`."""
    names = ["root"]
    for width in tree:
        names = [f"{name}.q{number}" for name in names for number in range(width)]
    return names


def settings(point: Point, policy: str) -> FairSettings:
    """Queues of equal weight without limits, and no limit on grants in a heartbeat."""
    queues: dict[str, QueueSettings] = {}
    names = ["root"]
    for depth, width in enumerate(point.tree, start=1):
        names = [f"{name}.q{number}" for name in names for number in range(width)]
        for name in names:
            queues[name] = QueueSettings(name, parent=depth < len(point.tree))
    return FairSettings(
        minimum_allocation=ASK,
        increment_allocation=ASK,
        maximum_allocation=NODE,
        assign_multiple=True,
        dynamic_max_assign=False,
        allocations=AllocationSettings(
            queues=queues,
            default_policy=policy,
            queue_max_master_share_default=-1.0,
            from_file=True,
        ),
    )


def capacity_settings(point: Point, policy: str) -> CapacitySettings:
    """The same for the Capacity Scheduler: weights, and users that nothing holds back."""
    queues: dict[str, CapacityQueueSettings] = {}
    names = ["root"]
    for width in (*point.tree, 0):
        children = tuple(f"q{number}" for number in range(width)) or None
        for name in names:
            weight = None if name == "root" else Weight(1.0)
            queues[name] = CapacityQueueSettings(children=children, capacity=weight)
        names = [f"{name}.{child}" for name in names for child in children or ()]
    return CapacitySettings(
        queues=queues,
        minimum_allocation=ASK,
        maximum_allocation=NODE,
        dominant=policy == "capacity-drf",
        maximum_applications=1_000_000,
        maximum_master_share=1.0,
        user_limit_factor=-1.0,
        maximum_assignments=-1,
        maximum_off_switch_assignments=1_000_000,
    )


def pools_settings(point: Point, policy: str) -> PoolsSettings:
    """The same for the pool scheduler of a release: a job's queue is its pool."""
    return PoolsSettings(
        generation=msgspec.convert(policy.removeprefix("pools-"), Generation),
        pool_property="pool.name",
        allocations=PoolAllocations(
            pools={pool: PoolAllocation(pool) for pool in pool_names(point)},
        ),
    )


def pool_names(point: Point) -> list[str]:
    """`pool_names(Point("", 1, (2,), 1)) == ["q0", "q1"]`: pools do not stand in others here."""
    return [f"q{number}" for number in range(point.queues)]


class Kind(NamedTuple):
    """A scheduler, and what a node and a container are to it: a map slot is a core's.

    `most_applications` is as far as it is measured. The pool scheduler's is less, since it looks at
    all jobs when one comes, as Hadoop does, and only a grant is to be cheap.
    """

    scheduler: str
    settings: Callable[[Point, str], FairSettings | CapacitySettings | PoolsSettings]
    types: ResourceTypes = ResourceTypes()
    node: Resource = NODE
    ask: Resource = ASK
    queues: Callable[[Point], list[str]] = lambda point: leaf_names(point.tree)
    most_applications: int = 10_000


FAIR = Kind("fair", settings)
CAPACITY = Kind("capacity", capacity_settings)
POOLS = Kind(
    "pools",
    pools_settings,
    SLOT_TYPES,
    SLOT_TYPES.vector({"map-slots": NODE[1]}),
    SLOT_TYPES.vector({"map-slots": 1}),
    pool_names,
    1_000,
)
KINDS = {
    "fair": FAIR,
    "drf": FAIR,
    "capacity": CAPACITY,
    "capacity-drf": CAPACITY,
    **{f"pools-{release}": POOLS for release in ("0.19", "0.20", "1.2")},
}
"""Policies, and whose they are."""


class Driver:
    """Drives one sample through its phases."""

    def __init__(self, point: Point, policy: str, half_life_s: int = 0) -> None:
        self.point = point
        kind = KINDS[policy]
        self.ask = kind.ask
        self.manager = ResourceManager(family_of(kind.scheduler).create(kind.types))
        self.handle = self.manager.handle
        self.now_ms = 0
        self.sample = Sample(point.id, policy)
        self.granted: dict[int, int] = {}  # by application, since its last turn
        self.fresh: list[ContainerAllocated] = []  # not fetched by their masters yet
        self.started: list[list[int]] = [[] for _ in range(point.nodes)]  # may end
        self.beats = [NodeBeat(f"n{number}") for number in range(point.nodes)]
        self.place = {beat.node: number for number, beat in enumerate(self.beats)}
        self.updates_ns: list[int] = []
        self.half_life_s = half_life_s
        chosen = msgspec.to_builtins(kind.settings(point, policy))
        if half_life_s:
            chosen["fairness"] = {"half_life_ms": half_life_s * 1_000}
        configuration = msgspec.json.encode(chosen)
        self.handle(0, LoadConfiguration(configuration, 1))
        for beat in self.beats:
            self.handle(0, NodeJoined(beat.node, kind.node))
        names = kind.queues(point)
        request = ContainerRequest(point.backlog, kind.ask)
        for number in range(point.queues * point.applications_per_queue):
            queue = number % point.queues
            submission = SubmitApplication(f"u{queue}", names[queue], requests=(request,))
            self.handle(0, submission)
        self.update()

    def update(self) -> None:
        """One pass of the scheduler's update, timed on its own."""
        begin = thread_time_ns()
        self.handle(self.now_ms, UpdateShares())
        if self.half_life_s:
            self.update_usage()
        self.updates_ns.append(thread_time_ns() - begin)

    def update_usage(self) -> None:
        """Let the past enter the orders, if that is due."""
        # Here, as an earlier commit to compare with may not have it.
        from fairshare.core.model.inputs import UpdateUsage

        self.handle(self.now_ms, UpdateUsage())

    def heartbeat(self, number: int, ended: list[int]) -> tuple[int, int]:
        """One node reports; (grants, nanoseconds)."""
        handle = self.handle
        now_ms = self.now_ms
        begin = thread_time_ns()
        for container in ended:
            handle(now_ms, ContainerExited(container, 0))
        events = handle(now_ms, self.beats[number])
        spent = thread_time_ns() - begin
        return self._remember(events), spent

    def _remember(self, events: tuple[Event, ...]) -> int:
        """Keep what was granted for the masters' turn; how much that is."""
        before = len(self.fresh)
        for event in events:
            if type(event) is not ContainerAllocated:  # what else a scheduler notes
                continue
            self.granted[event.application] = self.granted.get(event.application, 0) + 1
            self.fresh.append(event)
        return len(self.fresh) - before

    def turn(self) -> None:
        """Every master that was granted something takes it and sets its backlog back."""
        for application, count in self.granted.items():
            again = RequestContainers(application, (ContainerRequest(count, self.ask),))
            self.handle(self.now_ms, again)
        self.granted.clear()
        for event in self.fresh:
            self.started[self.place[event.node]].append(event.container)
        self.fresh.clear()

    def round(self, numbers: SplitMix64 | None, nodes: int, limit_ns: int) -> list[tuple[int, int]]:
        """One heartbeat of each node, with churn if there are random numbers."""
        self.update()
        self.now_ms += 1000
        beats = []
        spent = 0
        for number in range(nodes):
            ended: list[int] = []
            if numbers is not None:
                alive = self.started[number]
                keep = [c for c in alive if numbers.unit() >= CHURN or ended.append(c)]  # type: ignore[func-returns-value]
                self.started[number] = keep
            beats.append(self.heartbeat(number, ended))
            spent += beats[-1][1]
            if number % TURN == TURN - 1:
                self.turn()
            if spent > limit_ns:
                break
        self.turn()
        return beats


def run_sample(
    point: Point, policy: str, fill_s: float, churn_s: float, half_life_s: int = 0
) -> Sample:
    """One sample from an empty cluster."""
    driver = Driver(point, policy, half_life_s)
    sample = driver.sample
    fill = _phase(driver, None, point.nodes, fill_s, 1000)
    sample.fill_containers = sum(count for count, _ in fill)
    nodes = min(point.nodes, len(fill))
    sample.fill_complete = len(fill) >= point.nodes
    sample.containers_per_s_fill = _rate(fill)
    idle = driver.round(None, nodes, int(0.5e9))
    sample.idle_heartbeat_us_p50 = _percentile([ns for _, ns in idle], 0.5) / 1000
    churn = _phase(driver, SplitMix64(SEED), len(idle), churn_s, 20)
    sample.churn_containers = sum(count for count, _ in churn)
    sample.containers_per_s_churn = _rate(churn)
    times = [ns for _, ns in churn]
    sample.heartbeat_us_p50 = _percentile(times, 0.5) / 1000
    sample.heartbeat_us_p99 = _percentile(times, 0.99) / 1000
    sample.update_ms = _percentile(driver.updates_ns, 0.5) / 1e6
    return sample


def _phase(
    driver: Driver, numbers: SplitMix64 | None, nodes: int, seconds: float, rounds: int
) -> list[tuple[int, int]]:
    beats: list[tuple[int, int]] = []
    left = int(seconds * 1e9)
    for _ in range(rounds):
        one = driver.round(numbers, nodes, left)
        beats.extend(one)
        left -= sum(ns for _, ns in one)
        if left <= 0 or not any(count for count, _ in one):
            break
        if numbers is None and not driver.manager.state.nodes["n0"].available[0]:
            full = all(not node.available[0] for node in driver.manager.state.nodes.values())
            if full:
                break
    return beats


def _rate(beats: list[tuple[int, int]]) -> float:
    spent = sum(ns for _, ns in beats)
    return sum(count for count, _ in beats) * 1e9 / spent if spent else 0.0


def _percentile(values: list[int], part: float) -> float:
    ordered = sorted(values)
    return float(ordered[min(len(ordered) - 1, int(len(ordered) * part))]) if ordered else 0.0
