"""An application's life, its efficiency, and a node with what runs there, as they are told."""

import pytest

pytestmark = pytest.mark.anyio

TASK = {"name": "work", "command": "x", "resources": {"memory-mb": 1024, "vcores": 1}}


@pytest.mark.slow
async def test_a_life_has_phases_containers_with_their_outcome_and_tries(page):
    name = await page.submit(user="ann", queue="a", tasks=[{**TASK, "count": 2}])
    first, second = await page.launched(2)
    page.engine.end(first, 3, "no")
    page.engine.end(second, 0)
    await page.until(lambda: len(page.engine.orders) == 3)
    await page.post(f"/applications/{name}/move", json={"queue": "b", "user": "ann"})
    found = (await page.get(f"/applications/{name}/timeline")).json()
    assert [(one["outcome"], one["attempt"]) for one in found["containers"]] == [
        ("failed", 1), ("succeeded", 1), ("running", 2),
    ]  # fmt: skip
    assert found["phases"][-1]["until_ms"] is None
    assert found["phases"][-1]["what"] == "running"
    assert (found["marks"][-1]["kind"], found["marks"][-1]["what"]) == ("moved", "root.b")
    assert max(count for _, count in found["running"]) >= 1
    short = (await page.get(f"/applications/{name}/timeline", params={"limit": 1})).json()
    assert (len(short["containers"]), short["left_out"]) == (1, 2)


async def test_the_efficiency_of_an_unmeasured_application_has_no_ratio(page):
    name = await page.submit(user="ann", queue="a", tasks=[TASK])
    await page.launched(1)
    found = (await page.get(f"/applications/{name}/efficiency")).json()
    assert (found["containers"], found["memory_ratio"]) == (0, None)


async def test_a_node_says_what_runs_there_and_an_unknown_one_is_not_found(page):
    name = await page.submit(user="ann", queue="a", name="<b>", tasks=[TASK])
    await page.launched(1)
    found = (await page.get("/nodes/n1")).json()
    assert (found["name"], found["state"]) == ("n1", "RUNNING")
    assert [(one["application"], one["name"], one["queue"]) for one in found["running"]] == [
        (name, "<b>", "root.a")
    ]
    assert (await page.get("/nodes/none")).status_code == 404
