"""Hadoop's clients ask, submit and change: what each call is answered, and what it changes."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.unit.yarn.rpc.cluster import CAPACITY, Caller, Cluster

from fairshare.core.model.inputs import AddLabels, DecommissionNode, LabelNodes, SubmissionDetails
from fairshare.core.schedulers.capacity.settings import Percentage, QueueSettings
from fairshare.server.access.audit import FILE, AuditEntry
from fairshare.yarn.rest.gateway import Gateway
from fairshare.yarn.rpc import administration, records
from fairshare.yarn.rpc.clients import NO_ATTRIBUTES, NOT_SUPPORTED, Clients
from fairshare.yarn.rpc.wire.calls import CallContext, RpcError
from fairshare.yarn.rpc.wire.descriptors import APPLICATION_CLIENT, METHODS

pytestmark = pytest.mark.anyio


class Client(Caller):
    """A client of a cluster: it calls the handlers as some user."""

    def __init__(self, cluster: Cluster, user: str = "ann") -> None:
        self.cluster = cluster
        self.gateway = Gateway(cluster.server, b"")
        handlers = Clients(self.gateway, lambda application: None).handlers
        super().__init__(handlers, APPLICATION_CLIENT, user)

    def name(self, application: int) -> Any:
        return records.application_id_message(self.cluster.state.epoch_ms, application)

    def attempt(self, application: int, attempt: int = 1) -> Any:
        return records.attempt_id_message(self.cluster.state.epoch_ms, application, attempt)

    def text(self, application: int) -> str:
        return records.application_text(self.name(application))


@pytest.fixture
async def running(cluster):
    """A cluster with one node, and a master of ann's on it that has registered."""
    node = cluster.node()
    node.register()
    return await cluster.master(node)


async def test_each_method_of_the_protocol_is_answered_or_refused_by_name(cluster):
    client = Client(cluster)
    methods = {name for protocol, name in METHODS if protocol == APPLICATION_CLIENT}
    assert len(methods) == 35
    assert {name for _, name in client.handlers} == methods
    for name in NOT_SUPPORTED:
        handler = client.handlers[APPLICATION_CLIENT, name]
        with pytest.raises(RpcError):
            await handler(client.context, None)


async def test_a_node_that_is_gone_is_listed_with_nothing_in_use(cluster):
    node = cluster.node()
    node.register()
    await cluster.settled()
    node.unregister()
    await cluster.settled()
    (report,) = (await Client(cluster).call("getClusterNodes")).nodeReports
    assert report.used.memory == report.used.virtual_cores == report.numContainers == 0
    assert report.capability.memory > 0
    assert not report.HasField("node_utilization")


async def test_the_node_managers_of_a_cluster_are_those_that_have_not_left(cluster):
    nodes = [cluster.node(port) for port in (1, 2, 3)]
    for node in nodes:
        node.register()
    await cluster.settled()
    nodes[0].unregister()
    nodes[1].healthy = False
    nodes[1].beat()
    await cluster.settled()
    metrics = (await Client(cluster).call("getClusterMetrics")).cluster_metrics
    counts = (metrics.num_node_managers, metrics.num_active_nms, metrics.num_unhealthy_nms)
    assert (*counts, metrics.num_shutdown_nms) == (2, 1, 1, 1)


async def test_a_draining_node_has_the_timeout_that_was_given(cluster, running):
    await cluster.server.service.ask(DecommissionNode("h1:1", 600_000))
    (report,) = (await Client(cluster).call("getClusterNodes")).nodeReports
    assert report.decommissioning_timeout == 600


