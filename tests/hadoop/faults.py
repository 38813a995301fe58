"""`python -m tests.hadoop.faults`: unmodified clients run while our server is killed repeatedly,
a NodeManager is killed, frozen and thawed, a master is killed, keys roll, a queue preempts.

Every job must end as if nothing had happened. Prints a table; the exit code is 0 if all is as it
must be and no process is left.
"""

import argparse
import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import Popen
from typing import Any

import httpx
from tests.hadoop import configuration
from tests.hadoop.clients import EXAMPLES, SHELL, SLEEP, Clients
from tests.hadoop.cluster import Cluster
from tests.hadoop.installation import FOLDER, Installation

SHORT = {
    "yarn.nm.liveness-monitor.expiry-interval-ms": 10_000,
    "yarn.am.liveness-monitor.expiry-interval-ms": 30_000,
    "yarn.resourcemanager.container-tokens.master-key-rolling-interval-secs": 40,
    "yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs": 40,
    "yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs": 100,
}
"""Intervals that make nodes, masters and keys expire while a job runs."""

PREEMPTION = {
    "yarn.resourcemanager.scheduler.monitor.enable": "true",
    "yarn.resourcemanager.monitor.capacity.preemption.total_preemption_per_round": 0.5,
    "yarn.resourcemanager.monitor.capacity.preemption.natural_termination_factor": 1.0,
    "yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill": 5_000,
    "yarn.scheduler.fair.preemption": "true",
    "yarn.scheduler.fair.waitTimeBeforeKill": 5_000,
}
SETTINGS: dict[str, dict[str, object]] = {
    "nodes": {**SHORT, "yarn.nodemanager.recovery.enabled": "true"},
    "losses": dict(SHORT),
    "keys": dict(SHORT),
    "tenants": dict(PREEMPTION),
}

LIMIT_S = 400


