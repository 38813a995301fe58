"""Prints what a server keeps in memory for each running container, waiting application and finished
application: `python -m benchmarks.memory [--applications 900] [--nodes 500]`.

A real LiveServer with its journal on disk, under the Fair Scheduler and under the Capacity
Scheduler, on an engine whose containers start at once and keep nothing. Counted is what Python
allocates (`tracemalloc`): what lives after a collection, divided by the number, once the event feed
has dropped its records, which it keeps for ten seconds, ended applications are packed, and caches
with a bound are empty: what these keep does not grow with the number. That of a finished
application is what the server keeps while it remembers it; waiting applications wait on a full
cluster, and have one task each.
"""

import argparse
import asyncio
import gc
import sys
import tempfile
import tracemalloc
from functools import _lru_cache_wrapper
from itertools import pairwise
from pathlib import Path

from tests.manual_engine import ManualEngine

from fairshare.core.model.inputs import (
    ContainerExited,
    ContainerStarted,
    ReserveApplication,
    SubmitApplication,
)
from fairshare.core.model.work import Command, TaskGroup
from fairshare.engines.protocol import LaunchOrder, NodeOffer
from fairshare.server.event_feed import KEPT_MS
from fairshare.server.retention import INTERVAL_S
from fairshare.server.server import LiveServer
from fairshare.server.settings import Overrides, read_settings

GOALS_KB = {"running container": 0.8, "waiting application": 4.0, "finished application": 1.5}
PER_NODE = 16
_PROPERTY = "<property><name>{}</name><value>{}</value></property>"
_QUEUES = "yarn.scheduler.capacity.root."
CONFIGURATIONS = {
    "fair": ("fair-scheduler.xml", "<allocations><queue name='default'/></allocations>"),
    "capacity": (
        "capacity-scheduler.xml",
        "<configuration>"
        + _PROPERTY.format(f"{_QUEUES}queues", "default")
        + _PROPERTY.format(f"{_QUEUES}default.capacity", "100")
        + "</configuration>",
    ),
}
"""The file of each scheduler, with one queue."""


class ForgetfulEngine(ManualEngine):
    """Reports the start of each container, and its end if `ends`; keeps nothing."""

    def __init__(self, path: Path, nodes: int) -> None:
        offer = {"memory-mb": 1024 * PER_NODE, "vcores": PER_NODE}
        super().__init__(path, *(NodeOffer(f"n{n}", "/rack", offer, {}) for n in range(nodes)))
        self.ends = True

    def launch(self, order: LaunchOrder) -> None:
        """It runs at once."""
        self.report(ContainerStarted(order.container))
        if self.ends:
            self.report(ContainerExited(order.container, 0))


def live_bytes() -> int:
    """What Python's objects take now, beside caches that have a bound."""
    for module in tuple(sys.modules.values()):
        for value in vars(module).values():
            if isinstance(value, _lru_cache_wrapper) and value.cache_parameters()["maxsize"]:
                value.cache_clear()
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


async def settled(server: LiveServer) -> None:
    """Wait until nothing has changed for half a second, and nothing recent is kept any more."""
    version = -1
    while version != server.service.version:
        version = server.service.version
        await asyncio.sleep(0.5)
    await asyncio.sleep(KEPT_MS / 1_000)
    await server.service.ask(ReserveApplication())  # one record, at which the feed drops others
    await asyncio.sleep(3 * INTERVAL_S)


async def measure(scheduler: str, folder: Path, applications: int, nodes: int) -> dict[str, float]:
    """Kilobytes of each."""
    name, text = CONFIGURATIONS[scheduler]
    (folder / "conf").mkdir()
    (folder / "conf" / name).write_text(text)
    settings = read_settings(folder / "conf", Overrides(port=0, state_directory=folder / "state"))
    engine = ForgetfulEngine(folder / "state", nodes)
    server = LiveServer(settings, lambda _, __: engine)
    await server.start("http://127.0.0.1:1")

    async def submit(count: int, tasks: int) -> None:
        for _ in range(count):
            group = TaskGroup("task", tasks, (1024, 1), Command(("true",)))
            await server.service.ask(SubmitApplication("ann", queue="default", tasks=(group,)))
        await settled(server)

    try:
        await submit(10, 1)  # what is made once is made now
        steps = [live_bytes()]
        await submit(applications, 1)
        steps.append(live_bytes())
        engine.ends = False
        await submit(1, nodes * PER_NODE)
        steps.append(live_bytes())
        await submit(applications, 1)
        steps.append(live_bytes())
    finally:
        await server.close()
    finished, running, waiting = (after - before for before, after in pairwise(steps))
    return {
        "running container": running / (nodes * PER_NODE) / 1024,
        "waiting application": waiting / applications / 1024,
        "finished application": finished / applications / 1024,
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--applications", type=int, default=900, help="the server keeps 1,000")
    parser.add_argument("--nodes", type=int, default=500)
    options = parser.parse_args()
    tracemalloc.start()
    print(f"{'kB each':24} {'fair':>8} {'capacity':>10} {'goal':>8}")
    found = []
    for scheduler in ("fair", "capacity"):
        with tempfile.TemporaryDirectory(prefix="fairshare-memory-") as folder:
            found.append(
                asyncio.run(measure(scheduler, Path(folder), options.applications, options.nodes))
            )
    for name, goal in GOALS_KB.items():
        print(f"{name:24} {found[0][name]:8.2f} {found[1][name]:10.2f} {goal:8.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
