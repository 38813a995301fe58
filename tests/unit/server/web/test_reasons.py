"""Why an application waits, as the server tells it."""

import os
import signal

import anyio
import pytest

pytestmark = pytest.mark.anyio

MAP = {"name": "map", "command": "work", "resources": {"memory-mb": 3000, "vcores": 1}, "count": 2}
REDUCE = {**MAP, "name": "reduce", "count": 1, "after": ["map"]}


async def test_reasons_have_numbers_groups_and_words(page):
    name = await page.submit(user="ann", queue="a", tasks=[MAP, REDUCE])
    await page.launched(1)
    answer = await page.get(f"/applications/{name}/reasons")
    assert answer.status_code == 200
    found = answer.json()
    assert (found["id"], found["state"]) == (name, "RUNNING")
    room, group = sorted(found["reasons"], key=lambda reason: reason["group"])
    assert (room["group"], room["containers"], room["node"]) == ("map", 1, "n1")
    assert room["cause"] in ("no-room", "node-reserved-for-it")
    assert room["wanted"]["memory-mb"] == 3072
    assert "3,072 MB" in room["sentence"]
    assert room["remedy"]
    assert (group["cause"], group["group"]) == ("groups-ahead", "reduce")


async def test_an_application_that_waits_for_nothing_has_no_reasons(page):
    name = await page.submit(user="ann", queue="a", tasks=[{**MAP, "count": 1}])
    await page.launched(1)
    assert (await page.get(f"/applications/{name}/reasons")).json()["reasons"] == []


async def test_an_unknown_application_is_not_found(page):
    assert (await page.get("/applications/99/reasons")).status_code == 404


async def test_what_the_master_of_an_application_was_refused_comes_first(page):
    name = await page.submit(user="ann", queue="a", tasks=[MAP])
    refused = page.server.refused_requests
    refused.refused(1, "containers", "no placement constraints")
    refused.refused(1, "launch", "no such service")
    (first, *_) = (await page.get(f"/applications/{name}/reasons")).json()["reasons"]
    assert (first["cause"], first["sentence"]) == (
        "request-refused",
        "A request of its ApplicationMaster was refused: no placement constraints"
        " A request of its ApplicationMaster was refused: no such service",
    )
    refused.accepted(1, "containers")
    refused.accepted(1, "launch")
    found = (await page.get(f"/applications/{name}/reasons")).json()["reasons"]
    assert "request-refused" not in {reason["cause"] for reason in found}


async def test_remedies_are_proved_beside_the_server(page):
    name = await page.submit(user="ann", queue="a", tasks=[MAP])
    await page.launched(1)
    answer = await page.get(f"/applications/{name}/proof")
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["starts_after_ms"] is None  # no task like it has ended
    (remedy,) = found["remedies"]
    (action,) = remedy["actions"]
    assert action["words"].startswith("one more node joins")
    assert found["complete"]


async def test_the_same_question_is_answered_once_for_all_callers_that_ask_meanwhile(page):
    name = await page.submit(user="ann", queue="a", tasks=[MAP])
    await page.launched(1)
    async with anyio.create_task_group() as group:
        answers = []

        async def prove():
            answers.append(await page.get(f"/applications/{name}/proof"))

        for _ in range(20):
            group.start_soon(prove)
    assert {one.status_code for one in answers} == {200}
    assert len({one.text for one in answers}) == 1


async def test_the_process_that_answers_is_started_again_when_it_has_ended(page):
    name = await page.submit(user="ann", queue="a", tasks=[MAP])
    await page.launched(1)
    assert (await page.get(f"/applications/{name}/proof")).status_code == 200
    first = page.server.follower.pid
    os.kill(first, signal.SIGKILL)
    while page.server.follower.pid == first:
        await anyio.sleep(0.01)
    assert (await page.get(f"/applications/{name}/proof")).status_code == 200
    assert page.server.follower.pid not in (None, first)


async def test_what_does_not_wait_has_no_proof(page):
    name = await page.submit(user="ann", queue="a", tasks=[{**MAP, "count": 1}])
    await page.launched(1)
    answer = await page.get(f"/applications/{name}/proof")
    assert (answer.status_code, answer.json()["code"]) == (409, "not-waiting")


@pytest.mark.slow
async def test_reasons_of_a_past_moment_are_those_that_it_had_then(page):
    name = await page.submit(user="ann", queue="a", tasks=[MAP])
    await page.launched(1)
    service = page.server.service
    await page.get(f"/applications/{name}/proof")  # the process beside the server runs
    then_ms = service.now_ms()
    live = (await page.get(f"/applications/{name}/reasons")).json()
    await anyio.sleep(0.01)
    assert (await page.post(f"/applications/{name}/kill", json={})).status_code == 200
    past = await page.get(f"/applications/{name}/reasons?at={then_ms}")
    assert past.status_code == 200, past.text
    assert past.json() == live
    assert live["reasons"] != []
    over = await page.get(f"/applications/{name}/reasons?at={service.now_ms()}")
    assert over.json()["reasons"] == []


@pytest.mark.parametrize(
    ("at_ms", "words"),
    [(1, "does not reach back to that moment"), (2**60, "has not come yet")],
)
async def test_reasons_of_a_moment_that_is_not_known_are_not_found(page, at_ms, words):
    name = await page.submit(user="ann", queue="a", tasks=[MAP])
    answer = await page.get(f"/applications/{name}/reasons?at={at_ms}")
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown-moment")
    assert words in answer.json()["message"]
