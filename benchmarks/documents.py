"""How fast a busy server's documents are: `python -m benchmarks.documents [--scheduler capacity]`.

A thousand leaf queues, 20,000 applications and 1,000 nodes, which run 8,000 containers; the other
applications wait, or have ended and are packed: `--applications 0 --ended 10000`. Each document is
read right after a submission, as by a poller of a cluster that is never still, and once more with
nothing changed. Printed are the medians, the processor time of the server's thread and that of the
reader for the first of both, and how long the server's event loop did nothing else at a time.
"""

import argparse
import asyncio
import http.client
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tests.browser.cluster import Cluster, running

from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.work import Command, TaskGroup
from fairshare.server.retention import INTERVAL_S

FAMILIES, LEAVES = 20, 50
NODES = 1_000
OFFER = {"memory-mb": 8_192, "vcores": 8}
PATHS = (
    "/ws/v1/cluster/scheduler",
    "/ws/v1/cluster/apps?limit=50",
    "/ws/v1/cluster/metrics",
    "/api/v1/applications?limit=50",
    "/api/v1/queues",
    "/metrics",
    "/jmx",
    "/ws/v1/cluster/apps?applicationTags=tag7",
    "/ws/v1/cluster/apps",
)
PREFIX = "org.apache.hadoop.yarn.server.resourcemanager.scheduler."
LOOK_S = 0.001


def site(properties: dict[str, str]) -> str:
    """A file of properties."""
    rows = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in properties.items()
    )
    return f"<configuration>{rows}</configuration>"


def write_configuration(directory: Path, scheduler: str) -> None:
    """A thousand leaves in twenty families."""
    directory.mkdir()
    kind = {"fair": "fair.FairScheduler", "capacity": "capacity.CapacityScheduler"}[scheduler]
    properties = {
        "yarn.resourcemanager.scheduler.class": PREFIX + kind,
        "yarn.scheduler.fair.assignmultiple": "true",
        "yarn.scheduler.fair.dynamic.max.assign": "false",
    }
    (directory / "yarn-site.xml").write_text(site(properties))
    (directory / "fairshare.toml").write_text(
        "[limits]\napplications_per_user = 1000000\n[retention]\nfinished_applications = 1000000\n"
    )
    families = [f"team{number:02}" for number in range(FAMILIES)]
    leaves = [f"q{number:02}" for number in range(LEAVES)]
    if scheduler == "fair":
        inner = "".join(f'<queue name="{leaf}"/>' for leaf in leaves)
        rows = "".join(f'<queue name="{family}">{inner}</queue>' for family in families)
        (directory / "fair-scheduler.xml").write_text(f"<allocations>{rows}</allocations>")
        return
    found = {"root.queues": ",".join(families), "maximum-applications": "1000000"}
    for family in families:
        found[f"root.{family}.queues"] = ",".join(leaves)
        found[f"root.{family}.capacity"] = f"{100 / FAMILIES:.10g}"
        for leaf in leaves:
            found[f"root.{family}.{leaf}.capacity"] = f"{100 / LEAVES:.10g}"
            found[f"root.{family}.{leaf}.maximum-am-resource-percent"] = "1"
    properties = {f"yarn.scheduler.capacity.{name}": value for name, value in found.items()}
    (directory / "capacity-scheduler.xml").write_text(site(properties))


def submission(number: int) -> SubmitApplication:
    """The n-th application, of one task, in one leaf after the other."""
    queue = f"root.team{number % FAMILIES:02}.q{number // FAMILIES % LEAVES:02}"
    tasks = (TaskGroup("work", 1, (1_024, 1), Command(("true",))),)
    tags = (f"tag{number % 100}",)
    return SubmitApplication(f"user{number % 50}", queue, f"job{number}", tasks=tasks, tags=tags)


