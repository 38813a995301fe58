"""Applications that start later, over the REST interface."""

import pytest

pytestmark = pytest.mark.anyio

TASK = {"command": "work", "resources": {"memory-mb": 512, "vcores": 1}, "max_attempts": 1}


async def shown(page, name):
    return (await page.get(f"/applications/{name}")).json()


async def test_an_application_says_what_it_waits_for(page):
    first = await page.submit(user="ann", queue="a", tasks=[TASK])
    second = await page.submit(
        user="ann",
        queue="a",
        tasks=[TASK],
        tags=["nightly"],
        after=[{"application": first}],
        held=True,
        begin_ms=2**47,
        deadline_ms=2**47 + 1,
    )
    row = await shown(page, second)
    assert (row["state"], row["held"], row["begin_ms"]) == ("PENDING", True, 2**47)
    assert (row["after"], row["expires_ms"]) == ([f"{first}:ok"], 2**47 + 1)
    assert row["tags"] == ["nightly"]
    [listed, _] = (await page.get("/applications")).json()["applications"]
    assert {key: row[key] for key in listed if key != "containers"} == {
        key: listed[key] for key in listed if key != "containers"
    }
    reasons = (await page.get(f"/applications/{second}/reasons")).json()["reasons"]
    [reason] = reasons
    assert [reason["cause"], *reason["also"]] == ["held", "applications-ahead", "begins-later"]
    assert "It starts when all of this is so: (1) it is released" in reason["remedy"]
    assert f"It starts after {first}." in reason["remedy"]


async def test_the_log_says_what_an_application_waits_for(page, caplog):
    first = await page.submit(user="ann", queue="a", tasks=[TASK])
    more = {"user": "ann", "queue": "a", "tasks": [TASK]}
    second = await page.submit(**more, after=[{"application": first}], held=True)
    third = await page.submit(**more, begin_ms=2**41)
    assert f"{second} is held and starts after {first}\n" in caplog.text
    assert f"{third} begins at 2039-09-07 15:47:35 UTC\n" in caplog.text
    for name in (second, third):
        answer = await page.post(f"/applications/{name}/hold", json={"user": "ann", "held": False})
    assert answer.status_code == 409
    assert f"{second} starts after {first}\n" in caplog.text
    await page.post(f"/applications/{first}/kill", json={"user": "ann"})
    assert (await shown(page, second))["state"] == "KILLED"


async def test_a_list_shows_at_once_that_an_application_is_held_and_released(page):
    name = await page.submit(user="ann", queue="a", tasks=[TASK], held=True)
    for held in (True, False):
        [row] = (await page.get("/applications")).json()["applications"]
        assert row["held"] == held
        body = {"user": "ann", "held": False}
        answer = await page.post(f"/applications/{name}/hold", json=body)
        assert answer.status_code == (200 if held else 409)
    assert len(await page.launched()) == 1


async def test_an_application_starts_after_the_one_before_it(page):
    first = await page.submit(user="ann", queue="a", tasks=[TASK])
    body = {"application": first.rpartition("_")[2].lstrip("0"), "outcome": "failed"}
    second = await page.submit(user="ann", queue="a", tasks=[TASK], after=[body])
    page.engine.end((await page.launched())[0], 1)
    await page.launched(2)
    assert (await shown(page, second))["state"] == "RUNNING"


@pytest.mark.parametrize("name", ["7", "nonsense", "application_1_0001", "-1", ""])
async def test_an_application_after_an_unknown_one_is_refused_and_not_known(page, name):
    body = {"user": "ann", "queue": "a", "tasks": [TASK], "after": [{"application": name}]}
    answer = await page.post("/applications", json=body)
    assert answer.status_code in (400, 404)
    assert (await page.get("/applications")).json()["applications"] == []


async def test_what_is_requeued_runs_again(page):
    name = await page.submit(user="ann", queue="a", tasks=[TASK])
    [first] = await page.launched()
    answer = await page.post(f"/applications/{name}/requeue", json={"user": "ann"})
    assert (answer.status_code, answer.json()["attempt"]) == (200, 2)
    assert page.engine.stopped == [first]
    await page.launched(2)


async def test_an_instant_beyond_the_calendar_is_refused(page):
    body = {"user": "ann", "queue": "a", "tasks": [TASK]}
    for field in ("begin_ms", "deadline_ms"):
        answer = await page.post("/applications", json=body | {field: 2**50})
        assert answer.status_code == 400
        assert field in answer.json()["message"]
