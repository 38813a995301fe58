"""Bookings over REST: made, changed, cancelled, and as readers see them while one is on."""

import asyncio

import pytest
from tests.unit.server.web.test_authentication import door  # noqa: F401 - a fixture

pytestmark = pytest.mark.anyio

TASKS = [{"count": 20, "command": "true", "resources": {"memory-mb": 1024, "vcores": 1}}]
HOUR_MS = 3_600_000


def booking(now_ms, **changes):
    spans = [{"from_ms": 0, "until_ms": now_ms + HOUR_MS}]
    return {"name": "course", "queue": "b", "resources": {"vcores": 1}, "spans": spans} | changes


async def now_ms(page):
    return (await page.get("/bookings")).json()["at_ms"]


async def test_readers_see_what_is_booked_and_what_that_keeps_waiting(page):
    at_ms = await now_ms(page)
    total = (await page.get("/bookings")).json()["total"]
    made = await page.post("/bookings", json=booking(at_ms, resources={"vcores": total["vcores"]}))
    assert made.status_code == 201, made.text
    assert (made.json()["state"], made.json()["queue"]) == ("on", "root.b")
    waiting = await page.submit(queue="root.a", tasks=TASKS)
    [reason] = (await page.get(f"/applications/{waiting}/reasons")).json()["reasons"]
    assert (reason["cause"], reason["booking"]) == ("booked", "course")
    assert "The booking 'course' keeps" in reason["sentence"]
    assert "fairshare reserve" in reason["remedy"]

    queues = {one["name"]: one for one in (await page.get("/queues")).json()["queues"]}
    assert queues["root.b"]["booked"]["vcores"] == total["vcores"]
    assert queues["root.a"]["booked"] is None
    metrics = (await page.get("http://127.0.0.1:1/metrics")).text
    promised = f'{{booking="course",queue="root.b",resource="vcores",user=""}} {total["vcores"]}'
    assert f"fairshare_booking_promised{promised}" in metrics
    assert 'fairshare_pending_by_reason{reason="booked"} 1' in metrics

    cancelled = await page.post("/bookings/course/cancel", json={})
    assert cancelled.json()["name"] == "course"
    await page.launched(1)
    assert (await page.get("/bookings")).json()["bookings"] == []


async def test_a_booking_is_replaced_where_that_is_asked_for(page):
    at_ms = await now_ms(page)
    await page.post("/bookings", json=booking(at_ms))
    again = await page.post("/bookings", json=booking(at_ms, queue="root.a"))
    assert (again.status_code, again.json()["code"]) == (409, "invalid-booking")
    changed = await page.post("/bookings", json=booking(at_ms, queue="root.a", replace=True))
    assert changed.json()["queue"] == "root.a"
    missing = await page.post("/bookings", json=booking(at_ms, name="other", replace=True))
    assert missing.status_code == 404


async def test_a_booking_that_is_cancelled_at_the_same_time_is_answered_nevertheless(page):
    at_ms = await now_ms(page)
    for _ in range(5):
        await page.post("/bookings", json=booking(at_ms))
        changed, cancelled = await asyncio.gather(
            page.post("/bookings", json=booking(at_ms, queue="root.a", replace=True)),
            page.post("/bookings/course/cancel", json={}),
        )
        assert cancelled.status_code == 200, cancelled.text
        assert changed.status_code in (201, 404), changed.text


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        ({"resources": {"vcores": 100_000}}, 409, "more than there is"),
        ({"resources": {"tpu": 1}}, 400, "no resource type 'tpu'"),
        ({"resources": {"vcores": -1}}, 400, "resources"),
        ({"queue": "nowhere"}, 409, "there is no queue root.nowhere"),
        ({"spans": []}, 409, "needs a time"),
        ({"spans": [{"from_ms": 1, "until_ms": 2}]}, 409, "in the past"),
        ({"name": "a/b"}, 400, "name"),
        ({"more": 1}, 400, "more"),
    ],
)
async def test_a_wrong_booking_is_refused_with_what_is_wrong(page, changes, status, words):
    answer = await page.post("/bookings", json=booking(await now_ms(page), **changes))
    assert answer.status_code == status, answer.text
    assert words in answer.text
    assert (await page.post("/bookings/none/cancel", json={})).status_code == 404


async def test_a_booking_has_the_name_of_the_administrator_that_books(door):  # noqa: F811
    async with door.as_user("eve", administrator=True) as eve, door.as_user("ann") as ann:
        body = booking(await now_ms(eve))
        assert (await eve.post("/bookings", json=body)).json()["made_by"] == "eve"
        refused = await ann.post("/bookings", json=body | {"name": "mine"})
        assert (refused.status_code, refused.json()["code"]) == (403, "access-denied")
        assert [one["made_by"] for one in (await ann.get("/bookings")).json()["bookings"]] == [
            "eve"
        ]
