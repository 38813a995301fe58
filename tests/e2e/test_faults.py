"""Servers to whom bad things happen: no room on the disk, a damaged journal, too many callers."""

import asyncio
import json
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from benchmarks.service import submit_all
from tests.forked import fairshare
from tests.served import Served

from fairshare.runtime.journal.sqlite import JOURNAL_FILE

YARN_SITE = """<configuration>
  <property>
    <name>yarn.resourcemanager.scheduler.class</name>
    <value>org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler</value>
  </property>
</configuration>
"""
ALLOCATIONS = (
    '<allocations><queue name="wait"><maxRunningApps>0</maxRunningApps></queue></allocations>'
)
JOB = {"queue": "wait", "tasks": [{"command": "true"}]}


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    folder = tmp_path / "conf"
    folder.mkdir()
    (folder / "yarn-site.xml").write_text(YARN_SITE)
    (folder / "fair-scheduler.xml").write_text(ALLOCATIONS)
    return folder


@pytest.fixture
def serve(conf: Path) -> Iterator[Callable[[], Served]]:
    """Starts servers, and ends them."""
    servers: list[Served] = []

    def start() -> Served:
        servers.append(Served(conf, "--memory-mb", "2048", "--vcores", "2"))
        return servers[-1]

    yield start
    for server in servers:
        if server.process.poll() is None:
            server.end()


def with_small_files(conf: Path, largest_bytes: int) -> subprocess.Popen[str]:
    """A server whose files cannot grow beyond a size."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_bytes, largest_bytes))

    return subprocess.Popen(
        [
            *(sys.executable, "-m", "fairshare", "serve", "--conf", str(conf), "--port", "0"),
            "--stop-containers",
            *("--state", str(conf.parent / "state"), "--memory-mb", "2048", "--vcores", "2"),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=limit,
    )


def test_a_full_disk_ends_the_server_with_a_word_and_nothing_acknowledged_is_lost(conf, serve):
    accepted: list[str] = []
    process = with_small_files(conf, 300_000)
    assert process.stdout is not None
    url = process.stdout.readline().removeprefix("listening on ").strip()
    try:
        with httpx.Client(base_url=f"{url}/api/v1", timeout=30) as http:
            for _ in range(2_000):
                try:
                    answer = http.post("/applications", json=JOB)
                except httpx.TransportError:
                    break
                if answer.status_code != 201:
                    assert answer.json()["code"] in ("stopping", "server-failure"), answer.text
                    break
                accepted.append(answer.json()["id"])
            else:
                pytest.fail("the disk was never full")
        _, reported = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 1
    assert "the server had to stop" in reported
    assert JOURNAL_FILE in reported
    assert len(accepted) > 10
    url = serve().url
    listed = httpx.get(f"{url}/api/v1/applications", timeout=30).json()["applications"]
    assert set(accepted) <= {one["id"] for one in listed}


def test_a_truncated_journal_is_refused_with_what_to_do(conf, serve):
    server = serve()
    address = urlsplit(server.url)
    asyncio.run(submit_all(address.hostname or "", address.port or 0, 200, 8))
    server.end()
    journal = conf.parent / "state" / JOURNAL_FILE
    size = journal.stat().st_size
    assert size > 40_000
    with journal.open("r+b") as file:
        file.truncate(size // 2)
    words = ("serve", "--conf", conf, "--state", server.state, "--port", "0")
    refused = fairshare(*words, "--stop-containers")
    reported = refused.stderr
    assert refused.returncode == 1
    assert str(journal) in reported
    assert "restore it from a copy" in reported
    assert "Traceback" not in reported


def test_some_hundred_clients_at_once_are_all_answered(serve):
    url = serve().url
    address = urlsplit(url)
    host, port = address.hostname or "", address.port or 0
    waits = asyncio.run(submit_all(host, port, 600, 300))
    assert len(waits) == 600
    listed = httpx.get(f"{url}/api/v1/applications", timeout=30).json()["applications"]
    assert len({one["id"] for one in listed}) == 600


def test_readers_that_do_not_read_block_no_client(serve):
    """Fifty streams whose readers take nothing; who asks is answered meanwhile."""
    url = serve().url
    address = urlsplit(url)
    place = (address.hostname, address.port)
    asleep = []
    for _ in range(50):
        reader = socket.create_connection(place)
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        head = f"GET /api/v1/events?since=0 HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n"
        reader.sendall(head.encode())
        asleep.append(reader)
    try:
        asyncio.run(submit_all(place[0], place[1], 200, 20))
        before_s = time.monotonic()
        answer = httpx.get(f"{url}/api/v1/cluster", timeout=30)
        assert answer.json()["applications"]["PENDING"] == 200
        assert time.monotonic() - before_s < 30
        figures = httpx.get(f"{url}/metrics", timeout=30).text
        assert "fairshare_event_streams 50.0" in figures
    finally:
        for reader in asleep:
            reader.close()


def test_a_stream_over_a_socket_goes_on_where_it_broke_off(serve):
    url = serve().url
    with httpx.stream("GET", f"{url}/api/v1/events?kinds=record&since=0", timeout=30) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        first = next(line for line in stream.iter_lines() if line.startswith("id: "))
    assert first == "id: 1"
    httpx.post(f"{url}/api/v1/applications", json=JOB)
    headers = {"Last-Event-ID": "1"}
    seen: list[int] = []
    with httpx.stream("GET", f"{url}/api/v1/events", headers=headers, timeout=30) as stream:
        for line in stream.iter_lines():
            if line.startswith("data: "):
                reported = json.loads(line[6:])
                if any(one["type"] == "ApplicationSubmitted" for one in reported["events"]):
                    break
            if line.startswith("id: "):
                seen.append(int(line[4:]))
    assert seen == list(range(2, seen[-1] + 1))
