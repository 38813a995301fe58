"""A cluster of map slots and reduce slots, told step by step, and whole runs of it."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from fairshare.api.applications import JobFigures, JobSlots
from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import (
    ApplicationRejected,
    ApplicationSubmitted,
    ContainerAllocated,
    Event,
    RequestRefused,
)
from fairshare.core.model.inputs import (
    Input,
    LoadConfiguration,
    NodeBeat,
    NodeJoined,
    SubmitApplication,
    UpdateShares,
)
from fairshare.core.model.invariants import check
from fairshare.core.model.work import TaskGroup
from fairshare.core.schedulers.pools.scheduler import PoolsScheduler
from fairshare.core.schedulers.pools.settings import (
    TYPES,
    PoolAllocation,
    PoolAllocations,
    PoolsSettings,
)
from fairshare.core.schedulers.views import ApplicationView, QueueView
from fairshare.lab.simulate.report import Report
from fairshare.lab.simulate.simulator import Simulator
from fairshare.lab.simulate.workload import Arrival, GroupPlan, Workload
from fairshare.runtime.journal.memory import MemoryJournal

GENERATIONS = ("0.19", "0.20", "1.2")


def pools(*declared: PoolAllocation, **fields: Any) -> PoolAllocations:
    """A pools file."""
    return PoolAllocations(pools={pool.name: pool for pool in declared}, **fields)


def settings(generation: str = "0.19", **fields: Any) -> PoolsSettings:
    """Settings in which a job's queue is its pool, and nothing waits for maps."""
    known = {"generation": generation, "pool_property": "pool.name", **fields}
    return msgspec.convert(
        msgspec.to_builtins(PoolsSettings(**known)),  # type: ignore[arg-type]
        PoolsSettings,
    )


def slots(maps: int, reduces: int = 0) -> tuple[int, ...]:
    return TYPES.vector({"map-slots": maps, "reduce-slots": reduces})


MAP, REDUCE = slots(1), slots(0, 1)


def maps(count: int, **fields: Any) -> TaskGroup:
    return TaskGroup("map", count, MAP, **fields)


def reduces(count: int, **fields: Any) -> TaskGroup:
    return TaskGroup("reduce", count, REDUCE, **fields)


class Cluster:
    """A manager with the pool scheduler; `now_ms` is its clock."""

    def __init__(self, given: PoolsSettings, *nodes: tuple[int, int]) -> None:
        self.now_ms = 0
        self.manager = ResourceManager(PoolsScheduler(TYPES))
        self.settings = given
        self.load(given)
        for number, (map_slots, reduce_slots) in enumerate(nodes, 1):
            self.tell(NodeJoined(f"n{number}", slots(map_slots, reduce_slots)))

    @property
    def scheduler(self) -> PoolsScheduler:
        found = self.manager.scheduler
        assert isinstance(found, PoolsScheduler)
        return found

    def load(self, given: PoolsSettings) -> tuple[Event, ...]:
        return self.tell(LoadConfiguration(msgspec.json.encode(given), epoch_ms=1))

    def tell(self, wish: Input, after_ms: int = 0) -> tuple[Event, ...]:
        self.now_ms += after_ms
        events = self.manager.handle(self.now_ms, wish)
        check(self.manager.state)
        return events

    def submit(self, pool: str, *groups: TaskGroup, user: str = "ann", **fields: Any) -> int:
        wish = SubmitApplication(user, pool, tasks=groups, **fields)
        for event in self.tell(wish):
            if isinstance(event, ApplicationSubmitted):
                return event.application
            if isinstance(event, ApplicationRejected):
                raise AssertionError(event.reason)
        raise AssertionError("nothing was submitted")

    def update(self, after_ms: int = 0) -> None:
        self.tell(UpdateShares(), after_ms)

    def beat(self, node: str = "n1", after_ms: int = 0) -> list[int]:
        """The jobs whose tasks a heartbeat hands out."""
        events = self.tell(NodeBeat(node), after_ms)
        return [e.application for e in events if isinstance(e, ContainerAllocated)]

    def view(self, number: int) -> ApplicationView:
        return self.scheduler.application_view(number)

    def job(self, number: int) -> JobFigures:
        found = self.view(number).job
        assert found is not None
        return found

    def maps_of(self, number: int) -> JobSlots:
        return self.job(number).maps

    def pool(self, name: str) -> QueueView:
        return next(
            view for view in self.scheduler.queue_views(self.now_ms) if view.name == f"root.{name}"
        )


def refusal(events: Sequence[Event]) -> str:
    """Why something was refused."""
    for event in events:
        if isinstance(event, RequestRefused | ApplicationRejected):
            return event.reason
    raise AssertionError("nothing was refused")


def arrival(
    at_s: float, name: str, count: int, task_s: float, pool: str = "default", **fields: Any
) -> Arrival:
    """A job of maps that all take as long."""
    submission = SubmitApplication("ann", pool, name=name, tasks=(maps(count),), **fields)
    return Arrival(int(at_s * 1000), submission, (GroupPlan(int(task_s * 1000)),))


def simulated(
    given: PoolsSettings, arrivals: Sequence[Arrival], nodes: int, map_slots: int
) -> Report:
    """A whole run, to the end."""
    joined = tuple(NodeJoined(f"n{number}", slots(map_slots)) for number in range(1, nodes + 1))
    workload = Workload(joined, tuple(sorted(arrivals, key=lambda one: one.at_ms)))
    manager = ResourceManager(PoolsScheduler(TYPES))
    simulator = Simulator(manager, msgspec.json.encode(given), workload, MemoryJournal())
    return simulator.run()


@pytest.fixture(params=GENERATIONS)
def generation(request: pytest.FixtureRequest) -> str:
    return str(request.param)
