"""Nodes drained over the REST interface, the safe mode, and who may order it."""

import pytest

from fairshare.core.model.identifiers import container_name

pytestmark = pytest.mark.anyio


async def state_of_node(page):
    [node] = (await page.get("/nodes")).json()["nodes"]
    return node["state"]


async def test_a_drained_node_is_shown_as_such_until_it_is_undrained(page):
    await page.submit(queue="a", tasks=[{"command": "x"}])
    (container,) = await page.launched()
    answer = await page.post("/admin/nodes/drain", json={"nodes": ["n1"]})
    assert answer.status_code == 200, answer.text
    assert answer.json()["nodes"][0]["state"] == "DRAINING"
    page.engine.end(container)
    await page.until(lambda: page.server.service.is_over(container))
    assert await state_of_node(page) == "DRAINED"
    await page.submit(queue="a", tasks=[{"command": "y"}])
    assert len(page.engine.orders) == 1
    await page.post("/admin/nodes/undrain", json={"nodes": ["n1"]})
    assert await state_of_node(page) == "RUNNING"
    await page.launched(2)


async def test_a_decommissioned_node_ends_what_runs_leaves_and_comes_back(page):
    await page.submit(queue="a", tasks=[{"command": "x"}])
    (container,) = await page.launched()
    body = {"nodes": ["n1"], "timeout_ms": 60_000}
    answer = await page.post("/admin/nodes/decommission", json=body)
    [node] = answer.json()["nodes"]
    assert node["state"] == "DECOMMISSIONING"
    assert node["leaves_ms"] > page.server.service.now_ms()
    await page.post("/admin/nodes/decommission", json={"nodes": ["n1"], "timeout_ms": 0})
    await page.until(lambda: not page.server.service.state.nodes)
    assert page.engine.stopped == [container]
    assert (await page.get("/nodes")).json() == {"nodes": [], "decommissioned": ["n1"]}
    answer = await page.post("/admin/nodes/undrain", json={"nodes": ["n1"]})
    assert [node["state"] for node in answer.json()["nodes"]] == ["RUNNING"]
    await page.launched(2)


async def test_of_several_nodes_none_is_drained_if_one_is_unknown(page):
    answer = await page.post("/admin/nodes/drain", json={"nodes": ["n1", "n9"]})
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown-node")
    assert await state_of_node(page) == "RUNNING"


async def test_in_safe_mode_submissions_are_refused(page):
    assert (await page.post("/admin/safe-mode", json={"on": True})).json() == {"safe_mode": True}
    answer = await page.post("/applications", json={"tasks": [{"command": "x"}]})
    assert (answer.status_code, answer.json()["code"]) == (503, "safe-mode")
    assert (await page.get("/cluster")).json()["safe_mode"] is True
    assert (await page.get("http://127.0.0.1:1/readyz")).status_code == 503
    assert (await page.post("/admin/safe-mode", json={"on": False})).json() == {"safe_mode": False}
    assert (await page.get("/admin/safe-mode")).json() == {"safe_mode": False}
    await page.submit(tasks=[{"command": "x"}])
    assert (await page.get("http://127.0.0.1:1/readyz")).status_code == 200


async def test_a_log_is_read_by_ranges_too(page):
    await page.submit(queue="a", tasks=[{"command": "x"}])
    (container,) = await page.launched()
    files = page.server.container_files(container)
    files.path.mkdir(parents=True)
    files.stdout.write_bytes(b"0123456789")
    name = container_name(page.server.service.state.epoch_ms, container)
    path = f"/containers/{name}/logs/stdout"

    async def part(words, **parameters):
        found = await page.get(path, headers={"Range": words}, params=parameters)
        return found.status_code, found.content, found.headers.get("content-range")

    assert await part("bytes=2-4") == (206, b"234", "bytes 2-4/*")
    assert await part("bytes=-3") == (206, b"789", "bytes 7-9/*")
    assert await part("bytes=0-0,2-3") == (200, b"0123456789", None)
    assert await part("bytes=10-") == (
        416,
        (await page.get(path, headers={"Range": "bytes=10-"})).content,
        "bytes */10",
    )
    assert await part("bytes=2-4", offset=8) == (200, b"89", None)
    page.engine.end(container)
    await page.until(lambda: page.server.service.is_over(container))
    assert await part("bytes=8-99") == (206, b"89", "bytes 8-9/10")
