"""Administrators call what `yarn rmadmin` calls: what changes, and who may."""

import msgspec
import pytest
from tests.unit.yarn.rpc.cluster import CAPACITY, Caller, Cluster

from fairshare.errors import InputError
from fairshare.server.access.audit import FILE, AuditEntry
from fairshare.yarn.rest.gateway import Gateway
from fairshare.yarn.rpc import administration, records
from fairshare.yarn.rpc.administration import NOT_SUPPORTED, Administration
from fairshare.yarn.rpc.configuration import HostLists
from fairshare.yarn.rpc.wire.calls import RpcError
from fairshare.yarn.rpc.wire.descriptors import ADMINISTRATION, HIGH_AVAILABILITY, METHODS

pytestmark = pytest.mark.anyio

NORMAL, GRACEFUL, FORCEFUL = 1, 2, 3
SHUTDOWN = 2


class Administrator(Caller):
    """An administrator of a cluster with an exclude file."""

    def __init__(self, cluster: Cluster, user: str = "root") -> None:
        self.cluster = cluster
        self.exclude = cluster.path / "exclude"
        gateway = Gateway(cluster.server, b"")
        handlers = Administration(gateway, cluster.lists, 3_600).handlers
        super().__init__(handlers, ADMINISTRATION, user)


async def started(tmp_path, scheduler="fair", **options) -> Cluster:
    (tmp_path / "exclude").write_text("")
    lists = HostLists("", str(tmp_path / "exclude"))
    made = Cluster(tmp_path, scheduler, allowed=lists.allows, **options)
    made.lists = lists
    return await made.start()


@pytest.fixture
async def cluster(tmp_path, anyio_backend):
    made = await started(tmp_path)
    yield made
    await made.stop()


async def test_each_method_of_both_protocols_is_answered_or_refused_by_name(cluster):
    administrator = Administrator(cluster)
    expected = {key for key in METHODS if key[0] in (ADMINISTRATION, HIGH_AVAILABILITY)}
    assert set(administrator.handlers) == expected
    for name, why in NOT_SUPPORTED.items():
        _, message = await administrator.refused(name)
        assert why in message


async def test_an_excluded_host_loses_its_nodes_at_once_and_may_come_back(cluster):
    administrator = Administrator(cluster)
    nodes = [cluster.node(), cluster.node(host="h2")]
    for node in nodes:
        node.register()
    await cluster.settled()
    administrator.exclude.write_text("h1")
    assert nodes[0].beat().nodeAction != SHUTDOWN, "files count when they are refreshed"
    await administrator.call("refreshNodes", decommissionType=NORMAL)
    await cluster.settled()
    assert list(cluster.state.nodes) == ["h2:1"]
    assert nodes[0].beat().nodeAction == SHUTDOWN
    assert nodes[0].register().nodeAction == SHUTDOWN
    administrator.exclude.write_text("")
    await administrator.call("refreshNodes", decommissionType=NORMAL)
    assert nodes[0].register().nodeAction != SHUTDOWN
    await cluster.settled()
    assert set(cluster.state.nodes) == {"h1:1", "h2:1"}


async def test_a_graceful_decommissioning_waits_for_the_containers(cluster):
    administrator = Administrator(cluster)
    node = cluster.node()
    node.register()
    master = await cluster.master(node)
    administrator.exclude.write_text("h1")
    await administrator.call("refreshNodes", decommissionType=GRACEFUL, decommissionTimeout=600)
    await cluster.settled()
    assert list(cluster.state.nodes) == ["h1:1"]
    assert node.beat().nodeAction != SHUTDOWN
    leaving = (await administrator.call("checkForDecommissioningNodes")).decommissioningNodes
    assert [records.node_name(one) for one in leaving] == ["h1:1"]
    await master.finish()
    node.statuses = dict.fromkeys(node.statuses, 0)
    node.beat()
    await cluster.settled()
    assert list(cluster.state.nodes) == []
    assert node.beat().nodeAction == SHUTDOWN


async def test_a_wrong_list_changes_nothing(cluster):
    administrator = Administrator(cluster)
    cluster.node().register()
    await cluster.settled()
    administrator.exclude.unlink()
    kind, message = await administrator.refused("refreshNodes", decommissionType=NORMAL)
    assert (kind, "cannot be read" in message) == ("IOException", True)
    assert list(cluster.state.nodes) == ["h1:1"]


async def test_the_resources_of_a_node_change_and_it_hears_of_it(cluster):
    administrator = Administrator(cluster)
    node = cluster.node()
    node.register()
    await cluster.settled()
    change = {"resource": {"memory": 8192, "virtual_cores": 8}, "over_commit_timeout": -1}
    change = {"node_id": {"host": "h1", "port": 1}, "resource_option": change}
    await administrator.call("updateNodeResource", node_resource_map=[change])
    await cluster.settled()
    assert cluster.state.nodes["h1:1"].total == (8192, 8)
    assert node.beat().resource.memory == 8192
    change["node_id"]["port"] = 2
    kind, message = await administrator.refused("updateNodeResource", node_resource_map=[change])
    assert (kind, "h1:2" in message) == ("YarnException", True)


