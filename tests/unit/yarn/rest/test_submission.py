"""Applications are submitted as YARN's clients do it."""

import pytest

from fairshare.core.model.inputs import ContainerExited
from fairshare.server.users.groups import GroupsUnavailable
from fairshare.server.web import actors

pytestmark = pytest.mark.anyio


async def test_a_reserved_number_is_not_used_again(yarn):
    first, second = await yarn.reserve(), await yarn.reserve()
    assert first != second
    name = await yarn.submit()
    assert name not in (first, second)


async def test_a_command_runs_as_the_first_container(yarn):
    spec = {
        "commands": {"command": ["echo {{WHO}}", "cat <LOG_DIR>/x"]},
        "environment": {"entry": {"key": "WHO", "value": "me"}},
    }
    name = await yarn.submit(**{"am-container-spec": spec})
    driver = yarn.state.applications[1].submission.driver
    assert driver.arguments == ("/bin/sh", "-c", "echo ${WHO}\ncat ${LOG_DIRS}/x")
    assert driver.environment == {"WHO": "me"}
    await yarn.beat()
    assert (await yarn.app(name))["amHostHttpAddress"] == "n1:8042"


async def test_a_command_that_ends_with_0_has_succeeded(yarn):
    name = await yarn.submit()
    await yarn.beat()
    master = yarn.state.applications[1].attempt.master
    await yarn.server.live.service.ask(ContainerExited(master, 0))
    found = await yarn.app(name)
    assert (found["state"], found["finalStatus"]) == ("FINISHED", "SUCCEEDED")
    assert found["progress"] == 100.0


async def test_a_command_that_fails_is_tried_as_often_as_it_says(yarn):
    name = await yarn.submit(**{"max-app-attempts": 1})
    await yarn.beat()
    master = yarn.state.applications[1].attempt.master
    await yarn.server.live.service.ask(ContainerExited(master, 7, "no luck"))
    found = await yarn.app(name)
    assert (found["state"], found["finalStatus"]) == ("FAILED", "FAILED")
    assert "failed 1 times (global limit =2; local limit is =1)" in found["diagnostics"]
    assert "exitCode: 7" in found["diagnostics"]
    assert "no luck" in found["diagnostics"]


@pytest.mark.parametrize(
    ("body", "reported"),
    [
        (
            {"am-container-spec": {"local-resources": {"entry": {"key": "a", "value": {}}}}},
            "local-resources are not fetched",
        ),
        ({"reservation-id": "reservation_1_0001"}, "Reservation is not enabled"),
        ({"resource": {"memory": 99999999, "vCores": 1}}, "more memory than configured max"),
        ({"application-tags": {"tag": ["t" * 101]}}, "is too long"),
    ],
)
async def test_what_cannot_run_is_refused_and_leaves_no_trace(yarn, body, reported):
    name = await yarn.reserve()
    wanted = {"application-id": name, "queue": "root.a", **body}
    answer = await yarn.call("POST", "/apps?user.name=alice", json=wanted)
    assert answer.status_code == 400
    assert reported in answer.json()["RemoteException"]["message"]
    assert (await yarn.get(f"/apps/{name}")).status_code == 404


async def test_a_submission_that_waits_for_the_groups_of_a_user_is_not_a_wrong_one(
    start, monkeypatch
):
    by_tag = "yarn.resourcemanager.application-tag-based-placement"
    yarn = await start(**{f"{by_tag}.enable": True, f"{by_tag}.username.whitelist": "alice"})

    async def groups_of(server: object, user: str) -> tuple[str, ...]:
        raise GroupsUnavailable(user, "the directory service does not answer")

    monkeypatch.setattr(actors, "groups_of", groups_of)
    wanted = {
        "application-id": await yarn.reserve(),
        "queue": "root.a",
        "application-tags": {"tag": ["userid=bob"]},
    }
    answer = await yarn.call("POST", "/apps?user.name=alice", json=wanted)
    assert answer.status_code == 503
    assert "the directory service does not answer" in answer.text


async def test_a_tag_places_for_listed_users_alone_and_gives_its_user_no_rights(start):
    by_tag = "yarn.resourcemanager.application-tag-based-placement"
    allocations = (
        '<allocations><queue name="root"><aclSubmitApps> </aclSubmitApps>'
        "<aclAdministerApps> </aclAdministerApps>"
        '<queue name="ann"><aclSubmitApps>ann,hive</aclSubmitApps></queue>'
        '<queue name="bob"><aclSubmitApps>bob</aclSubmitApps></queue>'
        '<queue name="hive"><aclSubmitApps>hive</aclSubmitApps></queue></queue>'
        '<queuePlacementPolicy><rule name="user" create="false"/><rule name="reject"/>'
        "</queuePlacementPolicy></allocations>"
    )
    yarn = await start(
        config={"fair-scheduler.xml": allocations},
        **{
            f"{by_tag}.enable": True,
            f"{by_tag}.username.whitelist": "hive",
            "yarn.acl.enable": True,
            "yarn.admin.acl": " ",
        },
    )
    tags = {"application-tags": {"tag": ["userid=ann"]}}
    of_bob, of_hive = await yarn.submit("bob", **tags), await yarn.submit("hive", **tags)
    bobs, hives = await yarn.app(of_bob, "bob"), await yarn.app(of_hive, "hive")
    assert (bobs["user"], bobs["queue"]) == ("bob", "root.bob"), "bob is not in the list"
    assert (hives["user"], hives["queue"]) == ("hive", "root.ann")
    kill = {"json": {"state": "KILLED"}}
    answer = await yarn.call("PUT", f"/apps/{of_hive}/state?user.name=ann", **kill)
    assert answer.status_code == 403, "the application of a tag's user is not hers"
    answer = await yarn.call("PUT", f"/apps/{of_hive}/state?user.name=hive", **kill)
    assert answer.status_code == 202


@pytest.mark.parametrize("wanted", [True, False])
async def test_whether_containers_outlive_their_master_is_taken_over(yarn, wanted):
    await yarn.submit(**{"keep-containers-across-application-attempts": wanted})
    assert yarn.state.applications[1].submission.details.keep_containers is wanted


async def test_submissions_can_be_switched_off(start):
    yarn = await start(**{"yarn.webapp.enable-rest-app-submissions": False})
    answer = await yarn.call("POST", "/apps/new-application")
    assert answer.status_code == 403
    wanted = {
        "application-id": f"application_{yarn.state.epoch_ms}_0001",
        "am-container-spec": {"commands": {"command": "sleep 100"}},
    }
    answer = await yarn.call("POST", "/apps?user.name=alice", json=wanted)
    assert answer.status_code == 403
    assert "App submission via REST is disabled." in answer.text
    assert not yarn.state.applications


async def test_a_number_of_another_cluster_is_refused(yarn):
    answer = await yarn.call("POST", "/apps", json={"application-id": "application_1_0001"})
    assert answer.status_code == 400
    assert "not an application of this cluster" in answer.text


async def test_only_a_running_application_has_a_tracking_page(yarn):
    name = await yarn.submit()
    waiting = await yarn.app(name)
    assert waiting["trackingUI"] == "UNASSIGNED"
    assert "trackingUrl" not in waiting
    await yarn.beat()
    master = yarn.state.applications[1].attempt.master
    await yarn.server.live.service.ask(ContainerExited(master, 0))
    ended = await yarn.app(name)
    assert ended["trackingUI"] == "History"
    assert ended["trackingUrl"].endswith(f"/proxy/{name}/")
