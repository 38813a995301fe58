"""Who calls is known to the core, and lists decide; only with yarn.acl.enable."""

import asyncio
from pathlib import Path

import pytest
from tests.unit.server.web.conftest import served

from fairshare.core.model.inputs import SubmissionDetails, SubmitApplication
from fairshare.server.settings import Overrides, read_settings
from fairshare.server.users.groups import own_user

pytestmark = pytest.mark.anyio

SITE = """<configuration>
<property><name>yarn.resourcemanager.scheduler.class</name>
<value>org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler</value></property>
<property><name>yarn.acl.enable</name><value>true</value></property>
<property><name>yarn.admin.acl</name><value>boss admins</value></property>
</configuration>"""
QUEUES = """<allocations><queue name="root"><aclSubmitApps> </aclSubmitApps>
<aclAdministerApps> </aclAdministerApps>
<queue name="a"><aclSubmitApps>ann</aclSubmitApps><aclAdministerApps> leads</aclAdministerApps>
</queue><queue name="b"><aclSubmitApps> movers</aclSubmitApps></queue></queue></allocations>"""
GROUPS = "ann: movers\neve: leads\nbob: staff\nzoe: admins\nmia: movers\n"


@pytest.fixture
async def http(tmp_path: Path, engine, anyio_backend: str):
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "yarn-site.xml").write_text(SITE)
    (conf / "fair-scheduler.xml").write_text(QUEUES)
    (conf / "groups").write_text(GROUPS)
    (conf / "fairshare.toml").write_text('[users]\ngroups_file = "groups"\n')
    settings = read_settings(conf, Overrides(port=0, state_directory=tmp_path / "state"))
    async with served(settings, engine) as page:
        task = {"command": "true", "resources": {"memory-mb": 1024, "vcores": 1}}
        answer = await page.post(
            "/applications", json={"user": "ann", "queue": "a", "tasks": [task]}
        )
        assert answer.status_code == 201, answer.text
        yield page.http


@pytest.mark.parametrize("user", ["ann", "eve", "boss", "zoe", None])
async def test_owner_and_administrators_may_kill(http, user):
    body = {} if user is None else {"user": user}  # without a name: who runs the server
    answer = await http.post("/applications/1/kill", json=body)
    assert (answer.status_code, answer.json()["state"]) == (200, "KILLED")


async def test_others_do_not_learn_that_a_limit_could_not_be_changed(http, engine):
    async with asyncio.timeout(10):
        while not engine.orders:
            await asyncio.sleep(0.01)
    limit = {"time_limit_ms": 60_000}
    for user, code in (("bob", "access-denied"), ("ann", "cannot-limit")):
        answer = await http.post("/applications/1/update", json={"user": user, **limit})
        assert answer.json()["code"] == code


@pytest.mark.parametrize(
    ("call", "more"), [("kill", {}), ("move", {"queue": "b"}), ("priority", {"priority": 1})]
)
async def test_others_may_not(http, call, more):
    answer = await http.post(f"/applications/1/{call}", json={"user": "bob", **more})
    assert (answer.status_code, answer.json()["code"]) == (403, "access-denied")
    assert (await http.get("/applications/1")).json()["finished_ms"] is None


async def test_a_submission_to_a_queue_of_others_is_refused(http):
    body = {"user": "bob", "queue": "a", "tasks": [{"command": "true"}]}
    answer = await http.post("/applications", json=body)
    assert (answer.status_code, answer.json()["code"]) == (409, "access-denied")


@pytest.mark.parametrize("path", ["/admin/refresh-queues", "/shutdown"])
async def test_the_cluster_is_for_administrators(http, path):
    for user in ("ann", "eve", "bob"):
        answer = await http.post(path, json={"user": user})
        assert (answer.status_code, answer.json()["code"]) == (403, "access-denied")
    assert (await http.post(path, json={"user": "zoe"})).status_code < 300
    assert (await http.post(path, json={"user": own_user()})).status_code < 300


async def test_containers_are_stopped_by_owner_and_administrators(http, engine):
    for _ in range(200):
        if engine.orders:
            break
        await http.get("/changes", params={"timeout": 0.02})
    (order,) = engine.orders.values()
    path = f"/containers/{order.container_name}/stop"
    assert (await http.post(path, json={"user": "bob"})).status_code == 403
    assert engine.stopped == []
    assert (await http.post(path, json={"user": "eve"})).status_code == 202
    assert (await http.post(path, json={"user": "ann"})).status_code == 202


async def test_users_in_an_applications_own_list_may_change_it(http):
    service = http._transport.app.state.server.service
    details = SubmissionDetails(modify_acl="carl staff")
    for _ in range(2):
        await service.ask(SubmitApplication("ann", "root.a", details=details))
    # Bob is of the staff.
    for user, number, status in (("dora", 2, 403), ("carl", 2, 200), ("bob", 3, 200)):
        answer = await http.post(f"/applications/{number}/kill", json={"user": user})
        assert answer.status_code == status, (user, answer.text)


async def test_a_move_needs_the_right_to_submit_where_it_goes(http):
    service = http._transport.app.state.server.service
    details = SubmissionDetails(modify_acl="carl,mia")
    await service.ask(SubmitApplication("ann", "root.a", details=details))
    # The owner and Mia may submit to b as movers; Carl may change the application, not go there.
    for user, number, status in (("carl", 2, 403), ("mia", 2, 200), ("ann", 1, 200)):
        body = {"user": user, "queue": "b"}
        answer = await http.post(f"/applications/{number}/move", json=body)
        assert answer.status_code == status, (user, answer.text)
    queue = (await http.get("/applications/2")).json()["queue"]
    assert queue == "root.b"
