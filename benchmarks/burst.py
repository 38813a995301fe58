"""How long calls wait beside a burst of grants: `python -m benchmarks.burst [--tasks N]`.

One application asks for more containers than one turn of the writer can grant. Its containers are
pretended: an engine says at once that they run, and that they end after some seconds. The server,
its journal on disk and its sockets are real. Applications that come meanwhile are measured from
outside.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

from tests.manual_engine import ManualEngine

from benchmarks.service import ALLOCATIONS, SITE, Caller, processor_s, quantile, submit_all
from fairshare.engines.protocol import LaunchOrder, NodeOffer
from fairshare.server.server import LiveServer
from fairshare.server.settings import LiveSettings, Overrides, read_settings
from fairshare.server.web.listener import serve

NODE = {"memory-mb": 16_384, "vcores": 16}
SMALL = {"memory-mb": 1024, "vcores": 1}


class PretendedEngine(ManualEngine):
    """Has nodes, all alike; each container ends by itself after `task_s`."""

    def __init__(self, path: Path, nodes: int, task_s: float) -> None:
        super().__init__(path, *(NodeOffer(f"n{n}", "/rack", NODE, {}) for n in range(nodes)))
        self._task_s = task_s

    def launch(self, order: LaunchOrder) -> None:
        """It runs already; its end comes by itself."""
        super().launch(order)
        asyncio.get_running_loop().call_later(self._task_s, self.end, order.container)


def run_server(folder: Path, nodes: int, task_s: float) -> None:
    """Serve until a signal."""

    def make(settings: LiveSettings, path: Path) -> PretendedEngine:
        return PretendedEngine(path, nodes, task_s)

    async def run() -> None:
        settings = read_settings(
            folder / "conf", Overrides(port=0, state_directory=folder / "state")
        )
        server = LiveServer(settings, make)
        await serve(server, lambda url: print(f"listening on {url}", flush=True))

    asyncio.run(run())


async def beside(host: str, port: int, tasks: int) -> tuple[list[float], list[float], float]:
    """How long submissions and short answers wait while the burst is granted, and how long (s)
    that takes."""
    body = {"queue": "go", "tasks": [{"command": "true", "count": tasks, "resources": SMALL}]}
    caller = Caller(host, port)
    await caller.open()
    began_s = time.perf_counter()
    submissions = [await caller.submit(json.dumps(body).encode())]
    answers: list[float] = []
    granted = 0
    while granted < tasks:
        submissions += await submit_all(host, port, 1, 1)
        before_s = time.perf_counter()
        _, answer = await caller.call("GET", "/api/v1/cluster")
        answers.append(time.perf_counter() - before_s)
        granted = json.loads(answer)["containers"]
    caller.close()
    return submissions, answers, time.perf_counter() - began_s


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--task-s", type=float, default=30.0)
    parser.add_argument("--submissions", type=int, default=500, help="when nothing else happens")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is not None:
        run_server(options.serve, options.nodes, options.task_s)
        return 0
    with tempfile.TemporaryDirectory(prefix="fairshare-burst-") as name:
        folder = Path(name)
        (folder / "conf").mkdir()
        (folder / "conf/yarn-site.xml").write_text(SITE)
        (folder / "conf/fair-scheduler.xml").write_text(ALLOCATIONS)
        (folder / "conf/fairshare.toml").write_text("[limits]\napplications_per_user = 1000000\n")
        server = subprocess.Popen(
            [
                *(sys.executable, "-m", "benchmarks.burst", "--serve", name),
                *("--nodes", str(options.nodes), "--task-s", str(options.task_s)),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert server.stdout is not None
        try:
            line = server.stdout.readline()
            if not line.startswith("listening on "):
                raise SystemExit("the server did not start")
            url = urlsplit(line.split()[-1])
            host, port = url.hostname or "", url.port or 0
            before_s = processor_s(server.pid)
            waits = asyncio.run(submit_all(host, port, options.submissions, 4))
            cost_ms = 1_000 * (processor_s(server.pid) - before_s) / len(waits)
            print(
                f"{options.nodes:,} nodes: a submission costs {cost_ms:.2f} ms of a processor, "
                f"and waits {1_000 * statistics.median(waits):.1f} ms"
            )
            before_s = processor_s(server.pid)
            submissions, answers, took_s = asyncio.run(beside(host, port, options.tasks))
            cost_ms = 1_000 * (processor_s(server.pid) - before_s) / options.tasks
            print(
                f"{options.tasks:,} containers granted in {took_s:.1f} s "
                f"({cost_ms:.3f} ms of a processor each, with the calls beside)"
            )
            for kind, waits in (("submissions", submissions), ("short answers", answers)):
                print(
                    f"{len(waits)} {kind} beside: p50 {quantile(waits, 0.5):.0f} ms, "
                    f"p99 {quantile(waits, 0.99):.0f} ms, most {1_000 * max(waits):.0f} ms"
                )
        finally:
            server.terminate()
            server.wait(60)
    return 0


if __name__ == "__main__":
    sys.exit(main())
