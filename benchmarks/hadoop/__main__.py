"""Prints a table: for each number of nodes, what the server spends on their registration, on
heartbeats that change nothing, on the first 10 containers of each node, and on heartbeats and
allocations while 100 of these containers a second are replaced. Times are the server's processor
time, with the time on the wall in brackets; `bench core` is the part of a core that the benchmark
itself took meanwhile for the nodes and masters that it pretends, in a process of its own.

    python -m benchmarks.hadoop [--nodes 100,1000,10000] [--servers fairshare,yarn] [--seconds 30]
"""

import argparse
import asyncio
import resource
import sys
import time

import msgspec
from tests.hadoop.installation import FOLDER, Installation

from benchmarks.hadoop.masters import BEAT_S, PretendedMaster
from benchmarks.hadoop.nodes import PretendedNodes
from benchmarks.hadoop.servers import MeasuredServer

NODE = (16_384, 16)
MASTERS = 10
FULL_S = 600
HEADER = (
    "server       nodes     registered in | idle: core  µs/beat |           full in"
    " | busy: core  beats/s  grants/s  allocate p50   p99 | bench core: full, busy"
    " | MB at start, idle, full"
)


class Period(msgspec.Struct, frozen=True):
    """A period: its length, the server's processor time, answered heartbeats, and grants."""

    wall_s: float
    processor_s: float
    beats: int
    grants: int


async def main() -> None:
    """Parse the options, and measure."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.hadoop", description=__doc__)
    options.add_argument("--nodes", default="100,1000,10000")
    options.add_argument("--servers", default="fairshare,yarn")
    options.add_argument("--scheduler", default="fair", choices=("fair", "capacity"))
    options.add_argument("--containers", type=int, default=10, help="on each node")
    options.add_argument("--per-second", type=float, default=100, help="containers replaced")
    options.add_argument("--seconds", type=float, default=30, help="the length of each period")
    chosen = options.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    installation = Installation()
    if "yarn" in chosen.servers.split(","):
        installation.fetch()
    print(HEADER, flush=True)
    for count in [int(one) for one in chosen.nodes.split(",")]:
        for kind in chosen.servers.split(","):
            print(await measure(kind, count, chosen, installation), flush=True)


async def measure(
    kind: str, count: int, chosen: argparse.Namespace, installation: Installation
) -> str:
    """One row of the table."""
    run = FOLDER / "bench" / kind
    server = await asyncio.to_thread(MeasuredServer, kind, run, installation, chosen.scheduler)
    nodes = PretendedNodes(*NODE)
    masters: list[PretendedMaster] = []
    tasks: list[asyncio.Task[None]] = []
    try:
        empty_mb = server.memory_mb()
        began = time.monotonic(), server.processor_s()
        await nodes.start(count, server.ports["tracker"])
        registered = spent(server, *began)
        await asyncio.sleep(3)
        idle = await period(server, nodes, masters, chosen.seconds / 2)
        idle_mb = server.memory_mb()
        target = count * chosen.containers // MASTERS
        for _ in range(MASTERS):
            master = PretendedMaster(nodes, server.ports, target, chosen.per_second / MASTERS)
            masters.append(master)
            await master.start()
        began = time.monotonic(), server.processor_s()
        own_s = time.process_time()
        tasks = [
            asyncio.create_task(master.run(BEAT_S * number / MASTERS))
            for number, master in enumerate(masters)
        ]
        while not all(master.full for master in masters):
            for task in tasks:
                if task.done():
                    task.result()
            if time.monotonic() - began[0] > FULL_S:
                raise SystemExit(f"{sum(m.granted for m in masters)} containers in {FULL_S} s")
            await asyncio.sleep(0.2)
        full = spent(server, *began)
        full_core = (time.process_time() - own_s) / (time.monotonic() - began[0])
        await asyncio.sleep(2)
        for master in masters:
            master.steady = True
        await asyncio.sleep(3)
        for master in masters:
            master.latencies_s.clear()
        own_s = time.process_time()
        busy = await period(server, nodes, masters, chosen.seconds)
        busy_core = (time.process_time() - own_s) / busy.wall_s
        latencies = sorted(one for master in masters for one in master.latencies_s)
        p50, p99 = (1000 * latencies[int(part * (len(latencies) - 1))] for part in (0.5, 0.99))
        return (
            f"{kind:10} {count:7} {registered} | {share(idle):9.1%}"
            f" {1e6 * idle.processor_s / idle.beats:8.1f}"
            f" | {full} | {share(busy):9.1%} {busy.beats / busy.wall_s:8.0f}"
            f" {busy.grants / busy.wall_s:9.1f} {p50:9.1f} ms {p99:5.1f}"
            f" | {full_core:16.0%} {busy_core:5.0%}"
            f" | {empty_mb:.0f}, {idle_mb:.0f}, {server.memory_mb():.0f}"
        )
    finally:
        for task in tasks:
            task.cancel()
        nodes.close()
        await asyncio.to_thread(server.stop)


async def period(
    server: MeasuredServer, nodes: PretendedNodes, masters: list[PretendedMaster], seconds: float
) -> Period:
    """Let the server work for a while."""
    began = time.monotonic(), server.processor_s(), nodes.beats, _granted(masters)
    await asyncio.sleep(seconds)
    ended = time.monotonic(), server.processor_s(), nodes.beats, _granted(masters)
    return Period(*(after - before for before, after in zip(began, ended, strict=True)))  # type: ignore[arg-type]


def spent(server: MeasuredServer, began: float, used_s: float) -> str:
    """The processor time since then, and the time on the wall."""
    return f"{server.processor_s() - used_s:5.1f} ({time.monotonic() - began:5.1f}) s"


def _granted(masters: list[PretendedMaster]) -> int:
    return sum(master.granted for master in masters)


def share(period: Period) -> float:
    """The share of one core."""
    return period.processor_s / period.wall_s


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