class Faults:
    """One run of some faults on a cluster, with jobs in the background."""

    def __init__(self, cluster: Cluster, kills: int, seed: int) -> None:
        self.cluster = cluster
        self.clients = Clients(cluster)
        self.kills = kills
        self.random = random.Random(seed)
        self.jobs: dict[str, tuple[Popen[bytes], str]] = {}
        self.happened: list[str] = []

    def begin(self, name: str, pattern: str, arguments: list[str]) -> None:
        """Start a job whose output must have a pattern."""
        self.jobs[name] = (self.clients.start(name, arguments), pattern)

    def begin_jobs(self, number: int, *, reduces: bool = True) -> None:
        """A job of each kind: long enough to be hit. Reduces lose their job when the outputs of
        several maps are gone with a node, under any ResourceManager."""
        clients = self.clients
        (jar,) = self.cluster.installation.jars.glob("*applications-distributedshell-*.jar")
        sleep = ("-m", "8", "-r", "1" if reduces else "0", "-mt", "3000", "-rt", "1000")
        self.begin(f"sleep-{number}", "completed successfully", clients.java(SLEEP, *sleep))
        if reduces:
            self.begin(f"pi-{number}", r"Pi is 3\.8", clients.java(EXAMPLES, "pi", "2", "10"))
        self.begin(
            f"shell-{number}",
            "Application completed successfully",
            clients.java(
                SHELL,
                *("-jar", str(jar), "-shell_command", "sleep", "-shell_args", "8"),
                *("-num_containers", "2", "-container_memory", "128", "-master_memory", "256"),
            ),
        )

    @property
    def busy(self) -> bool:
        """Whether a job still runs."""
        return any(process.poll() is None for process, _ in self.jobs.values())

    def kill_server(self) -> None:
        """Kill the server at some instant, and start it again after a while."""
        time.sleep(self.random.uniform(0.5, 8))
        self.cluster.kill_server()
        time.sleep(self.random.uniform(0, 4))
        self.cluster.start_server()
        self.happened.append("server killed")

    def kill_node(self) -> None:
        """Kill a NodeManager, and start it again: what it ran goes on if it has a recovery."""
        name = self.random.choice(sorted(self.cluster.managers))
        process = self.cluster.managers[name]
        process.kill()
        process.wait()
        time.sleep(self.random.uniform(0, 4))
        self.cluster.start_node(name)
        self.happened.append(f"{name} killed")

    def kill_machine(self) -> None:
        """Kill a NodeManager with all that runs on its node, and start it again. A master that
        lives on would delete, at its end, what the next attempt of the distributed shell needs."""
        name = self.random.choice(sorted(self.cluster.managers))
        process = self.cluster.managers[name]
        process.kill()
        process.wait()
        folder = self.cluster.run / name
        for pid in self.cluster.marked():
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/cwd").readlink().is_relative_to(folder):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(self.random.uniform(0, 4))
        self.cluster.start_node(name)
        self.happened.append(f"{name} died")

    def freeze_node(self, seconds: float) -> None:
        """Stop a NodeManager for so long, and let it go on."""
        name = self.random.choice(sorted(self.cluster.managers))
        process = self.cluster.managers[name]
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(process.pid, signal.SIGCONT)
        self.happened.append(f"{name} frozen for {seconds:.0f} s")

    def kill_master(self) -> None:
        """Kill the process of some MapReduce master."""
        masters = []
        for pid in self.cluster.marked():
            try:
                line = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            if b"MRAppMaster" in line and line.split(b"\0")[0].endswith(b"java"):
                masters.append(pid)
        if masters:
            os.kill(self.random.choice(masters), signal.SIGKILL)
            self.happened.append("master killed")

    def containers(self, queue: str) -> int:
        """The containers of a queue's applications."""
        return sum(
            max(one["runningContainers"], 0)
            for one in self._applications()
            if one["queue"] == queue
        )

    def preempted(self) -> int:
        """The containers that were preempted."""
        return sum(one["numNonAMContainerPreempted"] for one in self._applications())

    def metric(self, name: str) -> int:
        """One of the cluster's metrics."""
        url = f"{self.cluster.url}/ws/v1/cluster/metrics"
        return int(httpx.get(url, timeout=5, trust_env=False).json()["clusterMetrics"][name])

    def _applications(self) -> list[dict[str, Any]]:
        url = f"{self.cluster.url}/ws/v1/cluster/apps"
        found = httpx.get(url, timeout=5, trust_env=False).json()
        return list((found["apps"] or {}).get("app", ()))

    def results(self) -> int:
        """Wait for all jobs, and print how they ended; the number of those that ended wrong."""
        wrong = 0
        for name, (process, pattern) in self.jobs.items():
            result = self.clients.finish(name, process, LIMIT_S)
            fine = result.exit_code == 0 and re.search(pattern, result.output) is not None
            wrong += not fine
            print(f"  {name:12} {'ok' if fine else f'WRONG: exit code {result.exit_code}'}")
        return wrong


def of_server(faults: Faults) -> None:
    """Kill the server, again and again, while jobs run."""
    number = 0
    for _ in range(faults.kills):
        if not faults.busy:
            number += 1
            faults.begin_jobs(number)
            time.sleep(faults.random.uniform(0, 10))
        faults.kill_server()


def of_losses(faults: Faults) -> None:
    """Nodes die with all that they run: it runs again."""
    for number in (1, 2):
        faults.begin_jobs(number, reduces=False)
        time.sleep(8)
        faults.kill_machine()


def of_standby(faults: Faults) -> None:
    """Kill the server while a second one stands by: clients, masters and NodeManagers know the
    addresses of both, and find it."""
    cluster = faults.cluster
    names = configuration.SERVER_PORTS
    second = dict(zip(names, configuration.free_ports(len(names)), strict=True))
    folders = configuration.write_pair(cluster.run, {"rm1": cluster.ports, "rm2": second})
    cluster.server_conf = folders["rm1"]
    cluster.start()
    cluster.start_standby(folders["rm2"], second["web"])
    faults.begin_jobs(1)
    time.sleep(10)
    cluster.fail_over(second["web"])
    faults.happened.append("server killed, standby found")
    faults.begin_jobs(2)


def of_nodes(faults: Faults) -> None:
    """Kill, freeze and thaw NodeManagers, one of them beyond its expiry; kill a master."""
    faults.begin_jobs(1)
    time.sleep(12)
    faults.kill_master()
    time.sleep(5)
    faults.kill_node()
    time.sleep(10)
    faults.freeze_node(4)
    time.sleep(5)
    faults.freeze_node(20)


