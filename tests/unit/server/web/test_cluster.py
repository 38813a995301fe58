"""The cluster, its queues and nodes, changes, and the end."""

import asyncio

import pytest

pytestmark = pytest.mark.anyio


async def test_the_root_is_a_page(page):
    answer = await page.http.get("http://127.0.0.1:1/")
    assert "text/html" in answer.headers["content-type"]


async def test_the_cluster_says_what_it_has_and_is(page):
    cluster = (await page.get("/cluster")).json()
    assert cluster["total"] == {"memory-mb": 4096, "vcores": 4}
    assert cluster["used"] == {"memory-mb": 0, "vcores": 0}
    assert (cluster["scheduler"], cluster["engine"], cluster["nodes"]) == ("fair", "local", 1)
    assert cluster["started_ms"] <= cluster["now_ms"]
    assert cluster["state_directory"] == str(page.server.directory.path)
    await page.submit(tasks=[{"command": "sleep 9", "resources": {"memory-mb": 512}}], queue="a")
    await page.launched()
    cluster = (await page.get("/cluster")).json()
    assert cluster["used"] == {"memory-mb": 512, "vcores": 1}
    assert cluster["available"] == {"memory-mb": 3584, "vcores": 3}
    assert cluster["containers"] == 1
    assert cluster["applications"]["RUNNING"] == 1


async def test_queues_come_with_root_first_and_named_resources(page):
    await page.submit(tasks=[{"command": "x", "resources": {"memory-mb": 512}}], queue="a")
    await page.launched()
    queues = (await page.get("/queues")).json()["queues"]
    assert [queue["name"] for queue in queues] == ["root", "root.a", "root.b"]
    assert queues[1]["used"] == {"memory-mb": 512, "vcores": 1}
    assert queues[2]["steady_fair_share"]["memory-mb"] == 2048
    assert queues[1]["running_applications"] == 1


async def test_nodes_say_which_limits_are_in_force(page):
    (node,) = (await page.get("/nodes")).json()["nodes"]
    assert (node["name"], node["rack"], node["containers"]) == ("n1", "/r1", 0)
    assert node["attributes"] == {"memory-limit": "watch"}
    assert node["reserved_for"] is None


async def test_a_reserved_node_names_its_application(page):
    small, large = {"memory-mb": 1500}, {"memory-mb": 3000}
    await page.submit(tasks=[{"command": "x", "count": 2, "resources": small}], queue="a")
    first, _ = await page.launched(2)
    waiting = await page.submit(tasks=[{"command": "x", "resources": large}], queue="b")
    page.engine.end(first)
    node = page.server.service.state.nodes["n1"]
    await page.until(lambda: node.reservation is not None)
    (shown,) = (await page.get("/nodes")).json()["nodes"]
    assert shown["reserved_for"] == waiting


async def test_changes_answer_as_soon_as_something_changed(page):
    version = (await page.get("/changes", params={"timeout": 0})).json()["version"]
    waiting = asyncio.create_task(
        page.get("/changes", params={"since": version, "timeout": "60.0"})
    )
    await page.submit(tasks=[{"command": "x"}], queue="a")
    assert (await asyncio.wait_for(waiting, 60)).json()["version"] > version


async def test_changes_answer_with_the_same_version_when_time_is_up(page):
    version = (await page.get("/changes", params={"since": 0})).json()["version"]
    answer = await page.get("/changes", params={"since": version, "timeout": 0.01})
    assert answer.json() == {"version": version}


@pytest.mark.parametrize(
    ("path", "reported"),
    [
        ("/changes?since=x", "whole number"),
        ("/changes?timeout=-1", "0 to 300"),
        ("/changes?timeout=nan", "0 to 300"),
        ("/changes?until=3", "no parameter 'until'"),
        ("/changes?since=1&since=2", "given twice"),
        ("/cluster?verbose=1", "only: at"),
    ],
)
async def test_wrong_parameters_are_refused_with_the_reason(page, path, reported):
    answer = await page.get(path)
    assert answer.status_code == 400
    assert answer.json()["code"] == "bad-request"
    assert reported in answer.json()["message"]


async def test_an_unknown_path_and_an_unknown_method_are_refused(page):
    answer = await page.get("/nowhere")
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown-path")
    answer = await page.http.delete("/cluster")
    assert (answer.status_code, answer.json()["code"]) == (405, "unknown-method")


@pytest.mark.parametrize(
    ("body", "stops"), [({}, True), ({"stop_containers": False}, False)], ids=["as-started", "keep"]
)
async def test_shutdown_answers_and_asks_the_server_to_end(page, body, stops):
    answer = await page.post("/shutdown", json=body)
    assert answer.status_code == 202
    assert answer.json() == {
        "stopping": True,
        "stop_containers": stops,
        "applications": 0,
        "containers": 0,
    }
    assert page.server.stop_requested.is_set()
    assert page.server.stop_containers is stops


async def test_an_internal_error_is_answered_without_a_traceback(page, monkeypatch):
    def fail(self: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(type(page.server.service.views), "cluster", property(fail))
    answer = await page.get("/cluster")
    assert (answer.status_code, answer.json()["code"]) == (500, "server-failure")
    assert "secret detail" not in answer.text


async def test_the_refusal_of_a_method_lists_the_allowed_ones(page):
    answer = await page.http.request("DELETE", "/applications")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, POST")
    answer = await page.http.request("OPTIONS", "/cluster")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")
