"""Cron jobs: when their applications are submitted, and what happens if they overlap."""

import asyncio
import contextlib
import sqlite3

import pytest
from tests.manual_engine import ManualEngine
from tests.unit.server.web.conftest import started

from fairshare.core.model.inputs import ContainerExited, ContainerStarted
from fairshare.server.cron import cron
from fairshare.server.cron.store import FILE
from fairshare.server.server import LiveServer

pytestmark = pytest.mark.anyio

SUBMISSION = {
    "queue": "root.a",
    "user": "ann",
    "tasks": [{"name": "g", "count": 1, "arguments": ["true"], "max_attempts": 1}],
}
DAY_MS = 86_400_000


class Clock:
    """The clock of the cron jobs of a server."""

    def __init__(self, server):
        self.cron = server.cron
        self.shift_ms = 0
        self.cron._now_ms = lambda: server.service.now_ms() + self.shift_ms

    def pass_day(self):
        """A day later."""
        self.shift_ms += DAY_MS
        self.cron._wake.set()


@pytest.fixture
def clock(page):
    return Clock(page.server)


async def add(page, name="nightly", status=201, **fields):
    body = {"name": name, "schedule": "0 4 * * *", "time_zone": "UTC", "user": "ann"}
    answer = await page.post("/cron", json={**body, "submission": SUBMISSION, **fields})
    assert answer.status_code == status, answer.text
    return answer.json()


async def runs(page, count, *outcomes):
    """The runs of the job, the newest first, once there are so many, with these outcomes if any are
    named."""
    async with asyncio.timeout(60):
        while True:
            found = (await page.get("/cron/ann/nightly")).json()["runs"]
            have = tuple(run["outcome"] for run in found)
            if len(found) >= count and outcomes in ((), have):
                return found
            await asyncio.sleep(0.01)


async def end(page, count):
    """End the container that was launched as the `count`-th."""
    container = (await page.launched(count))[-1]
    await page.server.service.ask(ContainerStarted(container))
    await page.server.service.ask(ContainerExited(container, 0, ""))


async def test_a_job_is_submitted_each_time_that_it_is_due(page, clock):
    added = await add(page)
    assert added["next_ms"] % DAY_MS == 4 * 3_600_000
    for count in (1, 2):
        clock.pass_day()
        await end(page, count)
    second, first = await runs(page, 2, "submitted", "submitted")
    assert (first["outcome"], first["state"], second["state"]) == (
        "submitted",
        "FINISHED",
        "FINISHED",
    )
    assert second["due_ms"] - first["due_ms"] == DAY_MS
    found = (await page.get(f"/applications/{first['application']}")).json()
    assert (found["user"], found["queue"], found["tags"]) == ("ann", "root.a", ["cron=nightly"])


async def test_a_job_is_shown_in_the_queue_of_its_last_run(page, clock):
    added = await add(page, submission={**SUBMISSION, "queue": None})
    assert added["queue"] == "", "as long as the placement rules have chosen none"
    clock.pass_day()
    (run,) = await runs(page, 1, "submitted")
    placed = (await page.get(f"/applications/{run['application']}")).json()["queue"]
    assert placed.startswith("root.")
    assert (await page.get("/cron/ann/nightly")).json()["queue"] == placed
    assert (await page.get("/cron")).json()["jobs"][0]["queue"] == placed


async def test_times_that_have_passed_count_as_one(page, clock):
    await add(page)
    clock.shift_ms = 5 * DAY_MS
    clock.pass_day()
    (run,) = await runs(page, 1)
    assert run["due_ms"] % DAY_MS == 4 * 3_600_000
    assert run["due_ms"] > page.server.service.now_ms() + 5 * DAY_MS - 3_600_000


async def test_a_job_that_skips_leaves_the_last_application_alone(page, clock):
    await add(page)
    clock.pass_day()
    (first,) = await runs(page, 1, "submitted")
    clock.pass_day()
    second, _ = await runs(page, 2)
    assert (second["outcome"], second["application"]) == ("skipped", "")
    assert second["reason"] == f"{first['application']} is not over"
    await end(page, 1)
    clock.pass_day()
    assert await runs(page, 3, "submitted", "skipped", "submitted")


