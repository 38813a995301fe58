"""Prints a table: short work in a second on a Ray cluster of four nodes on this machine, by Ray's
own tasks, by an actor for each task, by fairshare on Ray and by fairshare's local engine, and how
long a second user waits behind 10 s of work of a first one.

    python -m benchmarks.ray [--containers 1000]
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from tests.ray_cluster.conftest import Cluster, Server, wait

from benchmarks.ray.plain import number_in

NODES, CPUS = 4, 4
SIZE = {"memory-mb": 128, "vcores": 1}


def main() -> None:
    """Measure one after the other."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.ray", description=__doc__)
    options.add_argument("--containers", type=int, default=1_000)
    count = options.parse_args().containers
    print("                       a second   start p50   second user waits", flush=True)
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as name:
        cluster = Cluster(Path(name), NODES, CPUS, 128 * CPUS)
        try:
            waits = plain(cluster, "flood")
            row("Ray tasks", plain(cluster, "tasks"), None, waits)
            row("Ray tasks, a process each", plain(cluster, "processes"), None, waits)
            row("a Ray actor each", plain(cluster, "actors"), None, waits)
            row("fairshare on Ray", *of_server(Server(Path(name), cluster), NODES, count))
        finally:
            cluster.stop()
    with tempfile.TemporaryDirectory(prefix="local") as name:
        row("fairshare, local", *of_server(Server(Path(name), None), 1, count))


def plain(cluster: Cluster, what: str) -> float:
    """What Ray does by itself."""
    command = [sys.executable, "-m", "benchmarks.ray.plain", cluster.address, what]
    done = subprocess.run(
        command, env=cluster.environment, check=True, capture_output=True, text=True, timeout=300
    )
    return number_in(done.stdout)


def of_server(server: Server, nodes: int, count: int) -> tuple[float, float, float]:
    """Containers in a second, milliseconds from the order to the start, seconds that wait."""
    server.start()
    try:
        wait(lambda: len(server.nodes()) == nodes, "all nodes")
        warm = server.submit(queue="root.one", tasks=[_tasks(50, "true")])
        wait(lambda: server.ended(warm), "the first tasks")
        began_s = time.perf_counter()
        name = server.submit(queue="root.one", tasks=[_tasks(count, "true")])
        wait(lambda: server.ended(name), "all tasks", 300)
        rate = count / (time.perf_counter() - began_s)
        starts = []
        for _ in range(20):
            one = server.submit(queue="root.one", tasks=[_tasks(1, "true")])
            wait(lambda one=one: server.ended(one), "a task")  # type: ignore[misc]
            (container,) = server.get(f"applications/{one}/containers")["containers"]
            starts.append(container["finished_ms"] - container["allocated_ms"])
        return rate, median(starts), flood(server, nodes)
    finally:
        server.stop()


def flood(server: Server, nodes: int) -> float:
    """How long one task waits that comes after 10 s of another user's work."""
    slots = sum(one["total"]["vcores"] for one in server.get("nodes")["nodes"])
    server.submit(queue="root.one", tasks=[_tasks(20 * slots, "sleep 0.5")])
    time.sleep(1)
    began_s = time.perf_counter()
    second = server.submit(queue="root.two", tasks=[_tasks(1, "true")])
    wait(lambda: server.ended(second), "the second user's task")
    return time.perf_counter() - began_s


def _tasks(count: int, command: str) -> dict[str, object]:
    return {"count": count, "arguments": command.split(), "resources": SIZE}


def row(name: str, rate: float, start_ms: float | None, waits_s: float) -> None:
    """One row of the table."""
    start = "" if start_ms is None else f"{start_ms:.0f} ms"
    print(f"{name:25} {rate:6.0f} {start:>11} {waits_s:15.1f} s", flush=True)


if __name__ == "__main__":
    main()
