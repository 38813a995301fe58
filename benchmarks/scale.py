"""What one server holds: `python -m benchmarks.scale [POINT...]`, some lines for each point.

A point is NODES:QUEUES:LIVE:WAITING, the numbers of nodes, leaf queues, running containers and
waiting applications. The server, its journal on disk and its sockets are real, its nodes are
pretended: their containers run until the benchmark ends them. At the end the server is killed, and
one that waits for that, as a standby does, is timed until it answers; then that one is killed, and
the start of the next one is timed.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from tests.manual_engine import ManualEngine

from benchmarks.overhead import Overhead, OverheadClock, overhead_of
from benchmarks.own_server import url_of
from benchmarks.processes import processor_s, users_environment
from benchmarks.service import SITE, Caller, quantile
from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.inputs import ContainerExited, ContainerStarted, Input
from fairshare.engines.protocol import LaunchOrder, NodeOffer
from fairshare.server.server import LiveServer
from fairshare.server.settings import LiveSettings, Overrides, read_settings
from fairshare.server.web.listener import serve

POINTS = (
    "1000:1000:10000:1000",
    "10000:1000:100000:1000",
    "10000:10000:100000:1000",
    "10000:1000:100000:100000",
    "50000:1000:100000:1000",
    "10000:1000:1000000:1000",
)
SMALL = {"memory-mb": 1024, "vcores": 1}
TASKS = 1_000
"""The containers of one application, at most."""
CHURN = 100
"""The containers that end, and are replaced, in a second."""
PATHS = (
    "/api/v1/queues",
    "/api/v1/applications?limit=100",
    "/ws/v1/cluster/apps?limit=1000",
    "/ws/v1/cluster/scheduler",
)
LIMITS = "[limits]\napplications_per_user = 10000000\nuser_mb = 100000\n"


class Point(msgspec.Struct, frozen=True):
    """A size of a cluster and of its work."""

    nodes: int
    queues: int
    live: int
    waiting: int

    @classmethod
    def parse(cls, text: str) -> "Point":
        """Of NODES:QUEUES:LIVE:WAITING; raises ValueError."""
        return cls(*map(int, text.split(":", 3)))


class LastingEngine(ManualEngine):
    """Its containers run until `churn` ends them, the oldest first. After a restart all that the
    state knows still run."""

    server: LiveServer

    def __init__(self, path: Path, point: Point, clock: OverheadClock) -> None:
        each = 2 + -(-point.live // point.nodes)
        offer = {"memory-mb": 1024 * each, "vcores": each}
        racks = itertools.cycle(f"/rack{n}" for n in range(100))
        offers = (NodeOffer(f"n{n}", next(racks), offer, {}) for n in range(point.nodes))
        super().__init__(path, *offers)
        self._oldest: Iterator[ContainerId] = iter(())
        self.launch = clock.harness(self.launch)  # type: ignore[method-assign]
        self.churn = clock.harness(self.churn)  # type: ignore[method-assign]
        self._clock = clock

    def start(self, report: Callable[[Input], None], **more: object) -> None:
        """What it reports is the server's work."""
        super().start(self._clock.product(report), **more)

    def launch(self, order: LaunchOrder) -> None:
        """It runs; nothing else is kept of it, so that the engine costs little."""
        self.report(ContainerStarted(order.container))

    def stop(self, container: ContainerId) -> None:
        """It ends at once."""
        self.report(ContainerExited(container, 143))

    def running(self) -> frozenset[ContainerId]:
        """All that the state knows."""
        return frozenset(self.server.service.state.running)

    def churn(self) -> None:
        """End `CHURN` containers in each second, from now on."""
        for _ in range(CHURN // 20):
            container = next(self._oldest, None)
            if container is None:
                self._oldest = iter(tuple(self.server.service.state.running))
                container = next(self._oldest)
            self.report(ContainerExited(container, 0))
        asyncio.get_running_loop().call_later(0.05, self.churn)


def run_server(folder: Path, point: Point, *, waits: bool) -> None:
    """Serve until a signal; SIGUSR2 begins the churn. With `waits` only after a line of input."""
    if waits:
        print("waiting", flush=True)
        sys.stdin.readline()

    async def run() -> None:
        clock = OverheadClock()
        clock.answer_signals()
        settings = read_settings(
            folder / "conf", Overrides(port=0, state_directory=folder / "state")
        )
        engines: list[LastingEngine] = []

        def make(_: LiveSettings, path: Path) -> LastingEngine:
            engines.append(LastingEngine(path, point, clock))
            return engines[0]

        server = LiveServer(settings, make)
        engines[0].server = server
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR2, engines[0].churn)
        await serve(server, lambda url: print(f"listening on {url}", flush=True))

    asyncio.run(run())


