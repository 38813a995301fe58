"""`make hadoop`: unmodified clients on our server, with Hadoop's NodeManagers and with our own.

Prints a table (client, result, seconds) for each cluster; the exit code is 0 if all is as it must
be and no process is left.
"""

import argparse
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.hadoop import configuration
from tests.hadoop.administrators import administer
from tests.hadoop.clients import Clients, Result
from tests.hadoop.cluster import Cluster
from tests.hadoop.frameworks import flink, spark_client, spark_cluster, tez
from tests.hadoop.installation import FOLDER, Installation, Missing

CLUSTERS = {
    "fair": ("fair", 2),
    "capacity": ("capacity", 2),
    "own-fair": ("fair", 0),
    "own-capacity": ("capacity", 0),
}
"""By name: the scheduler, and the number of NodeManagers; 0: containers run on our local engine."""

KEEPING_LOGS = ("capacity",)
"""The clusters whose nodes keep the logs of containers, and do not aggregate them."""

PROGRAMS: dict[str, Callable[[Clients], Result]] = {
    "node-list": Clients.node_list,
    "app-list": Clients.app_list,
    "app-unknown": Clients.app_unknown,
    "queue-status": Clients.queue_status,
    "refresh-queues": Clients.refresh_queues,
    "shell": Clients.shell,
    "pi": Clients.pi,
    "uber": Clients.uber,
    "wordcount": Clients.wordcount,
    "tez": tez,
    "sleep": Clients.sleep,
    "streaming": Clients.streaming,
    "terasort": Clients.terasort,
    "app-status": Clients.app_status,
    "kill": Clients.kill,
    "ours": Clients.ours,
    "contract": Clients.contract,
    "logs": Clients.logs,
    "spark-client": spark_client,
    "spark-cluster": spark_cluster,
    "flink": flink,
    "administer": administer,
}
"""All programs, in the order in which they run. A master of Tez goes on for a while when its client
has ended: the next program is not to ask for the last application."""


def main() -> int:
    """Parse the options, run, and return the exit code."""
    options = argparse.ArgumentParser(prog="python -m tests.hadoop", description=__doc__)
    options.add_argument("programs", nargs="*", metavar="PROGRAM", help=", ".join(PROGRAMS))
    options.add_argument("--clusters", default=",".join(CLUSTERS), help="of " + ", ".join(CLUSTERS))
    options.add_argument("--runs", type=Path, default=FOLDER / "runs", help="where logs are kept")
    options.add_argument(
        "--fetch", action="store_true", help="only fetch Hadoop, Spark, Tez and Flink"
    )
    chosen = options.parse_args()
    if unknown := set(chosen.programs) - set(PROGRAMS):
        options.error(f"unknown: {', '.join(sorted(unknown))}")
    clusters = chosen.clusters.split(",")
    if unknown := set(clusters) - set(CLUSTERS):
        options.error(f"unknown: {', '.join(sorted(unknown))}")
    programs = [name for name in PROGRAMS if not chosen.programs or name in chosen.programs]
    installation = Installation()
    try:
        installation.fetch({name.partition("-")[0] for name in programs})
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 2
    if chosen.fetch:
        return 0
    return max([run(name, programs, installation, chosen.runs) for name in clusters])


def run(name: str, programs: list[str], installation: Installation, runs: Path) -> int:
    """Run programs on one kind of cluster, and print its table; 1 if something was wrong."""
    scheduler, nodes = CLUSTERS[name]
    folder = runs / name
    shutil.rmtree(folder, ignore_errors=True)
    kind = f"{nodes} NodeManagers of Hadoop" if nodes else "our own NodeManager"
    print(f"\n{scheduler} scheduler, {kind} ({folder})", flush=True)
    failed = 0
    more: dict[str, object] = {} if name in KEEPING_LOGS else configuration.aggregation(folder)
    if nodes:
        more |= configuration.departures(folder)
    else:
        more[configuration.STORE] = "memory"  # under the Fair Scheduler without effect
    cluster = Cluster(folder, installation, scheduler, nodes, more)
    try:
        with cluster:
            clients = Clients(cluster)
            for program in programs:
                begin = time.monotonic()
                result = PROGRAMS[program](clients)
                seconds = time.monotonic() - begin
                words = "; ".join(result.problems) or "ok"
                failed += bool(result.problems)
                print(f"  {program:15} {seconds:6.1f} s  {words}", flush=True)
    except RuntimeError as error:
        print(f"  {error}", flush=True)
        failed += 1
    if left := cluster.marked():
        print(f"  processes are left: {left}", flush=True)
        failed += 1
    print(f"  {failed} failed" if failed else "  all as with the real ResourceManager", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