def submission(client: Client, number: int, **fields: Any) -> dict[str, Any]:
    """What submitApplication gets for a master of 256 MB."""
    context = {
        "application_id": client.name(number),
        "application_name": "pi",
        "queue": "default",
        "applicationType": "SPARK",
        "applicationTags": ["b", "A"],
        "priority": {"priority": 3},
        "maxAppAttempts": 1,
        "keep_containers_across_application_attempts": True,
        "node_label_expression": "gpu",
        "am_container_resource_request": [
            {
                "priority": {"priority": 0},
                "resource_name": "*",
                "capability": {"memory": 256, "virtual_cores": 1},
                "num_containers": 1,
                "node_label_expression": "ssd",
            }
        ],
        "application_timeouts": [{"application_timeout_type": 1, "timeout": 60}],
        "attempt_failures_validity_interval": 10_000,
        "am_container_spec": {
            "command": ["run", "it"],
            "tokens": b"a secret",
            "application_ACLs": [
                {"accessType": 1, "acl": "bob"},
                {"accessType": 2, "acl": " ops"},
            ],
        },
    }
    return {"application_submission_context": {**context, **fields}}


async def reserved(client: Client) -> int:
    return (await client.call("getNewApplication")).application_id.id


async def test_a_submission_has_what_its_client_wrote(cluster):
    client = Client(cluster)
    number = await reserved(client)
    kind, _ = await client.refused("submitApplication", **submission(client, number))
    assert kind == "InvalidLabelResourceRequestException", "the Fair Scheduler has no labels"
    found = cluster.state.applications[number].submission
    assert (found.user, found.name, found.queue, found.priority) == ("ann", "pi", "default", 3)
    assert (found.tags, found.master, found.lifetime_s) == (("a", "b"), (256, 1), 60)
    assert found.details == SubmissionDetails(
        type="SPARK",
        max_attempts=1,
        view_acl="bob",
        modify_acl=" ops",
        application_label="gpu",
        master_label="ssd",
        keep_containers=True,
        must_unregister=True,
        failures_validity_ms=10_000,
    )
    assert found.driver.is_launch_context
    assert not found.driver.callable, "a secret is in a file, and not in the journal"
    # A repetition succeeds, and changes nothing.
    await client.call("submitApplication", **submission(client, number, application_name="other"))
    assert cluster.state.applications[number].submission == found


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"reservation_id": {"id": 1, "cluster_timestamp": 1}}, "Reservation is not enabled"),
        ({"applicationTags": ["a" * 101]}, "is too long"),
        (
            {"applicationTags": [f"t{number}" for number in range(11)]},
            "java.lang.IllegalArgumentException: Too many applicationTags",
        ),
        (
            {"application_timeouts": [{"application_timeout_type": 1, "timeout": -5}]},
            "Invalid application timeout, value=-5 for type=LIFETIME",
        ),
        ({"application_name": "two\nlines"}, "line break"),
        (
            {
                "am_container_spec": {
                    "command": ["run"],
                    "application_ACLs": [{"accessType": 1, "acl": "ann," * 5_000}],
                }
            },
            "an access list has 20000 characters",
        ),
        ({"queue": "q" * 5_000}, "queue has 5000 characters"),
    ],
)
async def test_what_cannot_be_honoured_is_refused(cluster, fields, words):
    client = Client(cluster)
    number = await reserved(client)
    kind, message = await client.refused(
        "submitApplication", **submission(client, number, **fields)
    )
    assert (kind, words in message) == ("YarnException", True), message
    assert number not in cluster.state.applications


async def test_a_master_is_not_asked_for_on_one_host_and_has_at_most_the_maximum(cluster):
    client = Client(cluster)
    wanted = submission(client, await reserved(client))
    (request,) = wanted["application_submission_context"]["am_container_resource_request"]
    request["resource_name"] = "h1"
    kind, message = await client.refused("submitApplication", **wanted)
    assert (kind, "on 'h1'" in message) == ("YarnException", True)
    request["resource_name"] = "*"
    request["capability"] = {"memory": 10_000_000, "virtual_cores": 1}
    kind, message = await client.refused("submitApplication", **wanted)
    assert kind == "InvalidResourceRequestException"
    assert "type=[memory-mb], Requested resource=<memory:10000000, vCores:1>" in message
    context = wanted["application_submission_context"]
    context["am_container_resource_request"] = [request, request]
    _, message = await client.refused("submitApplication", **wanted)
    assert message == "Invalid resource request, only one resource request with * is allowed"
    del context["am_container_resource_request"]
    _, message = await client.refused("submitApplication", **wanted)
    assert message == "Invalid resource request, no resources requested"