def configure(folder: Path, queues: int) -> None:
    """Write the files: leaf queues below parents of a hundred each, and one that runs nothing."""
    leaves = [f'<queue name="q{n}"/>' for n in range(queues)]
    parents = "".join(
        f'<queue name="p{at // 100}">{"".join(leaves[at : at + 100])}</queue>'
        for at in range(0, queues, 100)
    )
    (folder / "conf").mkdir()
    (folder / "conf/yarn-site.xml").write_text(SITE)
    (folder / "conf/fair-scheduler.xml").write_text(
        '<allocations><queue name="wait"><maxRunningApps>0</maxRunningApps></queue>'
        f"{parents}</allocations>"
    )
    (folder / "conf/fairshare.toml").write_text(LIMITS)


@contextlib.contextmanager
def process_of(folder: Path, text: str, *more: str) -> Iterator[subprocess.Popen[str]]:
    """The process of a server, which is killed at the end of the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.scale", text, "--serve", str(folder), *more],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=users_environment(),
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


@contextlib.contextmanager
def started(folder: Path, text: str) -> Iterator[tuple[subprocess.Popen[str], str, int, float]]:
    """A server: its process, its address, and how long it took to answer (s)."""
    began_s = time.perf_counter()
    with process_of(folder, text) as process:
        url = urlsplit(url_of(process))
        yield process, url.hostname or "", url.port or 0, time.perf_counter() - began_s


def failover_s(folder: Path, text: str, active: subprocess.Popen[str]) -> float:
    """Kill the active server; how long it takes until one that waited answers (s)."""
    with process_of(folder, text, "--waits") as standby:
        assert standby.stdin is not None
        assert standby.stdout is not None
        standby.stdout.readline()
        active.kill()
        began_s = time.perf_counter()
        active.wait()
        standby.stdin.write("\n")
        standby.stdin.flush()
        url_of(standby)
        return time.perf_counter() - began_s


async def submit(host: str, port: int, bodies: Iterator[bytes], clients: int) -> None:
    """Hand in applications, by several clients at once."""

    async def client() -> None:
        caller = Caller(host, port)
        await caller.open()
        for body in bodies:
            await caller.submit(body)
        caller.close()

    await asyncio.gather(*(client() for _ in range(clients)))


async def granted(host: str, port: int, count: int) -> None:
    """Wait until so many containers are there."""
    caller = Caller(host, port)
    await caller.open()
    while json.loads((await caller.call("GET", "/api/v1/cluster"))[1])["containers"] < count:
        await asyncio.sleep(0.5)
    caller.close()


async def latencies(host: str, port: int, path: str, times: int) -> list[float]:
    """How long some answers take, one after another (s); without a path submissions."""
    caller = Caller(host, port)
    await caller.open()
    waits = []
    body = json.dumps({"queue": "wait", "tasks": [{"command": "true"}]}).encode()
    for _ in range(times):
        await asyncio.sleep(0.01)
        if path:
            began_s = time.perf_counter()
            status, answer = await caller.call("GET", path)
            waits.append(time.perf_counter() - began_s)
            if status != 200:
                raise SystemExit(f"GET {path} was answered with {status}: {answer[:200]!r}")
        else:
            waits.append(await caller.submit(body))
    caller.close()
    return waits


def memory_kb(pid: int) -> int:
    """The resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def journal_bytes(folder: Path) -> int:
    """What the journal has on disk, its log and snapshots included."""
    return sum(path.stat().st_size for path in (folder / "state").glob("journal.sqlite3*"))