class LoopWatch:
    """How long the server's event loop did nothing else at a time; `loop` is that loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._longest_s = 0.0
        self._over = False
        asyncio.run_coroutine_threadsafe(self._watch(), loop)

    async def _watch(self) -> None:
        while not self._over:
            before_s = time.perf_counter()
            await asyncio.sleep(LOOK_S)
            self._longest_s = max(self._longest_s, time.perf_counter() - before_s - LOOK_S)

    def longest_ms(self) -> float:
        """The longest time since the last call."""
        found, self._longest_s = self._longest_s, 0.0
        return 1_000 * found

    def end(self) -> None:
        """Stop looking."""
        self._over = True


@contextmanager
def busy_cluster(scheduler: str, applications: int, ended: int) -> Iterator[Cluster]:
    """A server with full nodes, on which applications run or wait, once others have ended."""
    with tempfile.TemporaryDirectory(prefix="fairshare-documents-") as folder:
        configuration = Path(folder) / "conf"
        write_configuration(configuration, scheduler)
        state = Path(folder) / "state"
        with running(configuration, state, nodes=NODES, offer=OFFER) as cluster:
            for number in range(ended):
                cluster.engine.report(submission(number))
            known = cluster.server.service.state.applications
            while not all([len(known) == ended, *(one.over for one in tuple(known.values()))]):
                cluster.end_some(ended)
                time.sleep(0.1)
            time.sleep(3 * INTERVAL_S)  # until they are packed
            for number in range(applications):
                cluster.engine.report(submission(number))
            full = min(applications, NODES * OFFER["vcores"])
            cluster.until(lambda: len(cluster.engine.live) >= full, timeout_s=300)
            yield cluster


class Reader:
    """Reads documents over one connection, which is kept."""

    def __init__(self, cluster: Cluster) -> None:
        address = urlsplit(cluster.url)
        self._connection = http.client.HTTPConnection(address.hostname or "", address.port)

    def read(self, path: str) -> tuple[float, float, int]:
        """How long a document took (ms), of that the reader's own processor time, and its bytes."""
        before_s, own_s = time.perf_counter(), time.thread_time()
        self._connection.request("GET", path)
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise SystemExit(f"GET {path} was answered with {answer.status}: {body[:200]!r}")
        own_ms = 1_000 * (time.thread_time() - own_s)
        return 1_000 * (time.perf_counter() - before_s), own_ms, len(body)

    def close(self) -> None:
        """Disconnect."""
        self._connection.close()


def server_clock() -> int:
    """The clock of the processor time of the server's thread."""
    thread = next(one for one in threading.enumerate() if one.name == "pages-server")
    return time.pthread_getcpuclockid(thread.ident or 0)


def measure(cluster: Cluster, paths: tuple[str, ...], times: int) -> None:
    """Print a line for each document."""
    watch = LoopWatch(cluster.server.service._loop)
    reader = Reader(cluster)
    clock = server_clock()
    heads = (
        f"{'after a change':>16} {'processor':>10} {'reader':>10} {'unchanged':>10} "
        f"{'loop held':>10}"
    )
    print(f"{'':40} {heads}      size")
    number = 10**6
    for path in paths:
        changed_ms, used_ms, readers_ms, unchanged_ms, held_ms = [], [], [], [], []
        for _ in range(times + 1):
            number += 1
            cluster.submit(submission(number).queue)
            watch.longest_ms()
            before_s = time.clock_gettime(clock)
            took_ms, own_ms, _ = reader.read(path)
            changed_ms.append(took_ms)
            readers_ms.append(own_ms)
            used_ms.append(1_000 * (time.clock_gettime(clock) - before_s))
            held_ms.append(watch.longest_ms())
            again_ms, _, size = reader.read(path)
            unchanged_ms.append(again_ms)
        # The first of each fills caches.
        all_ms = changed_ms, used_ms, readers_ms, unchanged_ms, held_ms
        middle = [statistics.median(some[1:]) for some in all_ms]
        print(
            f"{path:40} {middle[0]:13.0f} ms {middle[1]:7.0f} ms {middle[2]:7.1f} ms "
            f"{middle[3]:7.0f} ms {middle[4]:7.0f} ms {size / 1e6:6.2f} MB  "
            f"(first: {changed_ms[0]:.0f} ms, processor {used_ms[0]:.0f} ms)",
            flush=True,
        )
    reader.close()
    watch.end()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scheduler", choices=("fair", "capacity"), default="fair")
    parser.add_argument("--applications", type=int, default=20_000)
    parser.add_argument("--ended", type=int, default=0, help="so many more, which have ended")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--path", action="append", help="instead of those that it knows")
    options = parser.parse_args()
    with busy_cluster(options.scheduler, options.applications, options.ended) as cluster:
        measure(cluster, tuple(options.path or PATHS), options.times)


if __name__ == "__main__":
    main()
