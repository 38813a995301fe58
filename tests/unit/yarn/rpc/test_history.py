"""Clients that ask a timeline server get the containers that have ended, too."""

from typing import Any

import pytest
from tests.unit.yarn.rpc.cluster import Cluster, ask
from tests.unit.yarn.rpc.test_clients import Client
from tests.unit.yarn.rpc.test_masters import granted

from fairshare.yarn.rpc.clients import Clients
from fairshare.yarn.rpc.wire.calls import RpcError
from fairshare.yarn.rpc.wire.descriptors import APPLICATION_CLIENT, APPLICATION_HISTORY, METHODS

pytestmark = pytest.mark.anyio


class HistoryClient(Client):
    """A client that asks for the history."""

    async def call(self, method: str, **fields: Any) -> Any:
        handlers = Clients(self.gateway, lambda application: None).history_handlers
        request = METHODS[APPLICATION_HISTORY, method].request(**fields)
        return await handlers[APPLICATION_HISTORY, method](self.context, request)


@pytest.fixture
async def ended(cluster: Cluster) -> Cluster:
    """A cluster with an application that is over, which had a master and a container."""
    node = cluster.node()
    node.register()
    master = await cluster.master(node)
    (container,) = await granted(cluster, master, ask(1))
    await master.allocate(release=[container.id])
    await master.finish()
    await cluster.settled()
    return cluster


def test_the_protocol_has_the_messages_of_the_clients() -> None:
    for protocol, name in METHODS:
        if protocol == APPLICATION_HISTORY:
            ours, theirs = METHODS[protocol, name], METHODS[APPLICATION_CLIENT, name]
            assert (ours.request, ours.response) == (theirs.request, theirs.response)


async def test_all_methods_are_answered_or_refused_by_name(cluster: Cluster) -> None:
    client = HistoryClient(cluster)
    handlers = Clients(client.gateway, lambda application: None).history_handlers
    assert set(handlers) == {key for key in METHODS if key[0] == APPLICATION_HISTORY}
    with pytest.raises(RpcError, match="Delegation tokens need Kerberos"):
        await client.call("getDelegationToken", renewer="ann")


async def test_containers_that_have_ended_are_reported(ended: Cluster) -> None:
    client = HistoryClient(ended)
    attempt = client.attempt(1)
    reports = (await client.call("getContainers", application_attempt_id=attempt)).containers
    assert [report.container_id.id for report in reports] == [1, 2]
    released = reports[1]
    assert released.container_state == 3  # COMPLETE
    assert released.finish_time >= released.creation_time > 0
    assert (released.resource.memory, released.node_id.host) == (512, "h1")
    assert released.log_url.endswith(
        "/node/containerlogs/" + released.log_url.split("/")[-2] + "/ann"
    )
    alone = await client.call("getContainerReport", container_id=released.container_id)
    assert alone.container_report == released
    with pytest.raises(RpcError, match="doesn't exist"):
        await Client(ended).call("getContainerReport", container_id=released.container_id)


async def test_only_users_that_may_view_an_application_see_its_containers(ended: Cluster) -> None:
    client = HistoryClient(ended, "bob")
    answer = await client.call("getApplicationReport", application_id=client.name(1))
    assert answer.application_report.user == "ann"
    kind, _ = await client.refused("getContainers", application_attempt_id=client.attempt(1, 2))
    assert kind == "ApplicationAttemptNotFoundException"
