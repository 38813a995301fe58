"""Applications are killed, moved and given an end as YARN's clients do it."""

import pytest

pytestmark = pytest.mark.anyio


async def test_the_diagnostics_of_a_kill_name_the_user_and_the_reason(yarn):
    name = await yarn.submit()
    body = {"state": "KILLED", "diagnostics": "enough"}
    answer = await yarn.call("PUT", f"/apps/{name}/state?user.name=alice", json=body)
    assert answer.status_code == 202
    assert answer.headers["location"].endswith(f"/apps/{name}/state")
    again = await yarn.call("PUT", f"/apps/{name}/state?user.name=alice", json=body)
    assert (again.status_code, again.json()) == (200, {"state": "KILLED"})
    reported = (await yarn.app(name))["diagnostics"]
    assert (
        reported == f"Application {name} was killed by user alice with diagnostic message: enough"
    )


@pytest.mark.parametrize("body", [{}, {"app": {"state": "KILLED"}}, {"state": "RUNNING AWAY"}])
async def test_an_invalid_kill_is_refused_and_changes_nothing(yarn, body):
    name = await yarn.submit()
    answer = await yarn.call("PUT", f"/apps/{name}/state", json=body)
    assert answer.status_code == 400
    assert (await yarn.app(name))["state"] == "ACCEPTED"


@pytest.mark.parametrize(
    "zoned",
    ["2099-02-03T04:05:06.789+0000", "2099-02-03T09:35:06.789+05:30", "2099-02-03T04:05:06.789Z"],
)
async def test_an_end_of_life_may_be_written_in_any_zone(yarn, zoned):
    name = await yarn.submit()
    body = {"timeout": {"type": "LIFETIME", "expiryTime": zoned}}
    answer = await yarn.call("PUT", f"/apps/{name}/timeout", json=body)
    assert answer.json()["timeout"]["expiryTime"] == "2099-02-03T04:05:06.789+0000"
    assert answer.json()["timeout"]["remainingTimeInSeconds"] > 10**9


@pytest.mark.parametrize("when", ["tomorrow", "2001-01-01T00:00:00.000+0000", "UNLIMITED"])
async def test_an_invalid_end_of_life_is_refused(yarn, when):
    name = await yarn.submit()
    body = {"timeout": {"type": "LIFETIME", "expiryTime": when}}
    answer = await yarn.call("PUT", f"/apps/{name}/timeout", json=body)
    assert answer.status_code == 400
    assert (await yarn.app(name))["timeouts"]["timeout"][0]["expiryTime"] == "UNLIMITED"


@pytest.mark.parametrize(
    "body", [{}, {"resourceOption": {"resource": {"memory": 4096, "vCores": 4}}}]
)
async def test_a_node_is_never_emptied_by_a_slip(yarn, body):
    answer = await yarn.call("POST", "/nodes/n1:45454/resource", json=body)
    assert answer.status_code == 200
    assert yarn.state.nodes["n1"].total == ((8192, 8) if not body else (4096, 4))


async def test_what_is_too_much_for_a_smaller_node_goes_when_its_time_is_over(yarn):
    await yarn.submit()
    await yarn.beat()
    node = yarn.state.nodes["n1"]
    assert node.containers
    small = {"resource": {"memory": 0, "vCores": 0}}
    await yarn.call("POST", "/nodes/n1:45454/resource", json=small)
    assert (yarn.state.overcommits, len(node.containers) > 0) == ({}, True)
    later = {**small, "overCommitTimeout": 60_000}
    await yarn.call("POST", "/nodes/n1:45454/resource", json=later)
    assert list(yarn.state.overcommits) == ["n1"]
    answer = await yarn.call(
        "POST", "/nodes/n1:45454/resource", json=small | {"overCommitTimeout": 0}
    )
    assert (answer.status_code, yarn.state.overcommits, node.containers) == (200, {}, {})


async def test_only_commands_that_there_are_can_be_sent_to_a_container(yarn):
    answer = await yarn.call("POST", "/containers/container_1_0001_01_000001/signal/DANCE")
    assert answer.status_code == 400
    assert "valid commands are" in answer.text


async def test_with_access_control_others_may_not_change_it(start):
    queues = (
        '<allocations><queue name="root"><aclAdministerApps> </aclAdministerApps>'
        "<aclSubmitApps>admin</aclSubmitApps>"
        '<queue name="a"/></queue></allocations>'
    )
    yarn = await start(
        config={"fair-scheduler.xml": queues},
        **{"yarn.acl.enable": True, "yarn.admin.acl": "admin"},
    )
    acls = {"entry": [{"key": "MODIFY_APP", "value": "erin"}]}
    spec = {"commands": {"command": "sleep 1"}, "application-acls": acls}
    name = await yarn.submit("admin", **{"am-container-spec": spec})
    body = {"state": "KILLED"}
    refused = await yarn.call("PUT", f"/apps/{name}/state?user.name=mallory", json=body)
    assert refused.status_code == 403
    allowed = await yarn.call("PUT", f"/apps/{name}/state?user.name=erin", json=body)
    assert allowed.status_code == 202


async def test_a_scheduler_whose_configuration_is_a_file_shows_and_changes_none(yarn):
    shown = await yarn.get("/scheduler-conf?user.name=root")
    assert shown.status_code == 400
    assert "underneath scheduler" in shown.text
    changed = await yarn.call("PUT", "/scheduler-conf?user.name=root", json={})
    assert changed.status_code == 400


async def test_a_configuration_that_can_be_changed_is_shown(start):
    properties = {
        "yarn.scheduler.capacity.root.queues": "a",
        "yarn.scheduler.capacity.root.a.capacity": 100,
        "yarn.scheduler.configuration.store.class": "memory",
    }
    yarn = await start(scheduler="capacity", config={}, **properties)
    shown = await yarn.get("/scheduler-conf?user.name=root")
    assert shown.status_code == 200
    found = {one["name"]: one["value"] for one in shown.json()["property"]}
    assert found["yarn.scheduler.capacity.root.queues"] == "a"


@pytest.mark.parametrize("content", [b"\x80=&time=%ff", b"time=\xff", b"", b"time=0"])
async def test_a_form_of_other_bytes_or_without_a_period_is_refused(yarn, content):
    answer = await yarn.call("POST", "/scheduler/logs", content=content)
    assert answer.status_code == 400
