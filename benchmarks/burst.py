"""What a container costs in a burst of grants, and how long calls wait beside one:
`python -m benchmarks.burst [--tasks N] [--nodes N] [--postgresql]`.

One application asks for more containers than one turn of the writer can grant. Its containers are
pretended: an engine says at once that they run, and that they end after some seconds. The server,
its journal on disk and its sockets are real. Of the first burst the processor time is measured,
without other calls; beside the second one, of another server, applications are submitted
without a pause, as far as `--quiet` does not leave that out.
"""

import argparse
import asyncio
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from tests.manual_engine import ManualEngine

from benchmarks.commits import database, leading
from benchmarks.overhead import OverheadClock, overhead_of
from benchmarks.own_server import url_of
from benchmarks.service import ALLOCATIONS, SITE, Caller, processor_s, quantile, submit_all
from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.inputs import ContainerExited, ContainerStarted, Input
from fairshare.engines.protocol import LaunchOrder, NodeOffer
from fairshare.server.server import LiveServer
from fairshare.server.settings import LiveSettings, Overrides, read_settings
from fairshare.server.web.listener import serve

NODE = {"memory-mb": 16_384, "vcores": 16}
SMALL = {"memory-mb": 1024, "vcores": 1}
POLL_S = 0.2


class PretendedEngine(ManualEngine):
    """Has nodes, all alike; each container ends by itself after `task_s`. Its own time is counted,
    without that of the server that it reports to.

    It keeps nothing of a container but its number, and has one timer for all that are launched in
    one turn: an order and a timer for each would be most of what the garbage collector looks at."""

    def __init__(self, path: Path, nodes: int, task_s: float, clock: OverheadClock) -> None:
        super().__init__(path, *(NodeOffer(f"n{n}", "/rack", NODE, {}) for n in range(nodes)))
        self._task_s = task_s
        self._new: list[ContainerId] = []  # whose start is not reported yet
        self._report_all = clock.product(self._report_all)  # type: ignore[method-assign]
        self._start_new = clock.harness(self._start_new)  # type: ignore[method-assign]
        self._end_all = clock.harness(self._end_all)  # type: ignore[method-assign]

    def launch(self, order: LaunchOrder) -> None:
        """It runs soon; its end comes by itself."""
        if not self._new:
            asyncio.get_running_loop().call_soon(self._start_new)
        self._new.append(order.container)
        self.live.add(order.container)

    def _start_new(self) -> None:
        new, self._new = self._new, []
        asyncio.get_running_loop().call_later(self._task_s, self._end_all, new)
        self._report_all([ContainerStarted(container) for container in new])

    def _end_all(self, containers: Iterable[ContainerId]) -> None:
        ended = [container for container in containers if container in self.live]
        self.live.difference_update(ended)
        self._report_all([ContainerExited(container, 0, "", 7, 42) for container in ended])

    def _report_all(self, reports: Iterable[Input]) -> None:
        for report in reports:
            self.report(report)


class Server(msgspec.Struct, frozen=True):
    """A server in a process of its own."""

    process: subprocess.Popen[str]
    host: str
    port: int


def run_server(folder: Path, nodes: int, task_s: float, database_url: str | None) -> None:
    """Serve until a signal."""

    async def run() -> None:
        clock = OverheadClock()
        clock.answer_signals()

        def make(settings: LiveSettings, path: Path) -> PretendedEngine:
            return PretendedEngine(path, nodes, task_s, clock)

        settings = read_settings(
            folder / "conf", Overrides(port=0, state_directory=folder / "state")
        )
        with leading(folder / "state", database_url):
            server = LiveServer(settings, make)
            await serve(server, lambda url: print(f"listening on {url}", flush=True))

    asyncio.run(run())


@contextlib.contextmanager
def new_server(nodes: int, task_s: float, postgresql: bool) -> Iterator[Server]:
    """A server that ends with the block."""
    with contextlib.ExitStack() as stack:
        shared = ("--database", stack.enter_context(database())) if postgresql else ()
        yield stack.enter_context(_served(nodes, task_s, shared))


