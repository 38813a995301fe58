"""A clock that jumps back and forth: time in the record never goes back, and nothing breaks."""

import asyncio
import random
import time

import pytest

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.invariants import check
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import TaskGroup
from fairshare.runtime import clock
from fairshare.runtime.recovery import replay
from fairshare.server.server import LiveServer
from fairshare.settings.registry import family_of

pytestmark = pytest.mark.anyio

HOUR_MS = 3_600_000


class JumpingTime:
    """The machine's time; at each look it may be hours before or behind the last one."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._offset_ms = 0

    def time_ns(self) -> int:
        self._offset_ms += self._random.choice([0, 1, 1_000, -1, -5_000, HOUR_MS, -HOUR_MS])
        return time.time_ns() + self._offset_ms * 1_000_000

    def monotonic_ns(self) -> int:
        return time.monotonic_ns()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
async def test_a_clock_that_jumps_loses_nothing_and_stops_nothing(
    seed, server_settings, engine, monkeypatch
):
    monkeypatch.setattr(clock, "time", JumpingTime(seed))
    server = LiveServer(server_settings, lambda settings, path: engine)
    await server.start("http://127.0.0.1:1")
    group = TaskGroup("t", 2, (128, 1))
    for _ in range(30):
        await server.service.ask(SubmitApplication(user="ann", queue="root.a", tasks=(group,)))
    done = set()
    version = -1
    async with asyncio.timeout(60):
        while not all(a.over for a in server.service.state.applications.values()):
            for container in set(engine.orders) - done:
                done.add(container)
                engine.end(container)
            version = await server.service.changed(version, 1.0)
    assert server.service.failure is None, f"seed {seed}"
    check(server.service.state)
    records = list(server.journal.records())
    times = [record.now_ms for record in records]
    assert times == sorted(times), f"seed {seed}"
    assert replay(records, ResourceManager(family_of("fair").create(ResourceTypes()))) is None
    await server.close()


def test_a_clock_that_is_set_back_goes_on_slowly_and_meets_the_machines_again(monkeypatch):
    class Machine:
        wall_ns = 10_000_000_000
        ticks_ns = 0

        def time_ns(self) -> int:
            return self.wall_ns

        def monotonic_ns(self) -> int:
            return self.ticks_ns

        def after(self, ms: int) -> None:
            self.wall_ns += ms * 1_000_000
            self.ticks_ns += ms * 1_000_000

    machine = Machine()
    monkeypatch.setattr(clock, "time", machine)
    reported = clock.WallClock()
    assert reported.now_ms() == 10_000
    machine.wall_ns -= 4_000_000_000
    assert reported.now_ms() == 10_000
    machine.after(1_000)
    assert reported.now_ms() == 10_500
    machine.after(7_000)
    assert reported.now_ms() == 14_000
    machine.after(1_000)
    assert reported.now_ms() == 15_000
