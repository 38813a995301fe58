"""What a caller of Hadoop's RPC may see and change, where access control is on.

ann owns the application, bob administers its queue, carol is in its list of viewers, dave in that
of those who may change it, boss administers the cluster, and mallory has no right at all.
"""

from typing import Any

import msgspec
import pytest
from tests.unit.yarn.rpc.cluster import CAPACITY, Cluster
from tests.unit.yarn.rpc.test_clients import Client

from fairshare.core.placement.mapping import MappingRule, Matcher
from fairshare.core.schedulers.capacity.settings import Percentage, QueueSettings
from fairshare.server.server import LiveServer
from fairshare.settings.web import WebSettings
from fairshare.yarn.rpc.wire.calls import CallContext
from fairshare.yarn.rpc.wire.descriptors import APPLICATION_CLIENT, METHODS

pytestmark = pytest.mark.anyio

HALF = {"capacity": Percentage(50.0), "maximum_master_share": 1.0}
LISTS = msgspec.structs.replace(
    CAPACITY,
    acl_enabled=True,
    administrators_acl="boss",
    maximum_application_priority=10,
    queues={
        "root": QueueSettings(
            children=("default", "research"),
            capacity=Percentage(100.0),
            submit_acl=" ",
            administer_acl=" ",
        ),
        "root.default": QueueSettings(submit_acl="*", administer_acl="bob", **HALF),
        "root.research": QueueSettings(
            submit_acl="ann", administer_acl="bob", default_application_priority=2, **HALF
        ),
    },
)
NOBODY_ELSE = {
    "forceKillApplication",
    "moveApplicationAcrossQueues",
    "updateApplicationPriority",
    "updateApplicationTimeouts",
    "signalToContainer",
    "failApplicationAttempt",
}
"""Methods that change an application."""
LOOKING_INSIDE = {
    "getApplicationAttempts",
    "getApplicationAttemptReport",
    "getContainers",
    "getContainerReport",
}
"""Methods whose answers strangers do not get."""
OF_ONE_APPLICATION = {*NOBODY_ELSE, *LOOKING_INSIDE, "getApplicationReport"}


@pytest.fixture
async def cluster(tmp_path, anyio_backend, monkeypatch):
    monkeypatch.setattr(LiveServer, "controls_access", True)
    made = await Cluster(tmp_path, "capacity", capacity=LISTS).start()
    yield made
    await made.stop()


@pytest.fixture
async def running(cluster):
    """ann's application in root.default, whose master runs."""
    node = cluster.node()
    node.register()
    return await cluster.master(node, view_acl="carol", modify_acl="dave")


def request_for(client: Client, number: int, method: str) -> dict[str, Any]:
    """A request that would do something to an application."""
    application, attempt = client.name(number), client.attempt(number)
    container = {"app_attempt_id": attempt, "id": 1}
    return {
        "getApplicationReport": {"application_id": application},
        "getApplicationAttempts": {"application_id": application},
        "getApplicationAttemptReport": {"application_attempt_id": attempt},
        "getContainers": {"application_attempt_id": attempt},
        "getContainerReport": {"container_id": container},
        "forceKillApplication": {"application_id": application},
        "failApplicationAttempt": {"application_attempt_id": attempt},
        "moveApplicationAcrossQueues": {"application_id": application, "target_queue": "default"},
        "updateApplicationPriority": {
            "applicationId": application,
            "applicationPriority": {"priority": 1},
        },
        "updateApplicationTimeouts": {
            "applicationId": application,
            "application_timeouts": [
                {"application_timeout_type": 1, "expire_time": "2039-01-01T00:00:00.000+0000"}
            ],
        },
        "signalToContainer": {"container_id": container, "command": 1},
    }[method]


def names_an_application(message: Any) -> bool:
    return any(
        field.message_type is not None
        and field.message_type.name
        in ("ApplicationIdProto", "ApplicationAttemptIdProto", "ContainerIdProto")
        for field in message.DESCRIPTOR.fields
    )


