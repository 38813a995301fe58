"""The Capacity Scheduler's clocks: preemption in rounds, lifetimes, queues that go when idle.

Each on a simulation's clock, and preemption and lifetimes on a server's own too.
"""

from pathlib import Path

import msgspec
import pytest
from tests.manual_engine import ManualEngine
from tests.waiting import until_state

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import (
    ApplicationState,
    ContainerCompleted,
    ContainerMarked,
    ContainerSpared,
    ExitCode,
    QueueRemoved,
)
from fairshare.core.model.inputs import (
    ChangeLifetime,
    NodeJoined,
    PreemptContainers,
    SubmitApplication,
)
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import TaskGroup
from fairshare.core.record import Record
from fairshare.core.schedulers.capacity.events import QueueExpiring
from fairshare.core.schedulers.capacity.settings import (
    CapacitySettings,
    MonitorSettings,
    Percentage,
    QueueSettings,
    Weight,
)
from fairshare.engines.protocol import NodeOffer
from fairshare.lab.simulate.simulator import Simulator
from fairshare.lab.simulate.workload import Arrival, GroupPlan, Workload
from fairshare.runtime.journal.memory import MemoryJournal
from fairshare.server.server import LiveServer
from fairshare.server.settings import LiveSettings
from fairshare.settings.registry import family_of

HOUR_MS = 3_600_000
NODE = NodeJoined("n1", (4096, 4))
SHARE = (2048, 2)


def settings(interval_ms: int, wait_ms: int, **root) -> CapacitySettings:
    return CapacitySettings(
        queues={
            "root": QueueSettings(children=("a", "b"), capacity=Percentage(100.0), **root),
            "root.a": QueueSettings(capacity=Percentage(50.0)),
            "root.b": QueueSettings(capacity=Percentage(50.0)),
        },
        dominant=True,
        user_limit_factor=2.0,
        maximum_master_share=1.0,
        monitor=MonitorSettings(
            enabled=True,
            monitor_on=True,
            interval_ms=interval_ms,
            wait_before_kill_ms=wait_ms,
            total_per_round=1.0,
            natural_termination_factor=1.0,
        ),
    )


def submission(queue: str, count: int, lifetime_s: int = 0) -> SubmitApplication:
    group = TaskGroup("t", count, (1024, 1))
    return SubmitApplication("ann", queue, tasks=(group,), lifetime_s=lifetime_s)


def simulator_of(given: CapacitySettings, *arrivals: Arrival) -> Simulator:
    return Simulator(
        ResourceManager(family_of("capacity").create(ResourceTypes())),
        msgspec.json.encode(given),
        Workload((NODE,), arrivals),
        MemoryJournal(),
    )


def arrival(at_ms: int, queue: str, count: int, duration_ms: int = 9 * HOUR_MS, **more) -> Arrival:
    return Arrival(at_ms, submission(queue, count, **more), (GroupPlan(duration_ms, 0),))


def records_of(simulator: Simulator) -> list[Record]:
    return list(simulator.runtime.journal.records())


def instants(records: list[Record], kind: type) -> list[int]:
    return [r.now_ms for r in records for e in r.events if isinstance(e, kind)]


def preempted_ms(records: list[Record]) -> list[int]:
    return [
        record.now_ms
        for record in records
        for event in record.events
        if isinstance(event, ContainerCompleted) and event.exit_code == ExitCode.PREEMPTED
    ]


# Preemption.


def test_in_a_simulation_a_starved_queue_gets_its_share_back_in_rounds():
    """Chosen in the first round after the queue began to ask, killed in one after the wait."""
    simulator = simulator_of(
        settings(3_000, 15_000), arrival(0, "root.a", 4), arrival(HOUR_MS, "root.b", 2)
    )
    simulator.run(HOUR_MS + 60_000)
    records = records_of(simulator)
    assert instants(records, ContainerMarked) == [HOUR_MS + 3_000] * 2
    assert preempted_ms(records) == [HOUR_MS + 18_000] * 2
    assert [a.used for a in simulator.manager.state.applications.values()] == [SHARE, SHARE]