async def test_a_job_that_queues_is_submitted_once_when_the_last_application_has_ended(page, clock):
    await add(page, overlap="queue")
    clock.pass_day()
    await runs(page, 1, "submitted")
    clock.pass_day()
    await runs(page, 2, "queued", "submitted")
    clock.pass_day()
    third, _, _ = await runs(page, 3, "skipped", "queued", "submitted")
    assert "a run waits for its end" in third["reason"]
    await end(page, 1)
    _, second, first = await runs(page, 3, "skipped", "submitted", "submitted")
    assert second["application"] != first["application"]


async def test_a_job_that_replaces_kills_the_last_application(page, clock):
    await add(page, overlap="replace")
    clock.pass_day()
    await runs(page, 1, "submitted")
    clock.pass_day()
    second, first = await runs(page, 2, "submitted", "submitted")
    assert (first["state"], second["state"] != "KILLED") == ("KILLED", True)
    assert first["application"] in second["reason"]


@pytest.mark.slow
async def test_a_paused_job_is_not_submitted_and_has_nothing_to_catch_up(page, clock):
    await add(page)
    paused = (await page.post("/cron/ann/nightly/pause", json={})).json()
    assert (paused["paused"], paused["next_ms"]) == (True, None)
    clock.cron._wake.set()
    while clock.cron._wake.is_set():
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.01)
    assert page.server.background.failing == {}  # where no job is left that waits
    clock.pass_day()
    resumed = (await page.post("/cron/ann/nightly/resume", json={})).json()
    assert resumed["next_ms"] > page.server.service.now_ms() + DAY_MS
    clock.pass_day()
    (run,) = await runs(page, 1)
    assert run["due_ms"] == resumed["next_ms"]


async def test_what_the_scheduler_refuses_is_in_the_history(page, clock):
    (group,) = SUBMISSION["tasks"]
    large = {**SUBMISSION, "tasks": [{**group, "resources": {"memory-mb": 10**9}}]}
    await add(page, submission=large)
    clock.pass_day()
    (run,) = await runs(page, 1, "refused")
    assert (run["outcome"], run["application"]) == ("refused", "")
    assert "1000000000" in run["reason"].replace(",", "")


async def test_a_deleted_job_is_forgotten_and_its_name_is_free(page, clock):
    await add(page)
    assert (await add(page, status=409))["code"] == "cron-exists"
    await add(page, replace=True, schedule="@hourly")
    assert [one["schedule"] for one in (await page.get("/cron")).json()["jobs"]] == ["0 * * * *"]
    assert (await page.post("/cron/ann/nightly/delete", json={})).status_code == 200
    assert (await page.get("/cron")).json()["jobs"] == []
    assert (await page.get("/cron/ann/nightly")).status_code == 404


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"schedule": "0 0 31 2 *"}, "wrong day-of-month"),
        ({"schedule": "61 0 * * *"}, "wrong minute"),
        ({"time_zone": "Mars/Olympus"}, "is not a time zone"),
        ({"submission": {**SUBMISSION, "held": True}}, "the cron line says when it starts"),
        ({"submission": {**SUBMISSION, "tasks": []}}, "give either tasks or driver"),
        ({"user": "bob"}, "user and submission.user differ"),
        ({"name": "a/b"}, "name"),
    ],
)
async def test_what_cannot_be_a_job_is_refused_at_once(page, fields, words):
    answer = await add(page, status=400, **fields)
    assert words in answer["message"]


