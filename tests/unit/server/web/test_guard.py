"""Who may talk to the server at all."""

import pytest

from fairshare.server.web.guard import host_name

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("host", ["127.0.0.1:1", "localhost:99", "LOCALHOST", "[::1]:5", "[::1]"])
async def test_names_of_this_machine_are_answered(page, host):
    assert (await page.get("/cluster", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:80", "", "10.0.0.1:1"])
async def test_a_foreign_name_is_refused_whatever_it_points_at(page, host):
    answer = await page.get("/cluster", headers={"Host": host})
    assert answer.status_code == 403
    assert answer.json()["code"] == "foreign-host"


async def test_a_page_of_another_site_can_do_nothing(page):
    body = {"tasks": [{"command": "true"}]}
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:2"},
        {"Origin": "https://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        answer = await page.post("/applications", json=body, headers=headers)
        assert answer.status_code == 403, headers
        assert answer.json()["code"] == "foreign-origin"
    assert page.server.service.state.applications == {}


async def test_a_get_that_changes_something_is_refused_to_a_browser_that_hides_the_page(page):
    path = "http://127.0.0.1:1/ws/v1/cluster/scheduler-conf/format"
    browser = {"User-Agent": "Mozilla/5.0 (X11)"}
    answer = await page.get(path, headers=browser)
    assert (answer.status_code, answer.json()["code"]) == (403, "foreign-origin")
    for headers in ({**browser, "Sec-Fetch-Site": "none"}, {"User-Agent": "curl/8"}):
        assert "foreign-origin" not in (await page.get(path, headers=headers)).text
    assert (await page.get("/cluster", headers=browser)).status_code == 200


async def test_our_own_pages_may_ask(page):
    own = {"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-origin"}
    assert (await page.get("/cluster", headers=own)).status_code == 200


async def test_every_answer_forbids_guessing_and_embedding(page):
    for path in ("/cluster", "/nowhere"):
        headers = (await page.get(path)).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "access-control-allow-origin" not in headers


def test_a_port_is_not_part_of_a_name():
    assert host_name("127.0.0.1:80") == "127.0.0.1"
    assert host_name("evil.example:127.0.0.1") == "evil.example:127.0.0.1"