def test_a_victim_of_a_queue_without_demand_is_forgotten_and_waits_again():
    """Forgotten in the first round later than twice the wait; until then rounds are held."""
    simulator = simulator_of(
        settings(3_000, 15_000),
        arrival(0, "root.a", 4),
        arrival(HOUR_MS, "root.b", 2, lifetime_s=5),
        arrival(2 * HOUR_MS, "root.b", 2),
    )
    simulator.run(2 * HOUR_MS + 60_000)
    records = records_of(simulator)
    chosen = [HOUR_MS + 3_000] * 2 + [2 * HOUR_MS + 3_000] * 2
    assert instants(records, ContainerMarked) == chosen
    assert instants(records, ContainerSpared) == [HOUR_MS + 36_000] * 2
    assert preempted_ms(records) == [2 * HOUR_MS + 18_000] * 2


def test_nothing_is_taken_where_the_monitor_is_off():
    given = settings(3_000, 15_000)
    off = msgspec.structs.replace(given, monitor=MonitorSettings())
    simulator = simulator_of(off, arrival(0, "root.a", 4), arrival(1_000, "root.b", 2))
    simulator.run(600_000)
    assert not instants(records_of(simulator), ContainerMarked)


def test_lazy_preemption_kills_only_when_an_application_takes_the_room():
    given = msgspec.structs.replace(settings(3_000, 15_000), lazy_preemption=True)
    simulator = simulator_of(given, arrival(0, "root.a", 4), arrival(1_000, "root.b", 1))
    simulator.run(60_000)
    assert [a.used[0] for a in simulator.manager.state.applications.values()] == [3072, 1024]


class CountingManager(ResourceManager):
    """Remembers when it was asked for a round."""

    def __init__(self, scheduler) -> None:
        super().__init__(scheduler)
        self.rounds_ms: list[int] = []

    def handle(self, now_ms, given, following=None):
        if isinstance(given, PreemptContainers):
            self.rounds_ms.append(now_ms)
        return super().handle(now_ms, given, following)


@pytest.mark.parametrize(
    ("arrivals", "rounds"),
    [
        ((), 0),
        ((arrival(0, "root.a", 4),), 0),  # nobody waits
        ((arrival(0, "root.a", 4, 10_000), arrival(1_000, "root.b", 2, 5_000)), 3),
    ],
)
def test_rounds_are_held_only_while_an_application_waits_for_resources_of_others(arrivals, rounds):
    manager = CountingManager(family_of("capacity").create(ResourceTypes()))
    simulator = Simulator(
        manager,
        msgspec.json.encode(settings(3_000, 60_000)),
        Workload((NODE,), arrivals),
        MemoryJournal(),
    )
    simulator.run(24 * HOUR_MS)
    assert len(manager.rounds_ms) == rounds


# Lifetimes.


def test_an_application_is_killed_when_its_queue_lets_it_live_no_longer():
    simulator = simulator_of(
        settings(3_000, 15_000, maximum_lifetime_s=60),
        arrival(0, "root.a", 1),
        arrival(5_000, "root.a", 1, lifetime_s=20),
        arrival(5_000, "root.b", 1, lifetime_s=500),
        arrival(5_000, "root.b", 1, 1_000),
    )
    report = simulator.run()
    ends = [(one.submitted_ms + one.turnaround_ms, one.state) for one in report.applications]
    assert ends == [(60_000, "KILLED"), (25_000, "KILLED"), (65_000, "KILLED"), (6_000, "FINISHED")]
    assert "60 s is over" in report.applications[0].diagnostics


def test_an_application_that_waits_for_room_is_over_when_its_time_is():
    simulator = simulator_of(
        settings(3_000, HOUR_MS), arrival(0, "root.a", 4), arrival(0, "root.b", 2, lifetime_s=30)
    )
    simulator.run(60_000)
    waiting = simulator.manager.state.applications[2]
    assert (waiting.state, waiting.finished_ms) == (ApplicationState.KILLED, 30_000)