def core(pid: int, seconds: float) -> float:
    """The part of a core that a process uses."""
    before_s = processor_s(pid)
    time.sleep(seconds)
    return (processor_s(pid) - before_s) / seconds


def shares(name: str, before: Overhead, after: Overhead) -> dict[str, float]:
    """Of a server's time since then: what was the benchmark's own, and the collector's."""
    spent_s = max(after.processor_s - before.processor_s, 1e-9)
    return {
        f"{name}_harness_share": (after.harness_s - before.harness_s) / spent_s,
        f"{name}_collector_share": (after.collector_s - before.collector_s) / spent_s,
        f"{name}_longest_collection_ms": 1_000 * after.longest_collection_s,
    }


def measure(text: str, seconds: float, times: int, restart: bool) -> dict[str, float]:
    """The figures of a point."""
    point = Point.parse(text)
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="fairshare-scale-") as name:
        folder = Path(name)
        configure(folder, point.queues)
        with started(folder, text) as (process, host, port, took_s):
            pid = process.pid
            figures["start_s"] = took_s
            figures["empty_mb"] = (empty_kb := memory_kb(pid)) / 1024
            size = journal_bytes(folder)
            before = overhead_of(process)
            before_s, began_s = processor_s(pid), time.perf_counter()
            # Each application has tasks beyond its part, so that what ends is replaced.
            applications = max(point.queues, -(-point.live // TASKS))
            count = -(-point.live // applications)
            bodies = (
                json.dumps(
                    {
                        "queue": f"p{n % point.queues // 100}.q{n % point.queues}",
                        "tasks": [
                            {
                                "command": "true",
                                "count": 2 * count,
                                "at_once": count,
                                "resources": SMALL,
                            }
                        ],
                    }
                ).encode()
                for n in range(applications)
            )
            asyncio.run(submit(host, port, bodies, 8))
            asyncio.run(granted(host, port, applications * count))
            containers = applications * count
            figures["granted_s"] = time.perf_counter() - began_s
            figures["container_ms"] = 1_000 * (processor_s(pid) - before_s) / containers
            figures |= shares("container", before, overhead_of(process))
            full_kb = memory_kb(pid)
            figures["container_kb"] = (full_kb - empty_kb) / containers
            figures["container_bytes"] = (journal_bytes(folder) - size) / containers
            before_s = processor_s(pid)
            body = json.dumps({"queue": "wait", "tasks": [{"command": "true"}]}).encode()
            asyncio.run(submit(host, port, iter(itertools.repeat(body, point.waiting)), 16))
            figures["submission_ms"] = 1_000 * (processor_s(pid) - before_s) / point.waiting
            figures["full_mb"] = memory_kb(pid) / 1024
            figures["waiting_kb"] = (memory_kb(pid) - full_kb) / point.waiting
            figures["idle_core"] = core(pid, seconds)
            before = overhead_of(process)
            process.send_signal(signal.SIGUSR2)
            figures["churn_core"] = core(pid, seconds)
            figures |= shares("churn", before, overhead_of(process))
            for path in ("", *PATHS):
                waits = asyncio.run(latencies(host, port, path, times))
                for part in (50, 99):
                    figures[f"{path or 'submission'} p{part}_ms"] = quantile(waits, part / 100)
            if restart:
                figures["failover_s"] = failover_s(folder, text, process)
        if restart:
            with started(folder, text) as (_, host, port, took_s):
                figures["restart_s"] = took_s
    return figures


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("points", nargs="*", metavar="POINT", default=POINTS)
    parser.add_argument("--seconds", type=float, default=20.0, help="of churn, and of rest")
    parser.add_argument("--times", type=int, default=100, help="the answers of each kind")
    parser.add_argument("--no-restart", action="store_true")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--waits", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is not None:
        run_server(options.serve, Point.parse(options.points[0]), waits=options.waits)
        return 0
    for text in options.points:
        began_s = time.perf_counter()
        figures = measure(text, options.seconds, options.times, not options.no_restart)
        print(text)
        for name, value in figures.items():
            print(f"    {name:40} {value:12,.3f}")
        print(f"    measured in {time.perf_counter() - began_s:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
