"""What a master had not fetched when the server ended comes once more from the nodes, which keep
ends until they may forget them."""

import pytest
from tests.unit.yarn.rpc.cluster import ask

from fairshare.yarn.rpc.records import container_of

pytestmark = pytest.mark.anyio


async def ended_before_restart(cluster, node, master, code=9):
    """A container whose end the server has recorded when it is started again."""
    container = await runs(cluster, node, master)
    node.statuses[container] = code
    node.beat()
    await cluster.settled()
    assert container not in cluster.state.applications[master.application].containers
    await cluster.stop()
    await cluster.start()
    return container


async def runs(cluster, node, master):
    answer = await master.allocate(ask(1))
    if not answer.allocated_containers:
        await cluster.settled()
        answer = await master.allocate()
    (found,) = answer.allocated_containers
    await cluster.run_granted(node)
    return container_of(found.id, cluster.state.epoch_ms)


async def register_again(cluster, node):
    """As a NodeManager does: heartbeats have no end that one had before."""
    known = dict(node.statuses)
    node.register()
    await cluster.settled()
    node.statuses = {one: code for one, code in known.items() if code is None}
    removable = list(node.beat().containers_to_be_removed_from_nm)
    node.statuses = known
    await cluster.settled()
    return [container_of(one, cluster.state.epoch_ms) for one in removable]


async def fetched(cluster, master):
    statuses = (await master.allocate()).completed_container_statuses
    return [(container_of(s.container_id, cluster.state.epoch_ms), s.exit_status) for s in statuses]


async def removable(cluster, node):
    node.statuses = {one: code for one, code in node.statuses.items() if code is None}
    named = node.beat().containers_to_be_removed_from_nm
    return [container_of(one, cluster.state.epoch_ms) for one in named]


@pytest.mark.parametrize("node_first", [True, False])
async def test_an_end_that_the_master_had_not_fetched_before_a_restart_is_delivered_after_it(
    cluster, node, node_first
):
    master = await cluster.master(node)
    container = await ended_before_restart(cluster, node, master)
    if node_first:
        assert await register_again(cluster, node) == []
    await master.register()
    if not node_first:
        assert await fetched(cluster, master) == []
        assert await register_again(cluster, node) == []
    assert await fetched(cluster, master) == [(container, 9)]
    assert await fetched(cluster, master) == []
    assert await removable(cluster, node) == [container]


async def test_an_end_is_recovered_once_though_the_node_registers_again(cluster, node):
    master = await cluster.master(node)
    container = await ended_before_restart(cluster, node, master)
    await register_again(cluster, node)
    await master.register()
    assert await fetched(cluster, master) == [(container, 9)]
    assert await fetched(cluster, master) == []
    assert await register_again(cluster, node) == [container]
    assert await fetched(cluster, master) == []


async def test_a_node_that_registers_again_may_forget_an_end_that_the_master_then_fetches(
    cluster, node
):
    master = await cluster.master(node)
    container = await runs(cluster, node, master)
    node.statuses[container] = 9
    node.beat()
    await cluster.settled()
    assert await register_again(cluster, node) == []
    assert await fetched(cluster, master) == [(container, 9)]
    assert await fetched(cluster, master) == []
    assert await removable(cluster, node) == [container]


async def test_an_end_while_no_server_ran_may_be_forgotten_when_the_master_has_it(cluster, node):
    master = await cluster.master(node)
    container = await runs(cluster, node, master)
    await cluster.stop()
    await cluster.start()
    node.statuses[container] = 9
    assert await register_again(cluster, node) == []
    await master.register()
    assert await fetched(cluster, master) == [(container, 9)]
    assert await fetched(cluster, master) == []
    assert await removable(cluster, node) == [container]


async def test_another_nodes_report_of_an_end_is_not_believed(cluster, node):
    master = await cluster.master(node)
    container = await ended_before_restart(cluster, node, master)
    other = cluster.node(2)
    other.statuses[container] = 5
    assert await register_again(cluster, other) == [container]
    await master.register()
    assert await fetched(cluster, master) == []


async def test_ends_of_an_attempt_that_is_over_are_forgotten(cluster, node):
    master = await cluster.master(node)
    await runs(cluster, node, master)
    container = cluster.state.applications[1].attempt.master
    node.statuses[container] = 1
    node.beat()
    await cluster.settled()
    ended = [one for one, code in node.statuses.items() if code is not None]
    await cluster.stop()
    await cluster.start()
    assert await register_again(cluster, node) == ended