async def test_the_methods_about_one_application_are_these_and_no_others():
    found = {
        name
        for (protocol, name), method in METHODS.items()
        if protocol == APPLICATION_CLIENT and names_an_application(method.request)
    }
    assert found == OF_ONE_APPLICATION


@pytest.mark.parametrize("user", ["mallory", "carol"])
async def test_only_users_in_its_list_may_change_an_application(cluster, running, user):
    client = Client(cluster, user)
    for method in sorted(NOBODY_ELSE):
        wanted = request_for(client, running.application, method)
        assert await client.refused(method, **wanted) == (
            "YarnException",
            f"java.security.AccessControlException: User {user} cannot perform operation MODIFY_APP"
            f" on {client.text(running.application)}",
        ), method
    assert cluster.state.applications[running.application].attempt.active
    assert cluster.engine.signals == []


async def test_other_users_cannot_view_an_application(cluster, running):
    for user in ("mallory", "dave"):
        client = Client(cluster, user)
        for method in sorted(LOOKING_INSIDE):
            wanted = request_for(client, running.application, method)
            kind, message = await client.refused(method, **wanted)
            assert kind == "YarnException"
            assert message.startswith(f"User {user} does not have privilege to see this"), method
    for user in ("ann", "bob", "carol", "boss"):
        client = Client(cluster, user)
        for method in sorted(LOOKING_INSIDE):
            await client.call(method, **request_for(client, running.application, method))


async def test_other_users_see_the_public_part_of_a_report(cluster, running):
    async def report(user: str) -> Any:
        client = Client(cluster, user)
        wanted = {"application_id": client.name(running.application)}
        return (await client.call("getApplicationReport", **wanted)).application_report

    seen, whole = await report("mallory"), await report("carol")
    public = (seen.user, seen.queue, seen.yarn_application_state, seen.startTime)
    assert public == (whole.user, whole.queue, whole.yarn_application_state, whole.startTime)
    assert (whole.host, whole.rpc_port, whole.trackingUrl[-1]) == ("h1", 99, "/")
    assert (seen.host, seen.rpc_port, seen.trackingUrl) == ("N/A", -1, "N/A")
    assert (seen.diagnostics, seen.originalTrackingUrl) == ("N/A", "N/A")
    assert seen.currentApplicationAttemptId.attemptId == -1
    assert seen.app_resource_Usage.used_resources.memory == -1
    assert seen.app_resource_Usage.num_used_containers == -1


async def test_a_list_with_a_queue_has_only_applications_that_its_caller_may_view(cluster, running):
    wanted = {"queueName": "root", "includeApplications": True}
    for user, number in (("ann", 1), ("carol", 1), ("mallory", 0)):
        answer = await Client(cluster, user).call("getQueueInfo", **wanted)
        assert len(answer.queueInfo.applications) == number, user


async def test_an_application_goes_only_into_a_queue_that_its_mover_may_use(cluster, running):
    dave = Client(cluster, "dave")
    wanted = {"application_id": dave.name(running.application), "target_queue": "research"}
    assert await dave.refused("moveApplicationAcrossQueues", **wanted) == (
        "YarnException",
        "java.security.AccessControlException: User dave cannot submit applications to target queue"
        " or the target queue doesn't exist: research while moving"
        f" {dave.text(running.application)}",
    )
    assert cluster.state.applications[running.application].queue == "root.default"
    await Client(cluster, "bob").call("moveApplicationAcrossQueues", **wanted)
    assert cluster.state.applications[running.application].queue == "root.research"


async def test_users_outside_the_list_of_a_queue_cannot_submit_to_it(cluster):
    client = Client(cluster, "mallory")
    number = (await client.call("getNewApplication")).application_id.id
    context = {
        "application_id": client.name(number),
        "queue": "research",
        "am_container_spec": {"command": ["true"]},
        "resource": {"memory": 256, "virtual_cores": 1},
    }
    kind, message = await client.refused(
        "submitApplication", application_submission_context=context
    )
    assert kind == "YarnException"
    assert message.startswith(
        "org.apache.hadoop.security.AccessControlException: User mallory does not have permission"
    )
    # An application without a priority gets that of its queue.
    ann = Client(cluster, "ann")
    number = (await ann.call("getNewApplication")).application_id.id
    context["application_id"] = ann.name(number)
    await ann.call("submitApplication", application_submission_context=context)
    assert cluster.state.applications[number].priority == 2