async def test_a_submission_for_another_cluster_is_refused(cluster):
    client = Client(cluster)
    wanted = submission(client, 1)
    name = wanted["application_submission_context"]["application_id"]
    wanted["application_submission_context"]["application_id"] = type(name)(
        id=1, cluster_timestamp=5
    )
    _, message = await client.refused("submitApplication", **wanted)
    assert message.startswith("application_5_0001 is not an application of this cluster")


async def test_an_attempt_is_reported_with_its_master(cluster, running):
    client = Client(cluster)
    wanted = client.attempt(running.application)
    answer = await client.call("getApplicationAttemptReport", application_attempt_id=wanted)
    report = answer.application_attempt_report
    assert report.application_attempt_id == wanted
    assert (report.host, report.rpc_port) == ("h1", 99)
    assert report.original_tracking_url == "http://h1:1"
    assert report.tracking_url.endswith(f"/proxy/{client.text(running.application)}/")
    assert report.yarn_application_attempt_state == 8  # RUNNING
    assert report.am_container_id.id == 1
    assert report.startTime > 0
    answer = await client.call(
        "getApplicationAttempts", application_id=client.name(running.application)
    )
    assert list(answer.application_attempts) == [report]


async def test_live_containers_are_reported(cluster, running):
    client = Client(cluster)
    application = cluster.state.applications[running.application]
    answer = await client.call(
        "getContainers", application_attempt_id=client.attempt(running.application)
    )
    (report,) = answer.containers
    assert report.container_id.id == 1
    assert (report.resource.memory, report.resource.virtual_cores) == (256, 1)
    assert (report.node_id.host, report.node_id.port) == ("h1", 1)
    assert report.container_state == 2  # RUNNING
    alone = await client.call("getContainerReport", container_id=report.container_id)
    assert alone.container_report.container_id == report.container_id
    assert application.attempt.master is not None


async def test_what_does_not_exist_is_refused_with_the_class_that_steers_clients(cluster, running):
    client, number = Client(cluster), running.application
    assert await client.refused("getApplicationAttempts", application_id=client.name(9)) == (
        "ApplicationNotFoundException",
        f"Application with id '{client.text(9)}' doesn't exist in RM. Please check that the job"
        " submission was successful.",
    )
    kind, _ = await client.refused(
        "getContainers", application_attempt_id=client.attempt(number, 2)
    )
    assert kind == "ApplicationAttemptNotFoundException"
    absent = records.container_id_message(cluster.state.epoch_ms, 0)
    absent = type(absent)(app_attempt_id=client.attempt(number), id=77)
    kind, message = await client.refused("getContainerReport", container_id=absent)
    assert kind == "ContainerNotFoundException"
    assert message.endswith("_000077' doesn't exist in RM.")
    kind, message = await client.refused("signalToContainer", container_id=absent, command=1)
    assert (kind, message[:39]) == ("YarnException", "Trying to signal an absent container co")


async def test_of_long_reasons_and_many_lifetimes_the_last_ones_count(cluster, running):
    client, number = Client(cluster), running.application
    ends = [
        {"application_timeout_type": 1, "expire_time": f"20{year}-01-01T00:00:00.000+0000"}
        for year in range(40, 90)
    ]
    version = cluster.server.service.version
    await client.call(
        "updateApplicationTimeouts", applicationId=client.name(number), application_timeouts=ends
    )
    assert cluster.server.service.version == version + 1
    assert cluster.state.applications[number].expires_ms == 3_755_376_000_000  # of 2089
    words = "a" * 100_000 + "the end"
    await client.call("forceKillApplication", application_id=client.name(number), diagnostics=words)
    found = cluster.state.applications[number].diagnostics
    assert found.endswith("the end")
    assert len(found) < 70_000


async def test_a_queue_that_does_not_exist_is_answered_with_nothing(cluster, running):
    client = Client(cluster)
    assert not (await client.call("getQueueInfo", queueName="nowhere")).HasField("queueInfo")
    assert not (await client.call("getApplications", queues=["root.nowhere"])).applications
    for queue in ("root", "root.ann"):
        (found,) = (await client.call("getApplications", queues=[queue])).applications
        assert found.applicationId.id == running.application


