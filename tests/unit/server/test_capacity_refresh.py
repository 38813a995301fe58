"""capacity-scheduler.xml while a server runs: read again by command, all of it or nothing."""

import asyncio
import logging
from pathlib import Path

import pytest
from tests.unit.server.capacity_place import QUEUES, SCHEDULER, P, Place

from fairshare.core.model.inputs import SubmitApplication
from fairshare.errors import ConfigurationError, InputError
from fairshare.server.server import LiveServer

pytestmark = pytest.mark.anyio

MONITOR = "yarn.resourcemanager.scheduler.monitor."


@pytest.fixture
def place(tmp_path: Path, engine) -> Place:
    return Place(tmp_path, engine)


@pytest.fixture
async def server(place: Place, anyio_backend: str):
    made = await place.start()
    yield made
    await made.close()


@pytest.fixture
def lines(caplog):
    logger = logging.getLogger("fairshare.configuration")
    logger.addHandler(caplog.handler)
    yield caplog
    logger.removeHandler(caplog.handler)


def queues(server: LiveServer) -> set[str]:
    return {view.name for view in server.service.views.queues if view.leaf}


async def test_what_the_file_says_is_in_force_after_a_refresh_and_not_before(place, server):
    place.capacity(
        **{
            **QUEUES,
            f"{P}root.queues": "a,b,c",
            f"{P}root.b.capacity": 30,
            f"{P}root.c.capacity": 10,
        }
    )
    await server.configuration.look()
    assert queues(server) == {"root.a", "root.b"}
    await server.configuration.refresh()
    assert queues(server) == {"root.a", "root.b", "root.c"}
    assert server.service.state.queues["root.b"].share.capacity == pytest.approx(0.3)


REFUSED = {
    "a queue that runs is gone": (
        {f"{P}root.queues": "a", f"{P}root.a.capacity": 100},
        "root.b is deleted from the new capacity scheduler configuration, but the queue is not yet"
        " in stopped state. Current State : RUNNING",
    ),
    "a leaf that runs gets children": (
        {**QUEUES, f"{P}root.b.queues": "x", f"{P}root.b.x.capacity": 100},
        "Can not convert the leaf queue: root.b to parent queue since it is not yet in stopped"
        " state. Current State : RUNNING",
    ),
    "a leaf's largest container shrinks": (
        {**QUEUES, f"{P}root.b.maximum-allocation-mb": 2048},
        "Trying to reinitialize root.b the maximum allocation size can not be decreased!",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_may_not_change_while_it_runs_is_refused_and_nothing_changes(
    place, server, lines, case
):
    properties, reported = REFUSED[case]
    await server.service.ask(SubmitApplication("ann", "root.b"))
    settings, version = server.projections.loaded.settings, server.projections.loaded.version
    place.capacity(**{**properties, f"{P}root.a.user-limit-factor": 7})
    with pytest.raises(InputError) as caught:
        await server.configuration.refresh()
    assert "Failed to re-init queues : " in str(caught.value)
    assert reported in str(caught.value)
    assert (server.projections.loaded.settings, server.projections.loaded.version) == (
        settings,
        version,
    )
    assert queues(server) == {"root.a", "root.b"}
    assert reported in server.configuration.error.message
    assert f"stays in force: {caught.value}" in lines.text


async def test_a_file_with_wrong_sums_is_refused_with_its_line(place, server, lines):
    before = server.service.version
    place.capacity(**{**QUEUES, f"{P}root.b.capacity": 50})
    with pytest.raises(ConfigurationError, match=r"capacity-scheduler\.xml:2:.*sum of 1\.1"):
        await server.configuration.refresh()
    assert server.service.version == before
    assert "what was loaded before stays in force" in lines.text
    assert server.configuration.error.problems[0].line == 2


async def test_a_stopped_queue_can_be_removed(place, server):
    stopped = {**QUEUES, f"{P}root.b.state": "STOPPED"}
    place.capacity(**stopped)
    await server.configuration.refresh()
    place.capacity(**{f"{P}root.queues": "a", f"{P}root.a.capacity": 100})
    await server.configuration.refresh()
    assert queues(server) == {"root.a"}


async def test_what_only_a_restart_changes_is_named(place, server):
    calculator = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
    place.capacity(**QUEUES, **{f"{P}resource-calculator": calculator})
    found = await server.configuration.refresh()
    assert found.needs_restart == (f"{P}resource-calculator",)
    assert not found.settings.dominant


async def test_the_refresh_policy_looks_after_the_file_by_itself(place, lines):
    place.site(
        **{
            f"{MONITOR}enable": "true",
            f"{MONITOR}policies": SCHEDULER + "QueueConfigurationAutoRefreshPolicy",
        }
    )
    place.capacity(**QUEUES, **{f"{P}queue.auto.refresh.monitoring-interval": 20})
    (place.conf / "fairshare.toml").write_text("[configuration]\nsettle_ms = 0\n")
    server = await place.start()
    assert server.configuration.view().check_interval_ms == 20
    more = {f"{P}root.queues": "a,b,c", f"{P}root.b.capacity": 30, f"{P}root.c.capacity": 10}
    place.capacity(**{**QUEUES, **more})
    async with asyncio.timeout(10):
        while "root.c" not in queues(server):
            await asyncio.sleep(0.005)
    place.capacity(**{**QUEUES, **more, f"{P}root.c.capacity": 11})
    async with asyncio.timeout(10):
        while server.configuration.error is None:
            await asyncio.sleep(0.005)
    assert "sum of 1.01" in server.configuration.error.message
    assert queues(server) == {"root.a", "root.b", "root.c"}
    await server.close()


async def test_the_error_of_a_removed_file_says_so(place, server):
    (place.conf / "capacity-scheduler.xml").unlink()
    with pytest.raises(ConfigurationError, match="there is no such file any more: put it back"):
        await server.configuration.refresh()
    assert {view.name for view in server.service.views.queues} == {"root", "root.a", "root.b"}
