"""The paths of the configuration."""

from pathlib import Path

import pytest
from tests.unit.server.web.conftest import served

from fairshare.server.settings import Overrides, read_settings

pytestmark = pytest.mark.anyio

SITE = """<configuration><property>
<name>yarn.resourcemanager.scheduler.class</name>
<value>org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler</value>
</property>{more}</configuration>"""
SLOW = "[configuration]\ncheck_interval_ms = 3600000\nsettle_ms = 7000\n"


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "yarn-site.xml").write_text(SITE.format(more=""))
    (conf / "fair-scheduler.xml").write_text('<allocations><queue name="a"/></allocations>')
    (conf / "fairshare.toml").write_text(SLOW)
    return conf


@pytest.fixture
async def http(conf: Path, tmp_path: Path, engine, anyio_backend: str):
    settings = read_settings(conf, Overrides(port=0, state_directory=tmp_path / "state"))
    async with served(settings, engine) as page:
        yield page.http


async def test_the_configuration_in_force_is_shown(http, conf):
    shown = (await http.get("/configuration")).json()
    assert shown["file"] == str(conf / "fair-scheduler.xml")
    assert (shown["changed"], shown["error"], shown["problems"]) == (False, None, [])
    assert (shown["check_interval_ms"], shown["settle_ms"]) == (3_600_000, 7_000)
    assert shown["loaded_ms"] > 1_700_000_000_000
    assert shown["version"] == 1


async def test_a_refresh_loads_and_says_what_it_could_not_change(http, conf):
    (conf / "fair-scheduler.xml").write_text('<allocations><queue name="b"/></allocations>')
    more = "<property><name>yarn.acl.enable</name><value>true</value></property>"
    (conf / "yarn-site.xml").write_text(SITE.format(more=more))
    answer = await http.post("/admin/refresh-queues")
    assert answer.status_code == 200
    assert answer.json()["needs_restart"] == ["yarn.acl.enable"]
    queues = (await http.get("/queues")).json()["queues"]
    assert "root.b" in [queue["name"] for queue in queues]


async def test_a_broken_file_answers_400_with_every_problem(http, conf):
    (conf / "fair-scheduler.xml").write_text(
        "<allocations><queue name='b'><weight>x</weight>\n<minResources>y</minResources></queue>"
        "</allocations>"
    )
    answer = await http.post("/admin/refresh-queues")
    body = answer.json()
    assert (answer.status_code, body["code"]) == (400, "bad-configuration")
    assert [problem["line"] for problem in body["problems"]] == [1, 2]
    assert all(problem["message"] in body["message"] for problem in body["problems"])
    names = [queue["name"] for queue in (await http.get("/queues")).json()["queues"]]
    assert "root.b" not in names
    shown = (await http.get("/configuration")).json()
    assert len(shown["error"]["problems"]) == 2
    assert shown["changed"]


async def test_a_server_without_a_directory_refuses_a_refresh(page):
    answer = await page.post("/admin/refresh-queues")
    assert (answer.status_code, answer.json()["code"]) == (409, "no-configuration")


CAPACITY = """<configuration><property><name>yarn.resourcemanager.scheduler.class</name>
<value>org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler</value>
</property><property><name>yarn.scheduler.configuration.store.class</name><value>memory</value>
</property></configuration>"""
QUEUES = """<configuration>
<property><name>yarn.scheduler.capacity.root.queues</name><value>a</value></property>
<property><name>yarn.scheduler.capacity.root.a.capacity</name><value>100</value></property>
</configuration>"""


@pytest.fixture
def capacity(conf: Path) -> Path:
    (conf / "yarn-site.xml").write_text(CAPACITY)
    (conf / "capacity-scheduler.xml").write_text(QUEUES)
    (conf / "fair-scheduler.xml").unlink()
    return conf


async def test_properties_are_changed_checked_and_given_back(capacity, http):
    entry = {"key": "user-limit-factor", "value": "2"}
    update = {"update-queue": {"queue-name": "root.a", "params": {"entry": entry}}}
    name = "yarn.scheduler.capacity.root.a.user-limit-factor"
    answer = await http.post("/admin/configuration", json={"update": update, "check": True})
    assert (answer.status_code, answer.json()["version"]) == (200, 1)
    assert [name, "2"] in answer.json()["properties"]
    assert name not in dict((await http.get("/configuration/properties")).json()["properties"])
    answer = await http.post("/admin/configuration", json={"update": update})
    assert answer.json()["version"] == 2
    shown = (await http.get("/configuration/properties")).json()
    assert (shown["version"], dict(shown["properties"])[name]) == (2, "2")
    assert (await http.post("/admin/configuration/format")).json()["version"] == 3
    assert name not in dict((await http.get("/configuration/properties")).json()["properties"])


async def test_a_bad_change_is_400_and_a_refused_one_409(capacity, http):
    for update, status, code in (
        ({"remove-queue": "root.x"}, 400, "bad-update"),
        ({"remove-queue": "root.a"}, 409, "configuration-refused"),
    ):
        answer = await http.post("/admin/configuration", json={"update": update})
        assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert (await http.get("/configuration/properties")).json()["version"] == 1


async def test_a_scheduler_with_a_file_alone_has_no_properties_to_change(http):
    answer = await http.get("/configuration/properties")
    assert (answer.status_code, answer.json()["code"]) == (409, "not-mutable")


async def test_versions_say_what_was_in_force_and_one_can_be_brought_back(http, conf):
    (conf / "fair-scheduler.xml").write_text('<allocations><queue name="b"/></allocations>')
    await http.post("/admin/refresh-queues")
    listed = (await http.get("/configuration/versions")).json()["versions"]
    assert [one["in_force"] for one in listed] == [True, False]
    first = listed[-1]["version"]
    shown = (await http.get(f"/configuration/versions/{first}")).json()
    assert shown["scheduler"] == "fair"
    assert "root.a" in shown["settings"]["allocations"]["queues"]
    answer = await http.post("/admin/configuration/roll-back", json={"version": first})
    assert answer.status_code == 200, answer.text
    assert answer.json()["version"] > listed[0]["version"]
    newest = (await http.get("/configuration/versions")).json()["versions"][0]
    again = (await http.get(f"/configuration/versions/{newest['version']}")).json()
    assert again["settings"] == shown["settings"]
    assert (await http.get("/configuration")).json()["changed"] is False
    await http.post("/admin/refresh-queues")  # the files hold again
    newest = (await http.get("/configuration/versions")).json()["versions"][0]["version"]
    newest = (await http.get(f"/configuration/versions/{newest}")).json()
    assert "root.b" in newest["settings"]["allocations"]["queues"]


async def test_a_version_that_is_not_kept_is_unknown(http):
    for answer in (
        await http.get("/configuration/versions/99"),
        await http.get("/configuration/versions/x"),
        await http.post("/admin/configuration/roll-back", json={"version": 99}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown-version")