async def test_a_queue_comes_with_its_children_only_if_they_are_asked_for(cluster, running):
    client = Client(cluster)
    for asked, number in (({}, 0), ({"recursive": True}, 0), ({"includeChildQueues": True}, 1)):
        answer = await client.call("getQueueInfo", queueName="root", **asked)
        assert len(answer.queueInfo.childQueues) == number, asked


async def test_an_end_that_is_past_is_refused(cluster, running):
    client = Client(cluster)
    past = {"application_timeout_type": 1, "expire_time": "2001-01-01T00:00:00.000+0000"}
    kind, message = await client.refused(
        "updateApplicationTimeouts",
        applicationId=client.name(running.application),
        application_timeouts=[past],
    )
    assert kind == "YarnException"
    assert message.endswith(" expire-time=2001-01-01T00:00:00.000+0000")
    assert message.startswith("Expire time is less than current time, current-time=20")


async def test_an_application_is_killed_and_a_repetition_says_so(cluster, running):
    client = Client(cluster)
    wanted = {"application_id": client.name(running.application), "diagnostics": "no more"}
    await client.call("forceKillApplication", **wanted)
    again = await client.call("forceKillApplication", **wanted)
    assert again.is_kill_completed
    report = (
        await client.call("getApplicationReport", application_id=wanted["application_id"])
    ).application_report
    assert report.diagnostics == (
        f"Application {client.text(running.application)} was killed by user ann at 127.0.0.1 with"
        " diagnostic message: no more"
    )


async def test_priority_and_lifetime_change_as_for_the_rest_interface(tmp_path, anyio_backend):
    cluster = await Cluster(tmp_path, "capacity").start()
    node = cluster.node()
    node.register()
    master = await cluster.master(node)
    client = Client(cluster)
    name = client.name(master.application)
    answer = await client.call(
        "updateApplicationTimeouts",
        applicationId=name,
        application_timeouts=[
            {"application_timeout_type": 1, "expire_time": "2031-02-03T14:04:06.789+0000"}
        ],
    )
    assert answer.application_timeouts[0].expire_time == "2031-02-03T14:04:06.789+0000"
    assert cluster.state.applications[master.application].expires_ms == 1927893846789
    answer = await client.call(
        "updateApplicationPriority", applicationId=name, applicationPriority={"priority": 7}
    )
    given = cluster.state.applications[master.application].priority
    assert answer.applicationPriority.priority == given
    kind, message = await client.refused("updateApplicationTimeouts", applicationId=name)
    assert (kind, message[:12]) == ("YarnException", "At least one")
    kind, message = await client.refused(
        "moveApplicationAcrossQueues", application_id=name, target_queue="nowhere"
    )
    assert kind == "YarnException"
    assert "nowhere" in message
    await cluster.stop()


async def test_an_application_moves_to_a_queue_that_the_last_part_of_its_name_gives(
    tmp_path, anyio_backend
):
    half = QueueSettings(capacity=Percentage(50.0), maximum_master_share=1.0)
    queues = {
        "root": QueueSettings(children=("default", "b"), capacity=Percentage(100.0)),
        "root.default": half,
        "root.b": half,
    }
    two_queues = msgspec.structs.replace(CAPACITY, queues=queues)
    cluster = await Cluster(tmp_path, "capacity", capacity=two_queues).start()
    node = cluster.node()
    node.register()
    master = await cluster.master(node)
    client = Client(cluster)
    name = client.name(master.application)
    await client.call("moveApplicationAcrossQueues", application_id=name, target_queue="b")
    assert cluster.state.applications[master.application].queue == "root.b"
    await cluster.stop()


async def test_a_failed_attempt_is_followed_by_the_next_one(cluster, running):
    client, number = Client(cluster), running.application
    master = cluster.state.applications[number].attempt.master
    await client.call("failApplicationAttempt", application_attempt_id=client.attempt(number))
    assert cluster.state.applications[number].attempt.number == 2
    assert master in cluster.engine.stopped
    # An attempt that is over cannot fail.
    await client.call("failApplicationAttempt", application_attempt_id=client.attempt(number))
    assert cluster.state.applications[number].attempt.number == 2
    answer = await client.call("getApplicationAttempts", application_id=client.name(number))
    assert answer.application_attempts[0].diagnostics == "Attempt failed by user."


