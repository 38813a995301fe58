"""A clock that jumps back and forth: time in the record never goes back, and nothing breaks."""

import random

import pytest

from fairshare.live.server import LiveServer
from fairshare.manager.resource_manager import ResourceManager
from fairshare.model.inputs import SubmitApplication
from fairshare.model.resources import ResourceTypes
from fairshare.model.work import TaskGroup
from fairshare.runtime.recovery import replay
from fairshare.schedulers.registry import SCHEDULERS

pytestmark = pytest.mark.anyio

HOUR_MS = 3_600_000


class JumpingClock:
    """Each look at it may be hours before or behind the last one."""

    def __init__(self, seed: int, now_ms: int) -> None:
        self._random = random.Random(seed)
        self._now_ms = now_ms

    def now_ms(self) -> int:
        jump = self._random.choice([0, 1, 5, 1_000, -1, -5_000, HOUR_MS, -HOUR_MS])
        self._now_ms += jump
        return self._now_ms


@pytest.mark.parametrize("seed", range(5))
async def test_a_clock_that_jumps_loses_nothing_and_stops_nothing(seed, server_settings, engine):
    server = LiveServer(server_settings, lambda settings, path: engine)
    server.service._clock = JumpingClock(seed, server.service.now_ms())
    await server.start("http://127.0.0.1:1")
    group = TaskGroup("t", 2, (128, 1))
    for _ in range(30):
        await server.service.ask(SubmitApplication(user="ann", queue="root.a", tasks=(group,)))
    done = set()
    version = -1
    while not all(a.over for a in server.service.state.applications.values()):
        for container in set(engine.orders) - done:
            done.add(container)
            engine.end(container)
        version = await server.service.changed(version, 1.0)
    assert server.service.failure is None, f"seed {seed}"
    server.service.state.check()
    records = list(server._journal.records())
    times = [record.now_ms for record in records]
    assert times == sorted(times), f"seed {seed}"
    assert replay(records, ResourceManager(SCHEDULERS["fair"](ResourceTypes()))) is None
    await server.close()
