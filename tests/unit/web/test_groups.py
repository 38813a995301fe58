"""The groups of who submits are looked up by the server."""

import pytest

from fairshare.live.users.groups import UserGroups
from fairshare.live.users.protocol import GroupsUnavailable

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
    assert (answer.status_code, answer.json()["code"]) == (409, "groups-unavailable")
    assert "the directory is away" in answer.json()["message"]
    assert page.server.service.state.applications == {}
