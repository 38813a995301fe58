"""Simulations with a bit of everything, and what is shown of a state."""

from collections.abc import Callable

import msgspec
import pytest

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.inputs import NodeJoined, SubmitApplication
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import TaskGroup
from fairshare.core.schedulers.capacity.settings import (
    CapacitySettings,
    MonitorSettings,
    Percentage,
)
from fairshare.core.schedulers.capacity.settings import QueueSettings as CapacityQueueSettings
from fairshare.core.schedulers.fair.settings import (
    AllocationSettings,
    Amount,
    FairSettings,
    QueueSettings,
)
from fairshare.core.schedulers.fifo import FifoSettings
from fairshare.lab.simulate.simulator import Simulator
from fairshare.lab.simulate.workload import Arrival, GroupPlan, Workload
from fairshare.runtime.journal.memory import MemoryJournal
from fairshare.settings.registry import family_of

NODES = tuple(NodeJoined(f"n{n}", (8192, 8), f"/rack{n % 2}") for n in range(4))

QUEUES = (
    QueueSettings("root.a", weight=2.0, min_share=(4096, 4)),
    QueueSettings("root.b", max_share=Amount(absolute=(12288, 100)), max_running_applications=2),
    QueueSettings("root.c", policy="fifo"),
)

CAPACITY = CapacitySettings(
    queues={
        "root": CapacityQueueSettings(children=("a", "b", "c"), capacity=Percentage(100.0)),
        "root.a": CapacityQueueSettings(capacity=Percentage(50.0), default_lifetime_s=20),
        "root.b": CapacityQueueSettings(capacity=Percentage(30.0), ordering_policy="fair"),
        "root.c": CapacityQueueSettings(capacity=Percentage(20.0), maximum_parallel_applications=2),
    },
    minimum_allocation=(512, 1),
    maximum_allocation=(8192, 8),
    dominant=True,
    user_limit_factor=3.0,
    minimum_user_limit_percent=50.0,
    maximum_master_share=1.0,
    monitor=MonitorSettings(
        enabled=True,
        monitor_on=True,
        interval_ms=500,
        wait_before_kill_ms=1_000,
        total_per_round=0.5,
        natural_termination_factor=1.0,
    ),
)

SETTINGS = {
    "fair": FairSettings(),
    "fair with preemption, several containers a beat, and limits": FairSettings(
        preemption=True,
        assign_multiple=True,
        wait_before_kill_ms=2_000,
        allocations=AllocationSettings(
            queues={queue.name: queue for queue in QUEUES},
            fair_share_timeout_ms=3_000,
            min_share_timeout_ms=1_000,
            from_file=True,
        ),
    ),
    "fair with delay scheduling": FairSettings(
        locality_threshold_node=0.5, locality_threshold_rack=0.5, maximum_allocation=(8192, 8)
    ),
    "fifo": FifoSettings(),
    "capacity with preemption, lifetimes and limits": CAPACITY,
    "capacity with lazy preemption": msgspec.structs.replace(CAPACITY, lazy_preemption=True),
}


def workload() -> Workload:
    """Sizes, groups that wait for each other, failures, places: 20 applications in 20 s."""
    arrivals = []
    for number in range(20):
        size = (1024 * (1 + number % 4), 1 + number % 2)
        hosts = (f"n{number % 4}",) if number % 3 == 0 else ()
        first = TaskGroup("first", 6 + number % 5, size, hosts=hosts, max_attempts=3)
        last = TaskGroup("last", 2, (512, 1), after=("first",), slow_start=0.5)
        submission = SubmitApplication(
            f"user{number % 5}", f"root.{'abc'[number % 3]}", f"job{number}", tasks=(first, last)
        )
        durations = tuple(
            1_000 + 700 * ((number * 7 + task * 3) % 9) for task in range(first.count)
        )
        plans = (
            GroupPlan(durations, 1 if number % 6 == 1 else 0),
            GroupPlan(800, 9 if number == 7 else 0),
        )
        arrivals.append(Arrival(number * 1_000, submission, plans))
    return Workload(NODES, tuple(arrivals))


def new_manager(name: str) -> ResourceManager:
    return ResourceManager(family_of(name.split()[0]).create(ResourceTypes()))


@pytest.fixture(params=SETTINGS)
def settings_name(request: pytest.FixtureRequest) -> str:
    """Each scheduler, and the Fair Scheduler with what is off by default."""
    return str(request.param)


@pytest.fixture
def simulation(settings_name: str) -> Simulator:
    """A simulation that has been run to its end; its journal has all records."""
    simulator = Simulator(
        new_manager(settings_name),
        msgspec.json.encode(SETTINGS[settings_name]),
        workload(),
        MemoryJournal(),
    )
    simulator.run()
    return simulator


@pytest.fixture
def manager(settings_name: str) -> ResourceManager:
    """A new manager of the same kind."""
    return new_manager(settings_name)


@pytest.fixture
def make_manager(settings_name: str) -> Callable[[], ResourceManager]:
    return lambda: new_manager(settings_name)


@pytest.fixture
def shown() -> Callable[[ResourceManager], bytes]:
    """Everything that is shown of a state, and what is not shown but must be the same."""

    def of(manager: ResourceManager) -> bytes:
        state = manager.state
        applications = [manager.scheduler.application_view(a) for a in state.applications]
        asks = [
            [
                (key.order, key.level, key.opportunities, key.since_ms)
                for key in application.attempt.asks.wanting
            ]
            for application in state.applications.values()
        ]
        nodes = [
            (n.name, n.available, list(n.containers), list(n.marked)) for n in state.nodes.values()
        ]
        return msgspec.json.encode(
            [manager.scheduler.queue_views(), applications, asks, nodes, list(state.running)]
        )

    return of
