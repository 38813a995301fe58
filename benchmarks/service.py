"""How fast a server answers: `python -m benchmarks.service [--applications N] [--clients N]`.

The server has its journal on disk: each answer to a submission comes when its record is safe there.
It is called over real sockets on loopback by many clients at once, each of which waits for its
answer. The applications wait in a queue that runs none, so that no container disturbs the figures.
"""

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.own_server import url_of

SITE = """<configuration>
  <property>
    <name>yarn.resourcemanager.scheduler.class</name>
    <value>org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler</value>
  </property>
</configuration>
"""
ALLOCATIONS = """<allocations>
  <queue name="wait"><maxRunningApps>0</maxRunningApps></queue>
  <queue name="go"/>
</allocations>
"""
LISTS = ("/ws/v1/cluster/apps", "/api/v1/applications", "/api/v1/cluster", "/metrics")
LONGEST = LISTS[:2]


class Caller:
    """One connection that is kept open; answers are read whole."""

    def __init__(self, host: str, port: int) -> None:
        self._address = host, port
        self._host = f"{host}:{port}".encode()

    async def open(self) -> None:
        """Connect."""
        self._reader, self._writer = await asyncio.open_connection(*self._address, limit=2**20)

    async def call(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """The status and the body of an answer."""
        head = b"%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n" % (
            *(method.encode(), path.encode(), self._host, len(body)),
        )
        self._writer.write(head + body)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        found = re.search(rb"content-length: (\d+)", answer, re.IGNORECASE)
        content = await self._reader.readexactly(int(found.group(1)) if found else 0)
        return int(answer[9:12]), content

    async def submit(self, body: bytes) -> float:
        """Hand in an application; how long that took (s). Ends the measurement if it is refused."""
        before_s = time.perf_counter()
        status, answer = await self.call("POST", "/api/v1/applications", body)
        if status != 201:
            raise SystemExit(f"a submission was answered with {status}: {answer!r}")
        return time.perf_counter() - before_s

    def close(self) -> None:
        """Disconnect."""
        self._writer.close()


def quantile(times_s: list[float], part: float) -> float:
    """One of some times, in ms, such that this part of them is not longer."""
    ordered = sorted(times_s)
    return 1_000 * ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def processor_s(pid: int) -> float:
    """The processor time of a process (s): it says more than the clock on a busy machine."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def submit_all(host: str, port: int, count: int, clients: int) -> list[float]:
    """Hand in applications; how long each one waited for its answer (s)."""
    body = json.dumps({"queue": "wait", "name": "b", "tasks": [{"command": "true"}]}).encode()
    waits: list[float] = []
    left = iter(range(count))

    async def client() -> None:
        caller = Caller(host, port)
        await caller.open()
        for _ in left:
            waits.append(await caller.submit(body))
        caller.close()

    await asyncio.gather(*(client() for _ in range(clients)))
    return waits


def follower_of(pid: int) -> int:
    """The process that follows the journal of a server."""
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in children.read_text().split():
            if "branch.following" in Path(f"/proc/{child}/cmdline").read_text():
                return int(child)
    raise SystemExit("no process follows the journal")


def settled_s(pid: int) -> float:
    """The processor time of a process (s) when it has not grown for some time."""
    before_s = -1.0
    while (now_s := processor_s(pid)) != before_s:
        before_s = now_s
        time.sleep(4)
    return now_s


async def begin(host: str, port: int) -> None:
    """Ask a question that needs the follower: it is ready then."""
    await submit_all(host, port, 1, 1)
    caller = Caller(host, port)
    await caller.open()
    status, answer = await caller.call("GET", "/api/v1/applications/1/proof")
    caller.close()
    if status != 200:
        raise SystemExit(f"a proof was answered with {status}: {answer!r}")


async def ask(host: str, port: int, path: str, times: int) -> tuple[list[float], list[float], int]:
    """How long a list takes: the first time after a change, and after that; and its size."""
    caller = Caller(host, port)
    await caller.open()
    body = json.dumps({"queue": "wait", "tasks": [{"command": "true"}]}).encode()
    fresh: list[float] = []
    again: list[float] = []
    size = 0
    for _ in range(times):
        await caller.call("POST", "/api/v1/applications", body)
        for waits in (fresh, again):
            before_s = time.perf_counter()
            status, answer = await caller.call("GET", path)
            waits.append(time.perf_counter() - before_s)
            size = len(answer)
            if status != 200:
                raise SystemExit(f"GET {path} was answered with {status}: {answer[:200]!r}")
    caller.close()
    return fresh, again, size


async def submit_beside(host: str, port: int, path: str, times: int) -> list[float]:
    """How long submissions wait, one after another, while a list is asked for without a pause."""
    done = asyncio.Event()

    async def read() -> None:
        caller = Caller(host, port)
        await caller.open()
        while not done.is_set():
            await caller.call("GET", path)
        caller.close()

    reading = asyncio.create_task(read())
    await asyncio.sleep(0.2)
    waits = await submit_all(host, port, times, 1)
    done.set()
    await reading
    return waits


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--applications", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--times", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fairshare-service-") as folder:
        conf = Path(folder) / "conf"
        conf.mkdir()
        (conf / "yarn-site.xml").write_text(SITE)
        (conf / "fair-scheduler.xml").write_text(ALLOCATIONS)
        (conf / "fairshare.toml").write_text("[limits]\napplications_per_user = 1000000\n")
        server = subprocess.Popen(
            [
                *(sys.executable, "-m", "fairshare", "serve", "--conf", str(conf), "--port", "0"),
                *("--stop-containers", "--trust-local-users"),
                *("--state", str(Path(folder) / "state"), "--memory-mb", "1024"),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            url = urlsplit(url_of(server))
            host, port = url.hostname or "", url.port or 0
            asyncio.run(begin(host, port))
            follower = follower_of(server.pid)
            followed_s = processor_s(follower)
            began_s, before_s = time.perf_counter(), processor_s(server.pid)
            own_s = time.process_time()
            waits = asyncio.run(submit_all(host, port, options.applications, options.clients))
            took_s = time.perf_counter() - began_s
            harness = 100 * (time.process_time() - own_s) / took_s
            print(
                f"{len(waits):,} submissions by {options.clients} clients at once, each on disk "
                f"before its answer: {len(waits) / took_s:,.0f} in a second; an answer takes "
                f"{1_000 * statistics.median(waits):.1f} ms (p99 {quantile(waits, 0.99):.1f} ms)"
                ", and "
                f"costs {1_000 * (processor_s(server.pid) - before_s) / len(waits):.2f} ms of a "
                f"processor; the clients themselves kept a processor busy for {harness:.0f} % of "
                "the time"
            )
            followed_s = settled_s(follower) - followed_s
            share = 100 * followed_s / (processor_s(server.pid) - before_s)
            print(f"the process that follows the journal took {share:.1f} % of the server's time")
            print(f"{'with these applications':26} {'after a change':>24} {'unchanged':>24}")
            for path in LISTS:
                before_s, own_s = processor_s(server.pid), time.process_time()
                fresh, again, size = asyncio.run(ask(host, port, path, options.times))
                cost_ms = 1_000 * (processor_s(server.pid) - before_s) / options.times
                own_ms = 1_000 * (time.process_time() - own_s) / options.times
                print(
                    f"{path:26} "
                    f"p50 {quantile(fresh, 0.5):7.1f} p99 {quantile(fresh, 0.99):7.1f} ms "
                    f"p50 {quantile(again, 0.5):7.1f} p99 {quantile(again, 0.99):7.1f} ms "
                    f"({size / 1e6:.1f} MB; both and the change cost {cost_ms:.0f} ms of a "
                    f"processor, the client {own_ms:.1f} ms)",
                    flush=True,
                )
            for path in LONGEST:
                waits = asyncio.run(submit_beside(host, port, path, 5 * options.times))
                print(
                    f"a submission while {path} is read without a pause: "
                    f"p50 {quantile(waits, 0.5):.1f} p99 {quantile(waits, 0.99):.1f} ms",
                    flush=True,
                )
        finally:
            server.terminate()
            server.wait(60)
    return 0


if __name__ == "__main__":
    sys.exit(main())
