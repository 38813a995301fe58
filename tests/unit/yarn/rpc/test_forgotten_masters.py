"""Masters that are forgotten are gone at once, with all that was kept to answer them."""

import gc

import pytest
from tests.garbage import left_for_the_collector
from tests.unit.yarn.rpc.cluster import Cluster, ask

from fairshare.core.model.inputs import ForgetApplications
from fairshare.yarn.rpc.records import container_of

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def live(cluster, node):
    """A master gets three containers: one succeeds, one fails, it releases one; it is forgotten."""
    master = await cluster.master(node)
    granted = list((await master.allocate(ask(3))).allocated_containers)
    await cluster.settled()
    granted += (await master.allocate()).allocated_containers
    await cluster.run_granted(node)
    first, second, third = (container_of(one.id, cluster.state.epoch_ms) for one in granted)
    node.statuses |= {first: 0, second: 1}
    node.beat()
    await cluster.settled()
    await master.allocate(release=[third])
    await master.allocate()
    await master.finish()
    node.statuses = dict.fromkeys(node.statuses, 0)
    node.beat()
    await cluster.settled()
    node.statuses.clear()
    node.beat()
    await cluster.server.service.ask(ForgetApplications((master.application,)))
    assert not cluster.state.applications


@pytest.mark.parametrize("scheduler", ["fair", "capacity"])
async def test_masters_that_are_forgotten_leave_nothing_to_the_collector(
    tmp_path, anyio_backend, scheduler
):
    cluster = await Cluster(tmp_path, scheduler).start()
    node = cluster.node(memory_mb=8192, vcores=16)
    node.register()
    await live(cluster, node)
    gc.collect()
    await live(cluster, node)
    assert left_for_the_collector() == []
    await cluster.stop()
