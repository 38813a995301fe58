"""How long a server needs to start on a long history:
`python -m benchmarks.recovery [--postgresql]`.

A real LiveServer with its journal on disk runs N containers, on an engine whose containers end at
once; then it is left without a goodbye, and the next one is started on the same state directory.
"""

import argparse
import asyncio
import contextlib
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from tests.manual_engine import ManualEngine

from benchmarks.commits import database, leading
from benchmarks.overhead import OverheadClock
from fairshare.core.model.inputs import ContainerExited, Input, SubmitApplication
from fairshare.core.model.work import Command, TaskGroup
from fairshare.core.schedulers.fair.settings import FairSettings
from fairshare.engines.protocol import LaunchOrder, NodeOffer
from fairshare.server.server import LiveServer
from fairshare.server.settings import LiveSettings

TASKS = 1_000
MANY = 1_000_000


class InstantEngine(ManualEngine):
    """One large node; each container ends as soon as it is launched."""

    def __init__(self, path: Path, clock: OverheadClock) -> None:
        offer = NodeOffer("n1", "/default-rack", {"memory-mb": MANY, "vcores": MANY}, {})
        super().__init__(path, offer, starts=False, stops=False)
        self._clock = clock
        self.launch = clock.harness(self.launch)  # type: ignore[method-assign]

    def start(self, report: Callable[[Input], None], **more: object) -> None:
        """What it reports is the server's work."""
        super().start(self._clock.product(report), **more)

    def launch(self, order: LaunchOrder) -> None:
        """It has ended already."""
        self.report(ContainerExited(order.container, 0))


def settings(state: Path) -> LiveSettings:
    """A server as it is without a configuration."""
    fair = FairSettings(minimum_allocation=(128, 1), increment_allocation=(128, 1))
    return LiveSettings(
        scheduler="fair",
        types=fair.types,
        scheduler_settings=msgspec.json.encode(fair),
        state_directory=state,
    )


async def fill(state: Path, containers: int) -> tuple[float, int, str]:
    """Run so many containers; how long it took, the number of records, and what was overhead."""
    clock = OverheadClock()
    server = LiveServer(settings(state), lambda _, path: InstantEngine(path, clock))
    await server.start("http://127.0.0.1:1")
    begun, before = time.perf_counter(), clock.read()
    job = SubmitApplication("ann", tasks=(TaskGroup("t", TASKS, (512, 1), Command(("true",))),))
    for number in range(1, containers // TASKS + 1):
        await server.service.ask(job)
        version = -1
        known = server.service.state.applications
        while number in known and not known[number].over:
            version = await server.service.changed(version, 60.0)
    took_s, overhead = time.perf_counter() - begun, clock.read()
    records = server.service.version
    await server.close()
    cost_ms = 1_000 * (overhead.processor_s - before.processor_s) / containers
    cost = f"{cost_ms:.3f} ms of a processor; {overhead.since(before)}"
    return took_s, records, cost


async def restart(state: Path) -> tuple[float, int]:
    """How long until a new server has its state again, and how many applications it knows."""
    begun = time.perf_counter()
    server = LiveServer(settings(state), lambda _, path: InstantEngine(path, OverheadClock()))
    took_s = time.perf_counter() - begun
    known = len(server.service.state.applications)
    await server.close()
    return took_s, known


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--containers", type=int, default=1_000_000)
    parser.add_argument("--postgresql", action="store_true", help="keep the state there")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="fairshare-recovery-"))
    state = folder / "state"
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder)
        url = stack.enter_context(database()) if options.postgresql else None
        with leading(state, url):
            took_s, records, cost = asyncio.run(fill(state, options.containers))
        print(f"{options.containers:,} containers ran in {took_s:.0f} s: {records:,} records")
        print(f"a container costs {cost}")
        size = sum(path.stat().st_size for path in state.glob("journal.sqlite3*"))
        places = {"restart": state}
        if url is not None:
            places["start on a host without a copy"] = folder / "elsewhere"
        for what, place in places.items():
            began_s = time.perf_counter()
            with leading(place, url):
                led_s = time.perf_counter() - began_s
                took_s, known = asyncio.run(restart(place))
            print(f"{what}: {led_s + took_s:.2f} s to {known:,} applications")
        print(f"the journal has {size:,} bytes")


if __name__ == "__main__":
    main()