def of_keys(faults: Faults) -> None:
    """Run jobs while keys roll, and the server is killed in between."""
    begun_s = time.monotonic()
    number = 0
    while time.monotonic() - begun_s < 150:
        number += 1
        faults.begin_jobs(number)
        if number % 2 == 0:
            faults.kill_server()
        while faults.busy and time.monotonic() - begun_s < 150:
            time.sleep(1)


def of_tenants(faults: Faults) -> None:
    """A job fills the cluster; one of another queue gets its share by preemption. A NodeManager is
    decommissioned meanwhile, and leaves when its containers have ended."""
    clients, cluster = faults.clients, faults.cluster
    long = ("-Dmapreduce.job.queuename=default", "-m", "30", "-r", "0", "-mt", "40000")
    faults.begin("first", "completed successfully", clients.java(SLEEP, *long))
    cluster.wait(lambda: faults.containers("root.default") >= 8, "the first job fills its nodes")
    short = ("-Dmapreduce.job.queuename=research", "-m", "4", "-r", "1", "-mt", "8000")
    faults.begin("second", "completed successfully", clients.java(SLEEP, *short))
    cluster.wait(lambda: faults.containers("root.research") >= 3, "the second gets its share")
    cluster.wait(lambda: faults.preempted() > 0, "containers were preempted")
    faults.happened.append(f"{faults.preempted()} containers preempted")
    nodes = httpx.get(f"{cluster.url}/ws/v1/cluster/nodes", trust_env=False).json()
    leaving = nodes["nodes"]["node"][0]["id"]
    command = ("admin", "decommission", leaving, "--timeout", "30s", "--url", cluster.url)
    subprocess.run([sys.executable, "-m", "fairshare", *command], check=True, capture_output=True)
    cluster.wait(lambda: faults.metric("decommissionedNodes") == 1, "the node has left")
    for name, process in list(cluster.managers.items()):
        if leaving.partition(":")[2] in (cluster.run / f"conf-{name}/yarn-site.xml").read_text():
            process.wait(60)
            del cluster.managers[name]
            faults.happened.append(f"{name} decommissioned, and shut down by itself")


KINDS: dict[str, Callable[[Faults], None]] = {
    "server": of_server,
    "nodes": of_nodes,
    "losses": of_losses,
    "standby": of_standby,
    "keys": of_keys,
    "tenants": of_tenants,
}


def starve_soon(cluster: Cluster) -> None:
    """Let the Fair Scheduler's queues count as starved after two seconds below their share."""
    file = cluster.conf / "fair-scheduler.xml"
    if file.exists():
        soon = (
            "  <defaultFairSharePreemptionTimeout>2</defaultFairSharePreemptionTimeout>\n"
            "  <defaultFairSharePreemptionThreshold>0.8</defaultFairSharePreemptionThreshold>\n"
        )
        file.write_text(file.read_text().replace("</allocations>", soon + "</allocations>"))


def main() -> int:
    """Parse the options, run, and return the exit code."""
    options = argparse.ArgumentParser(prog="python -m tests.hadoop.faults", description=__doc__)
    options.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    options.add_argument("--kills", type=int, default=20)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--scheduler", default="capacity")
    options.add_argument("--runs", type=Path, default=FOLDER / "runs")
    chosen = options.parse_args()
    installation = Installation()
    installation.fetch()
    wrong = 0
    for kind in chosen.kinds or KINDS:
        folder = chosen.runs / f"faults-{kind}"
        shutil.rmtree(folder, ignore_errors=True)
        more = SETTINGS.get(kind, {})
        print(f"\nfaults of {kind}, {chosen.scheduler} scheduler ({folder})", flush=True)
        cluster = Cluster(folder, installation, chosen.scheduler, 2, more)
        starve_soon(cluster)
        try:
            with contextlib.ExitStack() as stack:
                if kind == "standby":  # which starts the cluster itself
                    stack.callback(cluster.stop)
                else:
                    stack.enter_context(cluster)
                faults = Faults(cluster, chosen.kills, chosen.seed)
                KINDS[kind](faults)
                wrong += faults.results()
                print(f"  {', '.join(faults.happened)}", flush=True)
        except RuntimeError as error:
            print(f"  {error}")
            wrong += 1
        wrong += len(cluster.marked())
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