async def test_jobs_and_a_run_that_waits_survive_the_server(page, clock, server_settings, tmp_path):
    await add(page, overlap="queue")
    clock.pass_day()
    await runs(page, 1, "submitted")
    await page.server.end()
    engine = ManualEngine(tmp_path / "again", page.engine.nodes()[0], stops=False)
    again = LiveServer(server_settings, lambda settings, path: engine)
    later = Clock(again)
    later.shift_ms = 3 * DAY_MS
    async with started(again) as http:
        async with asyncio.timeout(60):
            while True:
                found = (await http.get("/cron/ann/nightly")).json()["runs"]
                if len(found) == 2:
                    break
                await asyncio.sleep(0.01)
    assert [one["outcome"] for one in found] == ["queued", "submitted"]


async def test_a_run_that_a_server_wrote_and_did_not_submit_is_submitted_by_the_next_one(
    page, clock, server_settings, tmp_path
):
    """And one that it did submit is not submitted twice."""
    await add(page)
    submit = page.server.cron._submit

    async def submitted_and_dead(job):
        await submit(job)
        raise asyncio.CancelledError

    page.server.cron._submit = submitted_and_dead
    clock.pass_day()
    await page.launched(1)
    await page.server.end()
    engine = ManualEngine(tmp_path / "again", page.engine.nodes()[0], stops=False)
    again = LiveServer(server_settings, lambda settings, path: engine)
    async with started(again) as http:
        async with asyncio.timeout(60):
            while True:
                (run,) = (await http.get("/cron/ann/nightly")).json()["runs"]
                if run["outcome"] == "submitted":
                    break
                await asyncio.sleep(0.01)
        assert len((await http.get("/applications")).json()["applications"]) == 1


async def test_a_job_that_cannot_be_read_does_not_keep_the_others_from_being_submitted(
    page, clock, server_settings, tmp_path, caplog
):
    await add(page)
    await add(page, name="other")
    await page.server.end()
    with sqlite3.connect(server_settings.state_directory / "cron.sqlite3") as file:
        file.execute("UPDATE jobs SET body = '{}' WHERE name = 'other'")
    file.close()
    engine = ManualEngine(tmp_path / "again", page.engine.nodes()[0], stops=False)
    again = LiveServer(server_settings, lambda settings, path: engine)
    await again.start("http://127.0.0.1:1")
    try:
        assert [job.name for job in await again.cron.jobs()] == ["nightly"]
        assert "the cron job other of ann cannot be read" in caplog.text
    finally:
        await again.close()


async def test_a_run_that_cannot_be_written_is_submitted_once_it_can_be(page, clock, monkeypatch):
    monkeypatch.setattr(cron, "RETRY_S", 0.05)
    await add(page)
    file = sqlite3.connect(page.server.directory.path / FILE)
    file.execute("CREATE TRIGGER full BEFORE INSERT ON runs BEGIN SELECT RAISE(FAIL, 'full'); END")
    clock.pass_day()
    await asyncio.sleep(0.2)
    assert page.engine.launched == [], "a run is written before it is submitted"
    file.execute("DROP TRIGGER full")
    file.close()
    await page.launched(1)
    await runs(page, 1, "submitted")


async def test_a_job_that_cannot_be_written_stays_as_it_was(page, clock):
    await add(page)
    with contextlib.closing(sqlite3.connect(page.server.directory.path / FILE)) as file:
        file.execute(
            "CREATE TRIGGER full BEFORE INSERT ON jobs BEGIN SELECT RAISE(FAIL, 'full'); END"
        )
    answer = await page.post("/cron/ann/nightly/pause", json={"user": "ann"})
    assert answer.status_code >= 500
    assert (await page.get("/cron/ann/nightly")).json()["paused"] is False


async def test_a_run_that_waits_is_submitted_as_its_job_has_been_replaced(page, clock):
    await add(page, overlap="queue")
    clock.pass_day()
    await runs(page, 1, "submitted")
    clock.pass_day()
    await runs(page, 2, "queued", "submitted")
    await add(page, replace=True, submission={**SUBMISSION, "queue": "root.b"})
    await end(page, 1)
    # It is due once more, since its first time is one by the clock of the server.
    _, second, _ = await runs(page, 3, "skipped", "submitted", "submitted")
    found = (await page.get(f"/applications/{second['application']}")).json()
    assert found["queue"] == "root.b"