async def test_a_signal_goes_to_the_engine_of_the_container(cluster, running):
    master = cluster.state.applications[running.application].attempt.master
    name = records.container_id_message(cluster.state.epoch_ms, master)
    await Client(cluster).call("signalToContainer", container_id=name, command=3)
    assert cluster.engine.signals == [(master, "FORCEFUL_SHUTDOWN")]


async def test_labels_are_listed_by_node_and_by_label(tmp_path, anyio_backend):
    labelled = msgspec.structs.replace(CAPACITY, labels_enabled=True)
    cluster = await Cluster(tmp_path, "capacity", capacity=labelled).start()
    cluster.node().register()
    await cluster.settled()
    await cluster.server.service.ask(AddLabels({"gpu": False, "ssd": True}))
    await cluster.server.service.ask(LabelNodes({"h1:1": "gpu"}))
    client = Client(cluster)
    found = await client.call("getClusterNodeLabels")
    assert {one.name: one.isExclusive for one in found.nodeLabels} == {"gpu": False, "ssd": True}
    (node,) = (await client.call("getNodeToLabels")).nodeToLabels
    assert (node.nodeId.host, node.nodeId.port, list(node.nodeLabels)) == ("h1", 1, ["gpu"])
    (label,) = (await client.call("getLabelsToNodes")).labelsToNodes
    assert (label.nodeLabels, [one.host for one in label.nodeId]) == ("gpu", ["h1"])
    assert not (await client.call("getLabelsToNodes", nodeLabels=["ssd"])).labelsToNodes
    await cluster.stop()


async def test_a_cluster_without_labels_and_attributes_answers_empty_lists(cluster):
    client = Client(cluster)
    for method in (
        "getClusterNodeLabels",
        "getNodeToLabels",
        "getLabelsToNodes",
        "getClusterNodeAttributes",
        "getAttributesToNodes",
        "getNodesToAttributes",
    ):
        assert (await client.call(method)).ByteSize() == 0


async def test_each_change_has_a_line_in_the_audit_log_and_reports_have_none(cluster, running):
    client, number = Client(cluster), running.application
    await client.call("getApplicationReport", application_id=client.name(number))
    await client.refused("forceKillApplication", application_id=client.name(9))
    await client.call("failApplicationAttempt", application_attempt_id=client.attempt(number))
    client.context = CallContext("ann", "oozie", None, "10.0.0.7", "")
    await client.refused("forceKillApplication", application_id=client.name(number))
    lines = (cluster.server.directory.path / FILE).read_text().splitlines()
    entries = [msgspec.json.decode(line, type=AuditEntry) for line in lines]
    kill, fail = (
        f"ApplicationClientProtocol/{name}"
        for name in ("forceKillApplication", "failApplicationAttempt")
    )
    own, other = client.text(number), client.text(9)
    found = [(one.path, one.status, one.user, one.application, one.code) for one in entries]
    assert found == [
        (kill, 400, "ann", other, "ApplicationNotFoundException"),
        (fail, 200, "ann", own, ""),
        (kill, 403, "ann (by oozie)", own, "AuthorizationException"),
    ]
    assert entries[2].address == "10.0.0.7"
    assert entries[1].queue == "root.ann"


def test_the_methods_that_are_refused_are_those_that_the_documentation_lists():
    page = (Path(__file__).parents[4] / "docs/hadoop-differences.md").read_text()
    start = page.index("Methods of `ApplicationClientProtocol` that are refused")
    end = page.index("## ", start)
    listed = set(re.findall(r"`([a-z]\w+)`", page[start:end]))
    refused = {*NOT_SUPPORTED, *administration.NOT_SUPPORTED, *NO_ATTRIBUTES}
    refused |= {"getResourceProfiles", "getResourceProfile"}
    assert listed == refused | {"transitionToStandby", "transitionToObserver"}