async def test_a_tag_places_for_listed_users_alone_and_gives_its_user_no_rights(
    tmp_path, anyio_backend, monkeypatch
):
    monkeypatch.setattr(LiveServer, "controls_access", True)
    rule = MappingRule(Matcher.ALL, path="root.%user", create=False)
    queues = {
        "root": QueueSettings(
            children=("ann", "mallory", "hive"),
            capacity=Percentage(100.0),
            submit_acl=" ",
            administer_acl=" ",
        ),
        "root.ann": QueueSettings(submit_acl="ann,hive", **HALF),
        "root.mallory": QueueSettings(submit_acl="mallory", **HALF),
        "root.hive": QueueSettings(submit_acl="hive", capacity=Percentage(0.0)),
    }
    settings = msgspec.structs.replace(
        LISTS, queues=queues, mappings=(rule,), tag_users=("hive",), mappings_override=True
    )
    cluster = await Cluster(tmp_path, "capacity", capacity=settings).start()
    placed = {}
    for user in ("hive", "mallory"):
        client = Client(cluster, user)
        number = (await client.call("getNewApplication")).application_id.id
        context = {
            "application_id": client.name(number),
            "applicationTags": ["userid=ann"],
            "am_container_spec": {"command": ["true"]},
            "resource": {"memory": 256, "virtual_cores": 1},
        }
        await client.call("submitApplication", application_submission_context=context)
        placed[user] = cluster.state.applications[number]
    assert {user: one.queue for user, one in placed.items()} == {
        "hive": "root.ann",
        "mallory": "root.mallory",  # not in the list
    }
    assert [one.submission.user for one in placed.values()] == ["hive", "mallory"]
    of_hive = placed["hive"].id
    ann, hive = Client(cluster, "ann"), Client(cluster, "hive")
    kind, _ = await ann.refused("forceKillApplication", application_id=ann.name(of_hive))
    assert kind == "YarnException"
    assert await hive.call("forceKillApplication", application_id=hive.name(of_hive))
    await cluster.stop()


@pytest.mark.parametrize(
    ("hosts", "address", "message"),
    [
        ("*", "10.0.0.7", ""),
        ("10.0.0.7", "10.0.0.7", ""),
        ("10.0.0.0/8, elsewhere", "10.0.0.7", ""),
        ("localhost", "127.0.0.1", ""),
        ("127.0.0.1", "10.0.0.7", "Unauthorized connection for super-user: oozie from IP 10.0.0.7"),
        ("", "10.0.0.7", "Unauthorized connection for super-user: oozie from IP 10.0.0.7"),
    ],
)
async def test_a_user_acts_for_others_only_from_the_hosts_that_are_named(
    cluster, running, hosts, address, message
):
    client = Client(cluster, "ann")
    client.context = CallContext("ann", "oozie", None, address, "")
    client.gateway.settings = WebSettings(proxies={"oozie": {"hosts": hosts, "users": "ann"}})
    wanted = {"application_id": client.name(running.application)}
    if not message:
        await client.call("forceKillApplication", **wanted)
        return
    assert await client.refused("forceKillApplication", **wanted) == (
        "AuthorizationException",
        message,
    )


async def test_a_proxy_user_acts_only_for_listed_users_and_gains_no_rights(cluster, running):
    client = Client(cluster, "ann")
    client.gateway.settings = WebSettings(proxies={"oozie": {"hosts": "*", "users": "mallory"}})
    wanted = {"application_id": client.name(running.application)}
    client.context = CallContext("ann", "oozie", None, "127.0.0.1", "")
    assert await client.refused("forceKillApplication", **wanted) == (
        "AuthorizationException",
        "User: oozie is not allowed to impersonate ann",
    )
    client.context = CallContext("mallory", "oozie", None, "127.0.0.1", "")
    _, message = await client.refused("forceKillApplication", **wanted)
    assert "User mallory cannot perform operation MODIFY_APP" in message
