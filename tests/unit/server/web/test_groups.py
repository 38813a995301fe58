"""The groups of who submits are looked up by the server."""

from pathlib import Path

import pytest
from tests.unit.server.web.conftest import served

from fairshare.server.settings import Overrides, read_settings
from fairshare.server.users.groups import GroupsUnavailable, UserGroups

pytestmark = pytest.mark.anyio


class Source:
    def groups(self, user: str) -> tuple[str, ...]:
        if user == "eve":
            raise GroupsUnavailable(user, "the directory is away")
        return ("research", "staff")


async def test_what_was_found_is_part_of_the_submission(page):
    page.server.groups = UserGroups(Source())
    await page.submit(user="ann", queue="a", tasks=[{"command": "true"}])
    submission = page.server.service.state.applications[1].submission
    assert submission.groups == ("research", "staff")


async def test_a_failed_lookup_refuses_the_submission_and_leaves_no_trace(page):
    page.server.groups = UserGroups(Source())
    body = {"user": "eve", "queue": "a", "tasks": [{"command": "true"}]}
    answer = await page.post("/applications", json=body)
    assert (answer.status_code, answer.json()["code"]) == (503, "groups-unavailable")
    assert "the directory is away" in answer.json()["message"]
    assert page.server.service.state.applications == {}


SITE = """<configuration>
<property><name>yarn.resourcemanager.scheduler.class</name>
<value>org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler</value></property>
<property><name>hadoop.user.group.static.mapping.overrides</name>
<value>bob=ads</value></property>
</configuration>"""
PLACEMENT = """<allocations><queuePlacementPolicy>
<rule name="primaryGroup"/>
</queuePlacementPolicy></allocations>"""


async def test_a_queue_is_chosen_by_the_group_that_a_command_names(
    tmp_path: Path, engine, anyio_backend: str
):
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "yarn-site.xml").write_text(SITE)
    (conf / "fair-scheduler.xml").write_text(PLACEMENT)
    (conf / "fairshare.toml").write_text(
        '[users]\ngroups_command = ["printf", "group-of-%s", "{user}"]\n'
    )
    settings = read_settings(conf, Overrides(port=0, state_directory=tmp_path / "state"))
    async with served(settings, engine) as page:
        task = {"command": "true", "resources": {"memory-mb": 1024, "vcores": 1}}
        for user in ("ann", "bob"):
            answer = await page.post("/applications", json={"user": user, "tasks": [task]})
            assert answer.status_code == 201, answer.text
    applications = page.server.service.state.applications
    assert [applications[number].queue for number in (1, 2)] == ["root.group-of-ann", "root.ads"]
