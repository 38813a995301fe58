"""The record of a run rebuilds the same state, without deciding anything again."""

import msgspec
import pytest
from tests.unit.core.schedulers.pools.conftest import arrival, pools, settings, slots

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.inputs import NodeJoined
from fairshare.core.schedulers.pools.scheduler import PoolsScheduler
from fairshare.core.schedulers.pools.settings import TYPES, PoolAllocation
from fairshare.lab.simulate.simulator import Simulator
from fairshare.lab.simulate.workload import Workload
from fairshare.runtime.journal.memory import MemoryJournal
from fairshare.runtime.recovery import recover


@pytest.mark.parametrize("until_ms", [20_000, 45_500, 90_000])
def test_a_recovered_scheduler_shows_the_same(generation: str, until_ms: int) -> None:
    given = settings(
        generation,
        preemption=True,
        preemption_interval_ms=2000,
        allocations=pools(
            PoolAllocation("p", min_share=(3, 0), min_share_timeout_ms=4000),
            fair_share_timeout_ms=8000,
        ),
    )
    nodes = tuple(NodeJoined(f"n{number}", slots(2), f"/r{number % 2}") for number in range(4))
    arrivals = [arrival(n * 5, f"job-{n}", 9, 7 + n, pool="pq"[n % 2]) for n in range(8)]
    journal = MemoryJournal()
    manager = ResourceManager(PoolsScheduler(TYPES))
    workload = Workload(nodes, tuple(arrivals))
    Simulator(manager, msgspec.json.encode(given), workload, journal).run(until_ms)
    again = PoolsScheduler(TYPES)
    recover(journal.records(), again.state)
    first = manager.scheduler
    assert first.queue_views(until_ms) == again.queue_views(until_ms)
    for number in first.state.applications:
        assert first.application_view(number) == again.application_view(number)
    assert first.next_deadline_ms() == again.next_deadline_ms()
    assert first.update_interval_ms() == again.update_interval_ms()
