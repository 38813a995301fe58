"""The files of the pages, the queues beside their shares, and what is told of the past."""

import re

import pytest

from fairshare.server.web.pages.files import STATIC, VIEWS

pytestmark = pytest.mark.anyio

HOME = "http://127.0.0.1:1"


@pytest.mark.parametrize("path", [view.replace("{application}", "x") for view in VIEWS])
async def test_every_view_is_an_address_and_a_browser_runs_nothing_else_there(page, path):
    answer = await page.http.get(HOME + path)
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert not re.search(r"<script(?![^>]*src=)|style=|\son\w+=", answer.text)


async def test_a_browser_gets_a_page_at_an_address_without_one_and_programs_an_error(page):
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    answer = await page.http.get(f"{HOME}/nothing", headers=browser)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert answer.text == (await page.http.get(HOME + "/")).text
    for path, headers in (("/nothing", {}), ("/api/v1/nothing", browser), ("/static/no", browser)):
        answer = await page.http.get(HOME + path, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown-path")


@pytest.mark.parametrize("file", sorted(p.name for p in STATIC.iterdir() if p.is_file()))
async def test_every_file_is_served_under_the_same_policy_and_asked_for_again(page, file):
    answer = await page.http.get(f"{HOME}/static/{file}")
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-cache"
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    again = {"If-None-Match": answer.headers["etag"]}
    assert (await page.http.get(f"{HOME}/static/{file}", headers=again)).status_code == 304


@pytest.mark.parametrize("path", ["/static/../files.py", "/static/%2e%2e/files.py", "/static/no"])
async def test_nothing_but_the_pages_files_is_served(page, path):
    assert (await page.http.get(HOME + path)).status_code == 404


def test_no_file_names_another_host_or_writes_markup():
    for file in sorted(STATIC.rglob("*.js")):
        text = file.read_text()
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", text
        ), file
        hosts = set(re.findall(r"https?://[\w.]+", text)) - {"http://www.w3.org"}
        assert not hosts, file


async def test_a_queue_is_listed_with_its_share(page):
    await page.submit(
        user="ann", queue="a", tasks=[{"command": "x", "resources": {"memory-mb": 1024}}]
    )
    await page.launched(1)
    content = (await page.get("/queues")).json()
    assert content["total"] == {"memory-mb": 4096, "vcores": 4}
    row = next(one for one in content["queues"] if one["name"] == "root.a")
    assert row["share"]["state"] == "served"
    assert row["share"]["used_share"] == 0.25
    assert (row["active_applications"], row["waiting_applications"]) == (1, 0)
    assert content["queues"][0]["active_applications"] is None


async def test_a_past_moment_is_shown_as_it_was(page):
    await page.until(lambda: len(page.server.past_views) > 0)
    first = page.server.past_views.at(10**15)
    await page.submit(user="ann", queue="a", tasks=[{"command": "x"}])
    await page.launched(1)
    assert (await page.get("/queues")).json()["queues"][0]["containers"] == 1
    answer = (await page.get(f"/queues?at={first.at_ms}")).json()
    assert answer["at_ms"] == first.at_ms
    assert answer["queues"][0]["containers"] == 0
    assert (await page.get(f"/cluster?at={first.at_ms}")).json()["containers"] == 0


async def test_a_moment_that_is_not_kept_is_not_found(page):
    for path in ("/queues?at=5", "/cluster?at=5"):
        answer = await page.get(path)
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown-moment")


async def test_the_history_of_a_queue_has_its_lines_and_its_beginning(page):
    await page.until(lambda: len(page.server.past_views) > 0)
    content = (await page.get("/history?queue=root.a&points=10")).json()
    assert content["began_ms"] == page.server.started_ms
    first = content["points"][0]  # a slow machine has more than one by now
    assert first["used_share"] == 0.0
    assert set(first) == {
        "at_ms", "used_share", "used", "demand", "fair_share", "steady_fair_share", "guaranteed",
        "total",
        "entitled",
        "owed",
    }  # fmt: skip
    assert (await page.get("/history")).json()["queue"] == "root"


@pytest.mark.parametrize("query", ["points=1", "points=x", "since=-1", "queues=a"])
async def test_a_wrong_question_about_the_past_is_refused(page, query):
    assert (await page.get(f"/history?{query}")).status_code == 400


async def test_without_authentication_the_reader_has_no_name_and_may_do_everything(page):
    session = (await page.get("/session")).json()
    assert session["user"] is None
    assert session["proven"] is False
    assert session["administrator"] is True
    assert session["administers"] == []


@pytest.mark.parametrize("path", VIEWS)
async def test_what_a_view_needs_is_asked_for_at_once_and_nothing_else(page, path):
    """A browser that finds imports one file at a time waits for a round trip on each level."""
    wanted, found = [STATIC / "main.js", STATIC / VIEWS[path]], set()
    while wanted:
        file = wanted.pop()
        found.add(f"/static/{file.relative_to(STATIC).as_posix()}")
        for other in re.findall(
            r'^(?:import|export)\b[^;]*?from "(\.[^"]+)"', file.read_text(), re.M
        ):
            target = (file.parent / other).resolve()
            if f"/static/{target.relative_to(STATIC).as_posix()}" not in found:
                wanted.append(target)
    shell = (await page.http.get(HOME + path.replace("{application}", "x"))).text
    assert set(re.findall(r'rel="modulepreload" href="([^"]+)"', shell)) == found


def test_each_view_of_the_pages_has_its_addresses():
    main = (STATIC / "main.js").read_text()
    assert set(re.findall(r'import\("\./([^"]+)"\)', main)) == set(VIEWS.values())
