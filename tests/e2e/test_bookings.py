"""Bookings on a real server with real processes: one that begins while the cluster is full, one
that is kept by a restart, and a course."""

import itertools
import json
import math
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from tests.served import FAIR_SITE, SMALL_MACHINE, Served, until

QUEUES = """<allocations>
<queueMaxAMShareDefault>-1.0</queueMaxAMShareDefault>
<defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>
<queue name="a"/><queue name="b"/>
</allocations>
"""
SMALL = {"memory-mb": 64, "vcores": 1}
VCORES = 4
TUESDAY = 1


class Server(Served):
    """A server of four vcores."""

    def __init__(self, path: Path, toml: str) -> None:
        files = {
            "yarn-site.xml": FAIR_SITE,
            "fairshare.toml": toml,
            "fair-scheduler.xml": QUEUES,
        }
        super().__init__(path / "conf", *SMALL_MACHINE, files=files)
        self.connect()

    def connect(self) -> None:
        self.http = httpx.Client(base_url=self.url + "/api/v1", timeout=60, trust_env=False)

    def submit(self, queue: str, command: str, count: int = 1, **more: object) -> str:
        task = {"command": command, "count": count, "resources": SMALL, **more}
        answer = self.http.post("/applications", json={"queue": queue, "tasks": [task]})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def used(self, queue: str) -> int:
        rows = self.http.get("/queues").json()["queues"]
        return next(int(row["used"]["vcores"]) for row in rows if row["name"] == f"root.{queue}")

    def bookings(self) -> list[dict]:
        found: list[dict] = self.http.get("/bookings").json()["bookings"]
        return found

    def reserve(self, *words: str) -> str:
        result = self.verb("reserve", *words)
        assert result.returncode == 0, result.stderr
        return result.stdout


@pytest.fixture
def start(tmp_path: Path):
    servers: list[Server] = []

    def started(toml: str) -> Server:
        servers.append(Server(tmp_path, toml))
        return servers[-1]

    yield started
    for server in servers:
        server.http.close()
        server.end()


def test_a_booking_begins_while_the_cluster_is_full_preempts_and_is_kept_by_a_restart(start):
    server = start("[bookings]\nahead_s = 0\npreempt_after_s = 0\n")
    ann = server.submit("a", "sleep 600", count=VCORES)
    until(lambda: server.used("a") == VCORES)
    result = server.verb("reserve", "deadline", "--for", "b", "--cpus", "2", "--until", "+1h",
                         "--from", "+5s")  # fmt: skip
    assert "Not sure to be free at the start: 2c" in result.stderr
    bob = server.submit("b", "sleep 600", count=3)
    until(lambda: server.used("b") == 2)
    assert server.used("a") == VCORES - 2
    assert server.http.get(f"/applications/{ann}").json()["preempted"] == 2
    until(lambda: "no-room" in server.verb("why", bob, "--json").stdout)

    server.kill()
    server.http.close()
    server.start()
    server.connect()
    [booking] = server.bookings()
    assert (booking["name"], booking["state"]) == ("deadline", "on")
    until(lambda: server.used("b") == 2)
    time.sleep(0.5)
    assert (server.used("a"), server.used("b")) == (VCORES - 2, 2)
    server.http.post(f"/applications/{bob}/kill", json={})
    until(lambda: server.used("b") == 0)
    why = server.verb("why", ann)
    assert "The booking 'deadline' keeps 2 vcores for root.b until" in why.stdout
    assert "Booked" in server.verb("queues").stdout
    assert server.used("a") == VCORES - 2

    assert server.reserve("deadline", "--cancel").startswith("deadline: cancelled")
    until(lambda: server.used("a") == VCORES)
    assert server.reserve() == "Nothing is booked.\n"


def test_a_booking_begins_when_the_time_limits_of_what_runs_end(start):
    server = start('[bookings]\nahead_s = "1h"\n')
    server.submit("a", "sleep 600", count=20, time_limit_ms=4_000)
    until(lambda: server.used("a") == VCORES)
    server.reserve("deadline", "--for", "b", "--cpus", "4", "--from", "+5s", "--until", "+1h")
    bob = server.submit("b", "sleep 600", count=VCORES)
    until(lambda: server.used("b") == VCORES)
    assert server.used("a") == 0
    applications = server.http.get("/applications").json()["applications"]
    assert {one["preempted"] for one in applications} == {0}
    assert server.http.get(f"/applications/{bob}").json()["state"] == "RUNNING"


def test_a_course_gets_its_vcores_each_time_and_others_have_them_between(start):
    server = start("[bookings]\nahead_s = 0\n")
    ann = server.submit("a", "sleep 0.2", count=10_000)
    until(lambda: server.used("a") == VCORES)
    begin_ms = round(time.time() * 1_000) + 2_000
    spans = [
        {"from_ms": begin_ms + number * 8_000, "until_ms": begin_ms + number * 8_000 + 4_000}
        for number in range(3)
    ]
    course = {"name": "course", "queue": "b", "resources": {"vcores": 3}, "spans": spans}
    answer = server.http.post("/bookings", json=course)
    assert answer.status_code == 201, answer.text
    until(lambda: server.bookings() == [])
    until(lambda: server.used("a") == VCORES)
    rows = server.http.get(f"/applications/{ann}/containers").json()["containers"]
    lives = [(row["allocated_ms"], row["finished_ms"] or math.inf) for row in rows]

    def at_once(begin_ms: int, end_ms: int) -> list[int]:
        """How many run when one more begins, by the server's own time: a machine may be late."""
        begins_ms = [at_ms for at_ms, _ in lives if begin_ms <= at_ms < end_ms]
        return [sum(begin <= at_ms < end for begin, end in lives) for at_ms in begins_ms]

    for span in spans:
        assert set(at_once(span["from_ms"], span["until_ms"])) <= {1}
    for earlier, later in itertools.pairwise(spans):
        between = at_once(earlier["until_ms"], later["from_ms"])
        assert len(between) < 2 * VCORES or max(between) == VCORES


def test_a_course_every_tuesday_of_a_term_is_in_the_list_and_in_the_calendar(start):
    server = start("")
    today = datetime.now(UTC).astimezone()
    first = today + timedelta(days=7 + (TUESDAY - today.weekday()) % 7)
    last = first + timedelta(days=7 * 11)
    words = ("course", "--for", "b", "--cpus", "2", "--from", f"{first:%Y-%m-%d}T10:00")
    server.reserve(*words, "--until", "12:00", "--weekly-until", f"{last:%Y-%m-%d}")
    server.kill()
    server.http.close()
    server.start()
    server.connect()
    [course] = json.loads(server.reserve("--json"))["bookings"]
    begins = [datetime.fromtimestamp(one["from_ms"] / 1_000, UTC) for one in course["spans"]]
    times = [f"{begin.astimezone():%A %H:%M}" for begin in begins]
    assert times == ["Tuesday 10:00"] * 12
    assert "course" in server.reserve()
    refused = server.verb("reserve", "other", "--for", "a", "--cpus", "3",
                          "--from", f"{last:%Y-%m-%d}T11:00", "--until", "+4h")  # fmt: skip
    assert refused.returncode == 1
    assert "of 4, 2 are booked at that time by course" in refused.stderr
