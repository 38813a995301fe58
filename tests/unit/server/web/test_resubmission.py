"""An ended application is submitted again: all of it, or what did not succeed."""

import pytest

pytestmark = pytest.mark.anyio

SMALL = {"memory-mb": 64, "vcores": 1}


def group(count=4, **more):
    return {
        "name": "work",
        "command": "work {}",
        "count": count,
        "resources": SMALL,
        "max_attempts": 1,
        "keep_going": True,
        **more,
    }


async def ended(page, *codes, tasks, **more):
    """The name of an application whose containers have ended with these codes."""
    name = await page.submit(user="ann", queue="a", tasks=tasks, **more)
    before = set(page.engine.orders)
    containers = (await page.launched(len(codes)))[-len(codes) :]
    assert len(before) <= len(containers)
    for container, code in zip(containers, codes, strict=True):
        page.engine.end(container, code)
    number = int(name.rpartition("_")[2])
    await page.until(lambda: page.server.service.state.applications[number].over)
    return name


async def orders_of(page, name, count):
    """The orders for the containers of an application."""

    def found():
        return [one for one in page.engine.orders.values() if one.application_name == name]

    await page.until(lambda: len(found()) == count)
    return found()


async def resubmitted(page, name, **body):
    answer = await page.post(f"/applications/{name}/resubmit", json={"user": "ann", **body})
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


async def test_only_what_failed_runs_again_with_its_indexes_and_lines(page):
    lines = ["one", "two", "three", "four"]
    name = await ended(page, 0, 1, 0, 1, tasks=[group(array={"lines": lines})])
    again = await resubmitted(page, name, failed=True)
    orders = await orders_of(page, again, 2)
    assert [one.environment["FAIRSHARE_TASK_INDEX"] for one in orders] == ["2", "4"]
    assert [one.environment["FAIRSHARE_ARRAY_LINE"] for one in orders] == ["two", "four"]
    assert {one.environment["FAIRSHARE_TASK_COUNT"] for one in orders} == {"4"}
    assert orders[0].command.arguments == ("/bin/sh", "-c", "work two")
    tasks = (await page.get(f"/applications/{again}/tasks")).json()["tasks"]
    assert [task["index"] for task in tasks] == [2, 4]


async def test_tasks_without_an_array_keep_their_indexes_and_their_braces(page):
    name = await ended(page, 0, 0, 1, 0, tasks=[group()])
    again = await resubmitted(page, name, failed=True)
    [order] = await orders_of(page, again, 1)
    assert order.environment["FAIRSHARE_TASK_INDEX"] == "2"
    assert order.environment["FAIRSHARE_TASK_COUNT"] == "4"
    assert order.command.arguments == ("/bin/sh", "-c", "work {}")


async def test_what_failed_once_more_can_be_submitted_once_more(page):
    name = await ended(page, 1, 1, 0, 1, tasks=[group(array={"indexes": "10-40:10"})])
    again = await resubmitted(page, name, failed=True)
    orders = await orders_of(page, again, 3)
    for order, code in zip(orders, (0, 1, 0), strict=True):
        page.engine.end(order.container, code)
    await page.until(lambda: page.server.service.state.applications[2].over)
    third = await resubmitted(page, again, failed=True)
    [order] = await orders_of(page, third, 1)
    assert order.command.arguments == ("/bin/sh", "-c", "work 20")
    assert order.environment["FAIRSHARE_TASK_COUNT"] == "4"


async def test_groups_that_succeeded_are_left_out_and_nothing_waits_for_them(page):
    report = group(1, name="report", after=["work"], keep_going=False)
    name = await page.submit(user="ann", queue="a", tasks=[group(2), report])
    for container in await page.launched(2):
        page.engine.end(container)
    page.engine.end((await page.launched(3))[2], 1)
    await page.until(lambda: page.server.service.state.applications[1].over)
    again = await resubmitted(page, name, failed=True)
    [order] = await orders_of(page, again, 1)
    assert order.environment["FAIRSHARE_TASK_GROUP"] == "report"


async def test_there_is_nothing_to_submit_again_if_all_succeeded(page):
    name = await ended(page, 0, 0, tasks=[group(2)])
    body = {"user": "ann", "failed": True}
    answer = await page.post(f"/applications/{name}/resubmit", json=body)
    assert (answer.status_code, answer.json()["code"]) == (409, "cannot-resubmit")
    assert "all of its tasks succeeded" in answer.json()["message"]


async def test_all_of_an_application_can_be_submitted_again(page):
    name = await ended(page, 0, 0, tasks=[group(2)], name="nightly", tags=["x"])
    again = await resubmitted(page, name)
    assert len(await orders_of(page, again, 2)) == 2
    shown = (await page.get(f"/applications/{again}")).json()
    assert (shown["name"], shown["user"], shown["queue"]) == ("nightly", "ann", "root.a")


@pytest.mark.parametrize("failed", [True, False])
async def test_what_has_not_ended_is_not_submitted_again(page, failed):
    name = await page.submit(user="ann", queue="a", tasks=[group()])
    body = {"user": "ann", "failed": failed}
    answer = await page.post(f"/applications/{name}/resubmit", json=body)
    assert "it has not ended" in answer.json()["message"]


async def test_python_calls_are_not_submitted_again(page):
    call = {"callable": "gARLAS4=", "resources": SMALL, "max_attempts": 1}
    name = await ended(page, 1, tasks=[call])
    answer = await page.post(f"/applications/{name}/resubmit", json={"user": "ann"})
    assert "not kept after its end" in answer.json()["message"]


async def test_an_array_that_contradicts_itself_is_refused_with_its_place(page):
    for array, count, words in (
        ({"indexes": "3-1"}, 1, "tasks[0].array.indexes: '3-1' has no numbers"),
        ({"indexes": "1-3", "lines": ["a"]}, 3, "tasks[0].array: there are 3 indexes for 1 line"),
        ({"indexes": "1-3"}, 2, "tasks[0].count: it is 2, and the array has 3 tasks"),
        ({}, 1, "tasks[0].array.indexes: '' is not a range"),
        ({"lines": ["x" * 200_000]}, 1, "with the longest line an argument has 200005 bytes"),
        ({"lines": ["a\0"]}, 1, "a line holds a NUL character"),
    ):
        body = {"user": "ann", "queue": "a", "tasks": [group(count, array=array)]}
        answer = await page.post("/applications", json=body)
        assert answer.status_code == 400
        assert words in answer.json()["message"]
