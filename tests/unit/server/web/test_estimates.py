"""When applications start and end, as the server says it."""

import anyio
import pytest

pytestmark = pytest.mark.anyio

JOB = {"name": "t", "command": "work", "resources": {"memory-mb": 4000, "vcores": 1}, "count": 1}

SIZE = {"memory-mb": 2000, "vcores": 1}


async def ended(page, count):
    """So many applications that have run for a moment."""
    for number in range(count):
        name = await page.submit(user="ann", queue="a", name=f"job-{number}", tasks=[JOB])
        (container, *_) = (await page.launched(number + 1))[number:]
        await anyio.sleep(0.01)
        page.engine.end(container, 0)
        application = page.server.service.state.applications[number + 1]
        await page.until(lambda application=application: application.over)
        assert name


async def test_without_enough_applications_that_have_ended_there_is_no_estimate(page):
    name = await page.submit(user="ann", queue="a", tasks=[JOB])
    answer = await page.get(f"/applications/{name}/eta")
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert (found["draws"], found["samples"], found["start"]) == (0, 0, None)
    assert "fewer than 20 applications" in found["reason"]


@pytest.mark.slow
async def test_an_application_that_waits_has_an_estimate_of_its_start_and_end(page):
    await ended(page, 20)
    runs = await page.submit(user="ann", queue="a", name="job-20", tasks=[JOB])
    await page.launched(21)
    waits = await page.submit(user="ann", queue="a", name="job-21", tasks=[JOB])
    answer = await page.get(f"/applications/{waits}/eta")
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert (found["samples"], found["reason"]) == (20, "")
    assert found["draws"] == 50
    assert 0 <= found["start"]["p50_ms"] <= found["start"]["p90_ms"]
    assert found["start"]["p90_ms"] <= found["end"]["p90_ms"] < 60_000
    found = (await page.get(f"/applications/{runs}/eta")).json()
    assert found["start"] is None
    assert found["end"]["p50_ms"] is not None


async def test_what_waits_and_what_would_wait_get_the_size_that_would_start_now(page):
    await page.submit(user="ann", queue="a", tasks=[{**JOB, "resources": SIZE}])
    await page.launched(1)
    answer = await page.post("/estimates", json={"user": "ann", "queue": "a", "tasks": [JOB]})
    assert answer.status_code == 200, answer.text
    found = answer.json()["smaller"]
    assert found == [{"words": "2,000 MB, 1 vcore", "resources": {"t": SIZE}}]
    assert len(page.server.service.state.applications) == 1
    waits = await page.submit(user="ann", queue="a", tasks=[JOB])
    assert (await page.get(f"/applications/{waits}/eta")).json()["smaller"] == found


@pytest.mark.slow
async def test_what_would_be_submitted_has_an_estimate_and_is_not_submitted(page):
    await ended(page, 20)
    await page.submit(user="ann", queue="a", name="job-20", tasks=[JOB])
    answer = await page.post("/estimates", json={"user": "ann", "queue": "a", "tasks": [JOB]})
    assert answer.status_code == 200, answer.text
    assert answer.json()["start"]["p50_ms"] >= 0
    assert len(page.server.service.state.applications) == 21
    large = {**JOB, "resources": {"memory-mb": 9_000_000}}
    refused = await page.post("/estimates", json={"user": "ann", "queue": "a", "tasks": [large]})
    assert refused.status_code == 409, refused.text


async def test_of_what_has_ended_or_is_not_there_nothing_is_estimated(page):
    await ended(page, 1)
    answer = await page.get("/applications/1/eta")
    assert (answer.status_code, answer.json()["code"]) == (409, "ended")
    answer = await page.get("/applications/7/eta")
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown-application")


async def test_a_caller_in_a_hurry_does_not_wait_for_the_process_to_start(page):
    name = await page.submit(user="ann", queue="a", tasks=[JOB])
    answer = await page.get(f"/applications/{name}/eta?within_ms=500")
    assert (answer.status_code, answer.json()["code"]) == (503, "no-answer-yet")
    with anyio.fail_after(30):
        while answer.status_code != 200:
            await anyio.sleep(0.05)
            answer = await page.get(f"/applications/{name}/eta?within_ms=500")


async def test_a_page_has_the_reason_where_there_is_no_estimate_yet(page):
    name = await page.submit(user="ann", queue="a", tasks=[JOB])
    answer = await page.get(f"/pages/applications/{name}/eta")
    assert answer.status_code == 200, answer.text
    assert "still reads the journal" in answer.json()["reason"]