# Queues made on demand.


def on_demand(*policies: str) -> CapacitySettings:
    return CapacitySettings(
        queues={
            "root": QueueSettings(
                children=("default",), capacity=Weight(1.0), dynamic_children=True
            ),
            "root.default": QueueSettings(capacity=Weight(1.0)),
        },
        maximum_master_share=1.0,
        queue_expiration_ms=300_000,
        monitor=MonitorSettings(monitor_on=True, auto_removal="removal" in policies),
    )


def test_a_queue_made_on_demand_goes_when_two_rounds_have_found_it_empty():
    """How long ago its last application came counts in the second round alone."""
    simulator = simulator_of(on_demand("removal"), arrival(0, "root.ann", 1, 10_000))
    simulator.run()
    records = records_of(simulator)
    assert "root.ann" not in simulator.manager.state.queues
    (expiring_ms,), (removed_ms,) = (
        instants(records, QueueExpiring),
        instants(records, QueueRemoved),
    )
    assert 10_000 < expiring_ms <= 310_000
    assert removed_ms == expiring_ms + 300_000


def test_a_queue_that_is_used_between_the_rounds_stays():
    simulator = simulator_of(
        on_demand("removal"),
        arrival(0, "root.ann", 1, 10_000),
        arrival(700_000, "root.ann", 1, 10_000),
    )
    simulator.run(1_300_000)
    assert len(instants(records_of(simulator), QueueExpiring)) == 2  # it begins anew
    assert "root.ann" in simulator.manager.state.queues


def test_without_the_policy_of_removal_a_queue_stays_for_ever():
    simulator = simulator_of(on_demand(), arrival(0, "root.ann", 1, 10_000))
    simulator.run(24 * HOUR_MS)
    assert "root.ann" in simulator.manager.state.queues


# On a server.


def live_server(given: CapacitySettings, directory: Path) -> LiveServer:
    offer = NodeOffer("n1", "/default-rack", {"memory-mb": 4096, "vcores": 4}, {})
    engine = ManualEngine(directory / "containers", offer)
    live = LiveSettings(
        scheduler="capacity",
        types=given.types,
        scheduler_settings=msgspec.json.encode(given),
        state_directory=directory,
    )
    return LiveServer(live, lambda settings, path: engine)


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_on_a_server_a_starved_queue_gets_its_share_back(tmp_path):
    server = live_server(settings(50, 200), tmp_path / "state")
    await server.start("http://127.0.0.1:1")
    state = server.service.state
    await server.service.ask(submission("root.a", 4))
    await until_state(server, lambda: len(state.running) == 4)
    await server.service.ask(submission("root.b", 2))
    asked_ms = state.applications[2].submitted_ms
    await until_state(server, lambda: state.applications[2].used == SHARE)
    records = list(server.journal.records())
    await server.close()
    marked_ms, killed_ms = instants(records, ContainerMarked)[0], preempted_ms(records)[0]
    assert asked_ms + 50 <= marked_ms < asked_ms + 5_000  # how busy the machine is, nobody knows
    assert marked_ms + 200 <= killed_ms < marked_ms + 5_000


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_server_remembers_over_a_restart_when_an_application_must_end(tmp_path):
    server = live_server(settings(50, 200), tmp_path / "state")
    await server.start("http://127.0.0.1:1")
    await server.service.ask(submission("root.a", 1, lifetime_s=3_600))
    await server.service.ask(ChangeLifetime(1, server.service.now_ms() + 300))
    expires_ms = server.service.state.applications[1].expires_ms
    await server.close()

    server = live_server(settings(50, 200), tmp_path / "state")
    await server.start("http://127.0.0.1:1")
    application = server.service.state.applications[1]
    await until_state(server, lambda: application.over)
    await server.close()
    assert application.state == ApplicationState.KILLED
    assert expires_ms <= application.finished_ms
