"""`make hadoop`: unmodified clients on our server, with Hadoop's NodeManagers and with our own.

Prints a table (client, result, seconds) for each cluster; the exit code is 0 if all is as it must
be and no process is left.
"""

import argparse
import shutil
import sys
import time
from pathlib import Path

from tests.hadoop import configuration
from tests.hadoop.clients import NEED_AGGREGATION, NEED_NODES, PROGRAMS, Clients
from tests.hadoop.cluster import Cluster
from tests.hadoop.installation import FOLDER, Installation, Missing

CLUSTERS = {"fair": ("fair", 2), "capacity": ("capacity", 2), "own": ("capacity", 0)}
"""By name: the scheduler, and the number of NodeManagers; 0: containers run on our local engine."""

AGGREGATING = ("fair", "own")
"""The clusters whose nodes aggregate logs."""


def main() -> int:
    """Parse the options, run, and return the exit code."""
    options = argparse.ArgumentParser(prog="python -m tests.hadoop", description=__doc__)
    options.add_argument("programs", nargs="*", metavar="PROGRAM", help=", ".join(PROGRAMS))
    options.add_argument("--clusters", default=",".join(CLUSTERS), help="of " + ", ".join(CLUSTERS))
    options.add_argument("--runs", type=Path, default=FOLDER / "runs", help="where logs are kept")
    options.add_argument("--fetch", action="store_true", help="only fetch Hadoop, Spark and Tez")
    chosen = options.parse_args()
    if unknown := set(chosen.programs) - set(PROGRAMS):
        options.error(f"unknown: {', '.join(sorted(unknown))}")
    clusters = chosen.clusters.split(",")
    if unknown := set(clusters) - set(CLUSTERS):
        options.error(f"unknown: {', '.join(sorted(unknown))}")
    programs = [name for name in PROGRAMS if not chosen.programs or name in chosen.programs]
    installation = Installation()
    try:
        spark = any(name.startswith("spark") for name in programs)
        installation.fetch(spark=spark, tez="tez" in programs)
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
    more = configuration.aggregation(folder) if name in AGGREGATING else {}
    if nodes:
        more |= configuration.departures(folder)
    cluster = Cluster(folder, installation, scheduler, nodes, more)
    try:
        with cluster:
            clients = Clients(cluster)
            for program in programs:
                if name not in AGGREGATING and program in NEED_AGGREGATION:
                    continue
                if not nodes and program in NEED_NODES:
                    continue
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
