"""Applications as a timeline server shows them, with containers that have ended."""

import pytest

from fairshare.core.model.identifiers import container_name
from fairshare.core.model.inputs import KillApplication

pytestmark = pytest.mark.anyio

BASE = "/ws/v1/applicationhistory"


async def read(yarn, path: str, user: str = "alice", **more):
    yarn.server.http.cookies.clear()
    return await yarn.server.http.get(f"{BASE}{path}?user.name={user}", **more)


@pytest.fixture
async def ended(yarn) -> tuple[str, str]:
    """An application of alice that was killed, and its master's container."""
    name = await yarn.submit(**{"application-tags": {"tag": "night"}})
    await yarn.beat()
    master = yarn.state.applications[1].attempt.master
    await yarn.server.live.service.ask(KillApplication(1, "alice", "no more of it"))
    return name, container_name(yarn.state.epoch_ms, master)


async def test_an_application_that_is_over_has_its_state_and_what_it_used(yarn, ended):
    name, _ = ended
    document = (await read(yarn, f"/apps/{name}")).json()
    assert document["appId"] == name
    assert (document["appState"], document["finalAppStatus"]) == ("KILLED", "KILLED")
    assert document["currentAppAttemptId"].endswith("_0001_000001")
    assert (document["user"], document["applicationTags"]) == ("alice", "night")
    assert document["finishedTime"] >= document["startedTime"] > 0
    assert "MB-seconds, " in document["aggregateResourceAllocation"]


async def test_a_list_takes_the_conditions_of_the_other_list(yarn, ended):
    name, _ = ended
    listed = (await read(yarn, "/apps")).json()
    assert [info["appId"] for info in listed["app"]] == [name]
    yarn.server.http.cookies.clear()
    answer = await yarn.server.http.get(f"{BASE}/apps?states=RUNNING&user.name=alice")
    assert answer.json().get("app", []) == []


async def test_attempts_and_containers_of_an_application_that_is_over(yarn, ended):
    name, container = ended
    attempts = (await read(yarn, f"/apps/{name}/appattempts")).json()["appAttempt"]
    assert [one["amContainerId"] for one in attempts] == [container]
    path = f"/apps/{name}/appattempts/{attempts[0]['appAttemptId']}"
    assert (await read(yarn, path)).json() == attempts[0]
    containers = (await read(yarn, f"{path}/containers")).json()["container"]
    assert [one["containerId"] for one in containers] == [container]
    shown = (await read(yarn, f"{path}/containers/{container}/")).json()
    assert shown == containers[0]
    assert shown["containerState"] == "COMPLETE"
    assert shown["allocatedResources"]["memory-mb"] == shown["allocatedMB"]


async def test_a_container_that_runs_is_shown_too(yarn):
    name = await yarn.submit()
    await yarn.beat()
    attempt = name.replace("application", "appattempt") + "_000001"
    path = f"/apps/{name}/appattempts/{attempt}/containers"
    (container,) = (await read(yarn, path)).json()["container"]
    assert (container["containerState"], container["finishedTime"]) == ("RUNNING", 0)


async def test_xml_has_the_name_of_the_document(yarn, ended):
    name, container = ended
    answer = await read(yarn, f"/apps/{name}", headers={"Accept": "application/xml"})
    assert f"<app><appId>{name}</appId>" in answer.text
    attempt = name.replace("application", "appattempt") + "_000001"
    path = f"/apps/{name}/appattempts/{attempt}/containers/{container}"
    answer = await read(yarn, path, headers={"Accept": "application/xml"})
    assert "<entry><key>memory-mb</key>" in answer.text


async def test_what_is_not_there_is_not_found(yarn, ended):
    name, container = ended
    attempt = name.replace("application", "appattempt") + "_000001"
    other = container[:-1] + "9"
    for path in (
        f"/apps/{name[:-1]}9",
        f"/apps/{name}/appattempts/{attempt[:-1]}7",
        f"/apps/{name}/appattempts/{attempt}/containers/{other}",
        "/nothing",
    ):
        assert (await read(yarn, path)).status_code == 404, path
    assert (await read(yarn, "/apps/application_x")).status_code in (400, 404)