@contextlib.contextmanager
def _served(nodes: int, task_s: float, shared: tuple[str, ...]) -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="fairshare-burst-") as name:
        folder = Path(name)
        (folder / "conf").mkdir()
        (folder / "conf/yarn-site.xml").write_text(SITE)
        (folder / "conf/fair-scheduler.xml").write_text(ALLOCATIONS)
        (folder / "conf/fairshare.toml").write_text("[limits]\napplications_per_user = 1000000\n")
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "benchmarks.burst", "--serve", name),
                *("--nodes", str(nodes), "--task-s", str(task_s), *shared),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            url = urlsplit(url_of(process))
            yield Server(process, url.hostname or "", url.port or 0)
        finally:
            process.terminate()
            process.wait(60)


async def begin(server: Server, tasks: int) -> tuple[Caller, float]:
    """Submit the application; how long that took (s), on a connection that stays open."""
    body = {"queue": "go", "tasks": [{"command": "true", "count": tasks, "resources": SMALL}]}
    caller = Caller(server.host, server.port)
    await caller.open()
    return caller, await caller.submit(json.dumps(body).encode())


async def granted(caller: Caller) -> int:
    """How many containers there are."""
    _, answer = await caller.call("GET", "/api/v1/cluster")
    return int(json.loads(answer)["containers"])


async def alone(server: Server, tasks: int) -> float:
    """How long a burst takes without calls beside it (s)."""
    began_s = time.perf_counter()
    caller, _ = await begin(server, tasks)
    while await granted(caller) < tasks:
        await asyncio.sleep(POLL_S)
    caller.close()
    return time.perf_counter() - began_s


async def beside(server: Server, tasks: int) -> tuple[list[float], list[float]]:
    """How long submissions and short answers wait (s) while the burst is granted: submissions on
    new connections, answers on one that is kept."""
    caller, first_s = await begin(server, tasks)
    submissions, answers = [first_s], []
    while True:
        submissions += await submit_all(server.host, server.port, 1, 1)
        before_s = time.perf_counter()
        containers = await granted(caller)
        answers.append(time.perf_counter() - before_s)
        if containers >= tasks:
            caller.close()
            return submissions, answers


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--task-s", type=float, default=30.0)
    parser.add_argument("--submissions", type=int, help="when nothing else happens (default 500)")
    parser.add_argument("--quiet", action="store_true", help="only the burst without calls")
    parser.add_argument("--postgresql", action="store_true", help="keep the state there")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--database", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is not None:
        run_server(options.serve, options.nodes, options.task_s, options.database)
        return 0
    submissions = 500 if options.submissions is None else options.submissions
    if submissions < 1 or (options.quiet and options.submissions is not None):
        parser.error("--submissions is at least 1, and --quiet leaves them out")
    each = min(NODE[name] // SMALL[name] for name in NODE)
    if options.tasks > each * options.nodes:
        least = -(-options.tasks // each)
        parser.error(f"{options.tasks} containers do not run at once on {options.nodes} nodes, "
                     f"which take {each} each; use --nodes {least} or more")  # fmt: skip
    with new_server(options.nodes, options.task_s, options.postgresql) as server:
        asyncio.run(alone(server, 1))  # the first request, and what is made once, is not measured
        before = overhead_of(server.process)
        took_s = asyncio.run(alone(server, options.tasks))
        overhead = overhead_of(server.process)
        cost_ms = 1_000 * (overhead.processor_s - before.processor_s) / options.tasks
        print(
            f"{options.tasks:,} containers on {options.nodes:,} nodes granted in {took_s:.1f} s: "
            f"{cost_ms:.4f} ms of a processor each; {overhead.since(before)}",
            flush=True,
        )
    if options.quiet:
        return 0
    with new_server(options.nodes, options.task_s, options.postgresql) as server:
        before_s = processor_s(server.process.pid)
        waits = asyncio.run(submit_all(server.host, server.port, submissions, 4))
        cost_ms = 1_000 * (processor_s(server.process.pid) - before_s) / len(waits)
        print(
            f"a submission costs {cost_ms:.2f} ms of a processor, and waits "
            f"{1_000 * statistics.median(waits):.1f} ms, when nothing else happens"
        )
        before = overhead_of(server.process)
        submissions, answers = asyncio.run(beside(server, options.tasks))
        overhead = overhead_of(server.process)
        for kind, waits in (("submissions", submissions), ("short answers", answers)):
            print(
                f"{len(waits)} {kind} beside the burst: p50 {quantile(waits, 0.5):.0f} ms, "
                f"p99 {quantile(waits, 0.99):.0f} ms, most {1_000 * max(waits):.0f} ms"
            )
        print(
            f"the server's {overhead.processor_s - before.processor_s:.1f} s of a processor: "
            f"{overhead.since(before)}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