async def test_labels_are_added_given_to_nodes_and_removed(tmp_path, anyio_backend):
    labelled = msgspec.structs.replace(CAPACITY, labels_enabled=True)
    cluster = await started(tmp_path, "capacity", capacity=labelled)
    administrator = Administrator(cluster)
    for port in (1, 2):
        cluster.node(port).register()
    await cluster.settled()
    labels = [{"name": "gpu", "isExclusive": False}, {"name": "ssd"}]
    both = {"nodeLabels": labels, "deprecatedNodeLabels": ["gpu", "ssd"]}  # as Java's client does
    await administrator.call("addToClusterNodeLabels", **both)
    # A host without a port means all of its nodes.
    given = [{"nodeId": {"host": "h1"}, "nodeLabels": ["gpu"]}]
    await administrator.call("replaceLabelsOnNodes", nodeToLabels=given)
    found = Gateway(cluster.server, b"").yarn.node_labels(cluster.state)
    assert found.labels() == {"gpu": False, "ssd": True}
    assert [found.of_node(node) for node in cluster.state.nodes.values()] == ["gpu", "gpu"]
    await administrator.call("removeFromClusterNodeLabels", nodeLabels=["ssd"])
    assert found.labels() == {"gpu": False}
    two = [{"nodeId": {"host": "h1"}, "nodeLabels": ["gpu", "ssd"]}]
    kind, _ = await administrator.refused("replaceLabelsOnNodes", nodeToLabels=two)
    assert kind == "YarnException"
    await cluster.stop()


async def test_labels_are_refused_where_they_are_disabled(cluster):
    kind, message = await Administrator(cluster).refused(
        "addToClusterNodeLabels", nodeLabels=[{"name": "gpu"}]
    )
    disabled = "java.io.IOException: Node-label-based scheduling is disabled."
    assert (kind, message[: len(disabled)]) == ("YarnException", disabled)


async def test_a_server_that_answers_is_active_and_refuses_to_become_standby(cluster):
    administrator = Administrator(cluster)
    status = await administrator.call("getServiceStatus", HIGH_AVAILABILITY)
    assert (status.state, status.readyToBecomeActive) == (1, True)
    await administrator.call("monitorHealth", HIGH_AVAILABILITY)
    with pytest.raises(RpcError) as refusal:
        await administrator.call("transitionToStandby", HIGH_AVAILABILITY, reqInfo={"reqSource": 0})
    assert refusal.value.class_name == "org.apache.hadoop.ha.ServiceFailedException"


async def test_only_administrators_are_served_and_refusals_are_in_the_audit_log(
    cluster, monkeypatch
):
    monkeypatch.setattr(
        administration, "is_administrator", lambda gateway, caller: caller.user == "root"
    )
    ann, root = Administrator(cluster, "ann"), Administrator(cluster)
    for method in ("refreshNodes", "getGroupsForUser"):
        kind, message = await ann.refused(method)
        assert (kind, message) == (
            "YarnException",
            "org.apache.hadoop.security.AccessControlException:"
            f" User ann doesn't have permission to call '{method}'",
        )
    await root.call("refreshNodes")
    lines = (cluster.server.directory.path / FILE).read_text().splitlines()
    entries = [msgspec.json.decode(line, type=AuditEntry) for line in lines]
    assert [(one.method, one.path, one.status, one.user, one.code) for one in entries] == [
        (
            "RPC",
            "ResourceManagerAdministrationProtocol/refreshNodes",
            403,
            "ann",
            "AccessControlException",
        ),
        (
            "RPC",
            "ResourceManagerAdministrationProtocol/getGroupsForUser",
            403,
            "ann",
            "AccessControlException",
        ),
        ("RPC", "ResourceManagerAdministrationProtocol/refreshNodes", 200, "root", ""),
    ]


@pytest.mark.parametrize("code", ["disk-full", "no-database", "stopping"])
async def test_what_cannot_be_recorded_now_is_for_later_or_another_server(
    tmp_path, anyio_backend, monkeypatch, code
):
    labelled = msgspec.structs.replace(CAPACITY, labels_enabled=True)
    cluster = await started(tmp_path, "capacity", capacity=labelled)
    cluster.node().register()
    await cluster.settled()
    administrator = Administrator(cluster)

    async def refuse(given):
        raise InputError(code, "not now")

    monkeypatch.setattr(cluster.server.service, "ask", refuse)
    administrator.exclude.write_text("h1\n")
    change = {"resource": {"memory": 8192, "virtual_cores": 8}, "over_commit_timeout": -1}
    change = {"node_id": {"host": "h1", "port": 1}, "resource_option": change}
    try:
        for method, fields in (
            ("addToClusterNodeLabels", {"nodeLabels": [{"name": "gpu"}]}),
            ("updateNodeResource", {"node_resource_map": [change]}),
            ("refreshNodes", {"decommissionType": FORCEFUL}),
        ):
            refusal = await administrator.refused(method, **fields)
            assert refusal == ("StandbyException", "not now"), method
    finally:
        monkeypatch.undo()
        await cluster.stop()
