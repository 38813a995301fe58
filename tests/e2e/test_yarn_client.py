"""A client of YARN's REST interface that others wrote gets along with `fairshare serve`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.served import SMALL_MACHINE, Served, until
from yarn_api_client import ResourceManager
from yarn_api_client.auth import SimpleAuth
from yarn_api_client.errors import APIError

_CLASS = "org.apache.hadoop.yarn.server.resourcemanager.scheduler."
FAIR = {
    "yarn.resourcemanager.scheduler.class": _CLASS + "fair.FairScheduler",
    "yarn.scheduler.minimum-allocation-mb": "64",
    "yarn.resource-types.memory-mb.increment-allocation": "64",
}
CAPACITY = {
    "yarn.resourcemanager.scheduler.class": _CLASS + "capacity.CapacityScheduler",
    "yarn.scheduler.minimum-allocation-mb": "64",
    "yarn.cluster.max-application-priority": "10",
    "yarn.scheduler.configuration.store.class": "memory",
}
QUEUES = {
    "yarn.scheduler.capacity.root.queues": "a,b",
    "yarn.scheduler.capacity.root.a.capacity": "50",
    "yarn.scheduler.capacity.root.b.capacity": "50",
    "yarn.scheduler.capacity.maximum-am-resource-percent": "1.0",
}
ALLOCATIONS = (
    "<allocations><queueMaxAMShareDefault>-1.0</queueMaxAMShareDefault>"
    '<queue name="a"/><queue name="b"/></allocations>'
)

Found = TypeVar("Found")


def site(properties: dict[str, str]) -> str:
    rows = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in properties.items()
    )
    return f"<configuration>{rows}</configuration>"


@pytest.fixture(params=["fair", "capacity"])
def client(request: Any, tmp_path: Path) -> Iterator[ResourceManager]:
    if request.param == "fair":
        files = {"yarn-site.xml": site(FAIR), "fair-scheduler.xml": ALLOCATIONS}
    else:
        files = {"yarn-site.xml": site(CAPACITY), "capacity-scheduler.xml": site(QUEUES)}
    server = Served(tmp_path / "conf", *SMALL_MACHINE, files=files)
    manager = ResourceManager([server.url], auth=SimpleAuth("alice"))
    manager.session.trust_env = False
    manager.kind = request.param
    yield manager
    manager.session.close()
    server.end()


def submit(client: ResourceManager, command: str, **more: object) -> str:
    name: str = client.cluster_new_application().data["application-id"]
    body = {
        "application-id": name,
        "application-name": "by a client",
        "queue": "root.a",
        "application-tags": {"tag": ["One"]},
        "am-container-spec": {"commands": {"command": command}},
        "resource": {"memory": 64, "vCores": 1},
        "max-app-attempts": 1,
        **more,
    }
    client.cluster_submit_application(body)
    return name


def app(client: ResourceManager, name: str) -> dict[str, Any]:
    found: dict[str, Any] = client.cluster_application(name).data["app"]
    return found


def test_what_the_cluster_is(client):
    info = client.cluster_information().data["clusterInfo"]
    assert (info["state"], info["haState"]) == ("STARTED", "ACTIVE")
    metrics = until(
        lambda: (
            found
            if (found := client.cluster_metrics().data["clusterMetrics"])["activeNodes"]
            else None
        )
    )
    assert metrics["totalMB"] == 1024
    scheduler = client.cluster_scheduler().data["scheduler"]["schedulerInfo"]
    assert scheduler["type"] == f"{client.kind}Scheduler"
    nodes = client.cluster_nodes().data["nodes"]["node"]
    assert client.cluster_node(nodes[0]["id"]).data["node"]["state"] == "RUNNING"
    if client.kind == "capacity":
        assert client.cluster_scheduler_queue("a")["queueName"] == "a"
        assert client.cluster_scheduler_conf_mutation().data["property"]


def test_an_application_from_submission_to_its_end(client):
    name = submit(client, "echo done > /dev/null")
    until(lambda: app(client, name)["state"] == "FINISHED")
    found = app(client, name)
    assert found["finalStatus"] == "SUCCEEDED"
    assert (found["user"], found["queue"], found["applicationTags"]) == ("alice", "root.a", "one")
    listed = client.cluster_applications(states=["FINISHED"], user="alice").data["apps"]["app"]
    assert [one["id"] for one in listed] == [name]
    assert client.cluster_applications(state="RUNNING").data == {"apps": {}}
    statistics = client.cluster_application_statistics(states=["FINISHED"]).data["appStatInfo"]
    assert statistics["statItem"] == [{"state": "FINISHED", "type": "*", "count": 1}]


def test_a_command_that_fails(client):
    name = submit(client, "exit 3")
    until(lambda: app(client, name)["state"] == "FAILED")
    found = app(client, name)
    assert found["finalStatus"] == "FAILED"
    assert "exitCode: 3" in found["diagnostics"]


def test_an_application_that_runs_is_looked_into_and_killed(client):
    name = submit(client, "sleep 600")
    until(lambda: app(client, name)["allocatedMB"] == 64)
    attempts = client.cluster_application_attempts(name).data["appAttempts"]["appAttempt"]
    attempt = attempts[0]["appAttemptId"]
    detail = client.cluster_application_attempt_info(name, attempt).data
    container = detail["amContainerId"]
    containers = client.cluster_application_attempt_containers(name, attempt).data
    assert containers["container"]["containerId"] == container
    one = client.cluster_application_attempt_container_info(name, attempt, container).data
    assert one["containerState"] == "RUNNING"

    moved = client.cluster_change_application_queue(name, "root.b").data
    assert moved == {"queue": "root.b"}
    assert client.cluster_get_application_queue(name).data == moved
    if client.kind == "capacity":
        assert client.cluster_change_application_priority(name, 5).data == {"priority": 5}
    else:
        with pytest.raises(APIError, match="not supported"):
            client.cluster_change_application_priority(name, 5)
    expiry = "2099-01-01T00:00:00.000+0000"
    reported = client.cluster_update_application_timeout(name, "LIFETIME", expiry).data["timeout"]
    assert reported["expiryTime"] == expiry
    assert client.cluster_application_timeout(name, "LIFETIME").data["timeout"]["type"] == (
        "LIFETIME"
    )
    assert len(client.cluster_application_timeouts(name).data["timeouts"]["timeout"]) == 1

    client.cluster_application_kill(name)
    until(lambda: client.cluster_application_state(name).data == {"state": "KILLED"})
    assert client.cluster_application_kill(name).data == {"state": "KILLED"}
    assert app(client, name)["diagnostics"] == f"Application {name} was killed by user alice"


def test_refusals_raise_errors_with_the_reason(client):
    with pytest.raises(APIError, match="not found"):
        client.cluster_application("application_1_0001")
    with pytest.raises(APIError, match="Reservation is not enabled"):
        client.cluster_reservations(queue="root.a")
    with pytest.raises(APIError, match="Kerberos"):
        client.cluster_new_delegation_token("bob")
    assert client.scheduler_activities().data["activities"]["diagnostic"]
