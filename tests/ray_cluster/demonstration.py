"""Shows how two teams share a Ray cluster: `make cluster`.

Starts three Ray nodes on this machine and a server, lets one team fill the cluster, then another
team come, and prints what each has from second to second. Stops all that it started.
"""

import sys
import tempfile
import time
from pathlib import Path

from tests.ray_cluster.conftest import Cluster, Server, wait

NODES, SECONDS = 3, 40
SIZE = {"memory-mb": 128, "vcores": 1}


def main() -> int:
    """The exit code."""
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        print(f"starting {NODES} Ray nodes on this machine")
        cluster = Cluster(folder, NODES)
        server = Server(folder, cluster)
        try:
            server.start()
            wait(lambda: len(server.nodes()) == NODES, "all nodes")
            return show(server)
        finally:
            if server.url:
                server.stop()
            cluster.stop()
            print("the server, its agents and the Ray nodes are stopped")


def show(server: Server) -> int:
    """Two teams, one after the other."""
    capacity = sum(one["total"]["vcores"] for one in server.get("nodes")["nodes"])
    print(f"{len(server.nodes())} nodes with {capacity} vcores; team one submits 60 tasks of 1 s\n")
    first = server.submit(queue="root.one", tasks=[_tasks(60, 1)])
    began_s, second = time.monotonic(), ""
    waited_s: float | None = None
    print("  seconds  team one  team two")
    while time.monotonic() - began_s < SECONDS:
        passed_s = time.monotonic() - began_s
        if not second and passed_s >= 4:
            print("           team two submits 12 tasks of 1 s")
            second, submitted_s = server.submit(queue="root.two", tasks=[_tasks(12, 1)]), passed_s
        counts = [_running(server, one) for one in (first, second) if one]
        if second and counts[1] and waited_s is None:
            waited_s = passed_s - submitted_s
        print(f"  {passed_s:7.0f}  {'#' * counts[0]:8}  {'#' * sum(counts[1:])}")
        if second and server.ended(first) and server.ended(second):
            break
        time.sleep(1)
    done = server.ended(first) and server.ended(second)
    print(f"\nteam two waited {waited_s or 0:.1f} s for its first container")
    print("both applications finished" if done else "not finished in time")
    return 0 if done and waited_s is not None else 1


def _tasks(count: int, seconds: float) -> dict[str, object]:
    return {"count": count, "command": f"sleep {seconds}", "resources": SIZE}


def _running(server: Server, application: str) -> int:
    return len(server.get(f"applications/{application}")["containers"])


if __name__ == "__main__":
    sys.exit(main())
