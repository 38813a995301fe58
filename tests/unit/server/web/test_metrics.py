"""Figures for Prometheus, health and readiness."""

import asyncio
import re

import pytest

from fairshare.errors import JournalError
from fairshare.server import metrics, slices

pytestmark = pytest.mark.anyio

ROOT = "http://127.0.0.1:1"


async def figures(page):
    answer = await page.get(f"{ROOT}/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    lines = [line for line in answer.text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


async def test_the_metrics_count_events_and_show_the_present_state(page):
    await page.submit(queue="a", tasks=[{"command": "x", "count": 9}])
    (first, *_) = await page.launched(4)
    page.engine.end(first, 3)
    await page.until(lambda: page.server.service.is_over(first))
    await page.post(
        "/applications",
        json={"queue": "a", "tasks": [{"command": "x", "resources": {"memory-mb": 2**40}}]},
    )
    await page.get("/applications/1")
    await page.get("/no/such/path")
    found = await figures(page)
    assert found["fairshare_applications_submitted_total"] == 1
    assert sum(v for k, v in found.items() if "applications_rejected_total" in k) == 1
    assert found['fairshare_containers_completed_total{outcome="failure"}'] == 1
    assert found["fairshare_containers"] == 4
    assert found['fairshare_nodes{state="RUNNING"}'] == 1
    assert found['fairshare_queue_used{queue="root.a",resource="vcores"}'] == 4
    assert found['fairshare_queue_demand{queue="root.a",resource="vcores"}'] == 8  # one pauses
    assert found['fairshare_queue_fair_share{queue="root.a",resource="memory-mb"}'] == 4096
    assert found['fairshare_pending_by_reason{reason="no-room"}'] == 1
    assert not any(name.startswith("fairshare_owed{") for name in found)  # it has the whole cluster
    assert found["fairshare_journal_sequence"] == page.server.service.version
    assert found["fairshare_journal_commit_seconds_count"] > 0
    assert found["fairshare_decision_seconds_count"] > 0
    form = 'method="GET",path="/api/v1/applications/{application}"'
    assert found[f'fairshare_http_requests_total{{{form},status="200"}}'] == 1
    assert found[f"fairshare_http_request_seconds_count{{{form}}}"] == 1
    assert found['fairshare_http_requests_total{method="GET",path="(none)",status="404"}'] == 1


async def test_what_queues_are_owed_is_measured_by_cause(page):
    await page.submit(queue="a", tasks=[{"command": "x", "count": 4}])
    await page.launched(4)
    await page.submit(queue="b", tasks=[{"command": "x", "count": 9}])
    found = await figures(page)
    owed = {name: value for name, value in found.items() if name.startswith("fairshare_owed{")}
    assert owed == {'fairshare_owed{cause="lender",queue="root.b",resource="memory-mb"}': 2048}


async def test_waiting_applications_are_counted_in_slices_and_once_for_all_readers(
    page, monkeypatch
):
    monkeypatch.setattr(slices, "SLICE_S", 0.0)
    for _ in range(5):
        await page.submit(queue="a", tasks=[{"command": "x", "count": 9}])
    looked_at = []
    slept = asyncio.sleep
    service = type(page.server.service)
    main_cause = service.main_cause
    monkeypatch.setattr(
        service, "main_cause", lambda *given: looked_at.append(1) or main_cause(*given)
    )
    between = []

    async def sleep(delay_s):
        between.append(len(looked_at))
        await slept(delay_s)

    monkeypatch.setattr(slices.asyncio, "sleep", sleep)
    readings = await asyncio.gather(figures(page), figures(page), figures(page))
    counted = [found['fairshare_pending_by_reason{reason="no-room"}'] for found in readings]
    assert counted == [5, 5, 5]
    assert len(looked_at) == 5
    assert {1, 2, 3, 4} <= set(between)


async def test_what_is_shown_of_the_state_is_computed_once_in_a_while(page, monkeypatch):
    await figures(page)
    service = page.server.service
    monkeypatch.setattr(type(service), "main_cause", lambda *_: pytest.fail("computed again"))
    await page.submit(queue="a", tasks=[{"command": "x", "count": 9}])
    assert (await figures(page))["fairshare_containers"] == 0
    assert (await figures(page))["fairshare_applications_submitted_total"] == 1


async def test_names_of_metrics_follow_the_rules(page):
    text = (await page.get(f"{ROOT}/metrics")).text
    names = set(re.findall(r"# TYPE (fairshare_\w+) (\w+)", text))
    assert len(names) > 30
    for name, kind in names:
        assert name.endswith("_total") == (kind == "counter"), name
        assert f"# HELP {name} " in text


async def test_health_and_readiness_report_a_failed_writer(page, monkeypatch):
    for path in ("/healthz", "/readyz"):
        assert (await page.get(ROOT + path)).status_code == 200
    page.server.background.failing["moments"] = "OverflowError: too large"
    answer = await page.get(f"{ROOT}/readyz")
    assert answer.status_code == 503
    assert answer.json()["checks"]["background"] == "failing: moments"
    page.server.background.failing.clear()

    def fail():
        raise JournalError("the disk is full")

    monkeypatch.setattr(page.server.journal, "commit", fail)
    await page.post("/applications", json={"tasks": [{"command": "x"}]})
    answer = await page.get(f"{ROOT}/healthz")
    assert (answer.status_code, answer.json()["checks"]) == (503, {"writer": "failed"})
    assert (await page.get(f"{ROOT}/readyz")).status_code == 503


async def test_what_users_have_is_measured_for_a_bounded_number_of_them(page, monkeypatch):
    for user in ("ann", "bob", "bob", "cho"):
        await page.submit(user=user, queue="a", tasks=[{"command": "x", "count": 2}])
    await page.launched(4)
    users = (await page.get("/pages/users")).json()
    assert users["known"] == 3
    assert {one["user"]: (one["running"], one["waiting"]) for one in users["users"]} == {
        "ann": (1, 0),
        "bob": (1, 1),
        "cho": (0, 1),
    }
    assert [one["containers"] for one in users["users"]] == [2, 2, 0]
    assert users["users"][0]["used"] == {"memory-mb": 2048, "vcores": 2}
    monkeypatch.setattr(metrics, "MOST_USERS", 1)
    found = await figures(page)
    assert found['fairshare_user_containers{user="ann"}'] == 2
    assert found['fairshare_user_containers{user="(others)"}'] == 2
    assert found['fairshare_user_applications{state="waiting",user="(others)"}'] == 2
    assert found['fairshare_user_used{resource="vcores",user="ann"}'] == 2
    assert not any('user="bob"' in name for name in found)
