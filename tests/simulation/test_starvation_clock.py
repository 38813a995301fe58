"""Who is starved gets his share when his time is up: simulated, and on a server's own clock."""

import asyncio

import msgspec
import pytest
from tests.manual_engine import ManualEngine
from tests.waiting import until_state

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ContainerCompleted, ContainerMarked
from fairshare.core.model.inputs import NodeJoined, SubmitApplication
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import TaskGroup
from fairshare.core.record import Record
from fairshare.core.schedulers.fair.settings import AllocationSettings, FairSettings, QueueSettings
from fairshare.engines.protocol import NodeOffer
from fairshare.lab.simulate.simulator import Simulator
from fairshare.lab.simulate.workload import Arrival, GroupPlan, Workload
from fairshare.runtime.journal.memory import MemoryJournal
from fairshare.server.server import LiveServer
from fairshare.server.settings import LiveSettings
from fairshare.settings.registry import family_of

HOUR_MS = 3_600_000
SHARE = (2048, 2)


def settings(timeout_ms: int, interval_ms: int, wait_ms: int) -> FairSettings:
    queues = (
        QueueSettings("root.a"),
        QueueSettings("root.b", fair_share_timeout_ms=timeout_ms, fair_share_threshold=1.0),
        QueueSettings("root.c", min_share=SHARE, min_share_timeout_ms=timeout_ms),
    )
    return FairSettings(
        preemption=True,
        wait_before_kill_ms=wait_ms,
        update_interval_ms=interval_ms,
        allocations=AllocationSettings(queues={one.name: one for one in queues}, from_file=True),
    )


def submission(queue: str, count: int) -> SubmitApplication:
    return SubmitApplication("ann", queue, tasks=(TaskGroup("t", count, (1024, 1)),))


def first_ms(records: list[Record], kind: type) -> int | None:
    return next((r.now_ms for r in records for e in r.events if isinstance(e, kind)), None)


@pytest.mark.parametrize("queue", ["root.b", "root.c"])
def test_in_a_simulation_a_starved_queue_waits_for_its_timeout_and_not_longer(queue):
    plans = (GroupPlan(3 * HOUR_MS, 0),)
    workload = Workload(
        (NodeJoined("n1", (4096, 4)),),
        (
            Arrival(0, submission("root.a", 4), plans),
            Arrival(HOUR_MS, submission(queue, 2), plans),
        ),
    )
    journal = MemoryJournal()
    simulator = Simulator(
        ResourceManager(family_of("fair").create(ResourceTypes())),
        msgspec.json.encode(settings(10_000, 500, 2_000)),
        workload,
        journal,
    )
    simulator.run(HOUR_MS + 60_000)
    records = list(journal.records())
    marked_ms, killed_ms = first_ms(records, ContainerMarked), first_ms(records, ContainerCompleted)
    assert HOUR_MS + 10_000 <= marked_ms <= HOUR_MS + 10_500
    assert marked_ms + 2_000 <= killed_ms <= marked_ms + 2_500
    assert simulator.manager.state.applications[2].used == SHARE


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("queue", ["root.b", "root.c"])
async def test_on_a_server_a_starved_queue_waits_for_its_timeout_and_not_longer(queue, tmp_path):
    fair = settings(400, 50, 100)
    offer = NodeOffer("n1", "/default-rack", {"memory-mb": 4096, "vcores": 4}, {})
    engine = ManualEngine(tmp_path / "containers", offer)
    live = LiveSettings(
        scheduler="fair",
        types=fair.types,
        scheduler_settings=msgspec.json.encode(fair),
        state_directory=tmp_path / "state",
    )
    server = LiveServer(live, lambda settings, path: engine)
    await server.start("http://127.0.0.1:1")
    state = server.service.state
    await server.service.ask(submission("root.a", 4))
    await until_state(server, lambda: len(state.running) == 4)
    await asyncio.sleep(0.6)  # longer than the timeout: all that time nobody is starved
    await server.service.ask(submission(queue, 2))
    asked_ms = state.applications[2].submitted_ms
    await until_state(server, lambda: state.applications[2].used == SHARE)
    records = list(server.journal.records())
    await server.close()
    marked_ms, killed_ms = first_ms(records, ContainerMarked), first_ms(records, ContainerCompleted)
    assert asked_ms + 400 <= marked_ms < asked_ms + 30_000  # how busy the machine is, nobody knows
    assert marked_ms + 100 <= killed_ms < marked_ms + 30_000
