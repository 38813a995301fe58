"""`python -m tests.hadoop.two_hosts`: programs of a Hadoop cluster run while the server that leads
fails, again and again, and another one on "another host" takes over.

Two servers, which are rm1 and rm2 to Hadoop, share nothing but a PostgreSQL database. Two
NodeManagers of Hadoop, MapReduce, Spark, the distributed shell and our own client know the
addresses of both. One fault after the other hits the server that leads: it is killed, frozen for
ten seconds, or shut down in order; then it stands by. After each three of them the database is down
for ten seconds. All programs must end as if nothing had happened, and each of our own tasks must
run once, as its container is on a node. Prints a table; the exit code is 0 if all is as it must be
and no process is left.
"""

import argparse
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import httpx
from tests.hadoop import configuration, our_work
from tests.hadoop.cluster import Cluster
from tests.hadoop.faults import Faults
from tests.hadoop.frameworks import LOCAL_MASTER, spark_command
from tests.hadoop.installation import FOLDER, Installation, Missing
from tests.postgres import Postgres, programs

from fairshare.client import Client

FAULTS = ("killed", "frozen", "shut down")
NO_DATABASE = "no database for 10 s"
FROZEN_S = AWAY_S = 10.0
TAKEOVER_S = 3
TASKS = 4
"""Of each application of our own."""


class Host:
    """One host: its configuration, its state directory, its server."""

    def __init__(self, cluster: Cluster, name: str, conf: Path, port: int) -> None:
        self.name, self.url = name, f"http://127.0.0.1:{port}"
        self._cluster, self._conf, self._port = cluster, conf, port
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start its server, which leads if no other one does."""
        words = self._cluster.serve(self._conf, self._port, f"state-{self.name}")
        self.process = self._cluster.spawn(self.name, [*words, "--standby"])

    def fail(self, fault: str) -> None:
        """Let its server fail; one that is frozen goes on when `mend` is called."""
        assert self.process is not None
        number = {"killed": signal.SIGKILL, "frozen": signal.SIGSTOP, "shut down": signal.SIGTERM}
        self.process.send_signal(number[fault])

    def is_ready(self, standby: bool = False) -> bool:
        """Whether its server records, or stands by."""
        try:
            answer = httpx.get(f"{self.url}/readyz", trust_env=False, timeout=2)
        except httpx.HTTPError:
            return False
        return "standby" in answer.json()["checks"] if standby else answer.is_success

    def mend(self) -> int:
        """Let its server go on, until it has ended; its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)
        return self.process.wait(60)


def main() -> int:
    """Parse the options, run, and return the exit code."""
    options = argparse.ArgumentParser(prog="python -m tests.hadoop.two_hosts", description=__doc__)
    options.add_argument("--fail-overs", type=int, default=10)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--scheduler", default="capacity", choices=("fair", "capacity"))
    options.add_argument("--runs", type=Path, default=FOLDER / "runs")
    chosen = options.parse_args()
    where = programs()
    if where is None:
        print("PostgreSQL is not installed: there is no initdb", file=sys.stderr)
        return 2
    installation = Installation()
    try:
        installation.fetch({"spark"})
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 2
    folder = chosen.runs / "two-hosts"
    shutil.rmtree(folder, ignore_errors=True)
    print(f"{chosen.scheduler} scheduler, seed {chosen.seed} ({folder})", flush=True)
    more = configuration.history(folder)
    cluster = Cluster(folder, installation, chosen.scheduler, 2, more)
    with tempfile.TemporaryDirectory(prefix="fairshare-two-hosts-") as place:
        postgres = Postgres(Path(place), where)
        try:
            wrong = _run(cluster, postgres, chosen.fail_overs, chosen.seed)
        except RuntimeError as error:
            print(f"  {error}")
            wrong = 1
        finally:
            left = cluster.stop()
            postgres.stop()
    if left:
        print(f"  processes are left: {left}")
    return 1 if wrong or left else 0


def _run(cluster: Cluster, postgres: Postgres, fail_overs: int, seed: int) -> int:
    database = postgres.url()
    names = configuration.SERVER_PORTS
    second = dict(zip(names, configuration.free_ports(len(names)), strict=True))
    ports = {"rm1": cluster.ports, "rm2": second}
    hosts: list[Host] = []
    urls = ",".join(f"http://127.0.0.1:{own['web']}" for own in ports.values())
    for name, folder in configuration.write_pair(cluster.run, ports).items():
        servers = ", ".join(f'"{url}"' for url in urls.split(","))
        state = f'[state]\nurl = "{database}"\ntakeover_s = {TAKEOVER_S}\nservers = [{servers}]\n'
        (folder / "fairshare.toml").write_text(state)
        hosts.append(Host(cluster, name, folder, ports[name]["web"]))
    leader, standby = hosts
    leader.start()
    cluster.wait(lambda: cluster.active_nodes() >= 0, "the first server leads")
    standby.start()
    cluster.start_history_server()
    for number in range(1, cluster.nodes + 1):
        cluster.start_node(f"node{number}")
    cluster.wait(lambda: cluster.active_nodes() == cluster.nodes, "all nodes are registered")

    jobs = Faults(cluster, 0, seed)
    chance = random.Random(seed)
    times_s: dict[str, list[float]] = defaultdict(list)
    rounds = 0
    for count in range(fail_overs):
        if not jobs.busy:
            rounds += 1
            _begin(jobs, rounds, urls)
        time.sleep(chance.uniform(2, 10))
        fault = FAULTS[count % len(FAULTS)]
        began_s = time.monotonic()
        leader.fail(fault)
        cluster.url = standby.url
        cluster.wait(
            lambda: cluster.active_nodes() == cluster.nodes, "the nodes follow the standby"
        )
        times_s[fault].append(time.monotonic() - began_s)
        print(f"  {count + 1}: {leader.name} {fault}, {times_s[fault][-1]:.1f} s", flush=True)
        if fault == "frozen":
            time.sleep(max(0.0, began_s + FROZEN_S - time.monotonic()))
        if (code := leader.mend()) != 1 and fault == "frozen":
            raise RuntimeError(f"{leader.name} did not notice that it leads no more: {code}")
        leader.start()
        leader, standby = standby, leader
        cluster.wait(lambda one=standby: one.is_ready(standby=True), "the other one stands by")
        if fault == FAULTS[-1]:
            time.sleep(chance.uniform(2, 10))
            postgres.stop()
            time.sleep(AWAY_S)
            began_s = time.monotonic()
            postgres.start()
            cluster.wait(leader.is_ready, "the server goes on")
            times_s[NO_DATABASE].append(time.monotonic() - began_s)
            print(f"  {NO_DATABASE}, {times_s[NO_DATABASE][-1]:.1f} s", flush=True)
    wrong = jobs.results() + _judge(leader.url, rounds)
    print("\nSeconds until all nodes follow the other server, or the same one goes on:\n")
    print("| fault of the server that leads | times | least | median | most |")
    print("| --- | --- | --- | --- | --- |")
    for fault, all_s in times_s.items():
        middle_s = statistics.median(all_s)
        print(f"| {fault} | {len(all_s)} | {min(all_s):.1f} | {middle_s:.1f} | {max(all_s):.1f} |")
    print(f"\n{len(jobs.jobs)} programs, {wrong} wrong")
    for host in hosts:
        host.fail("shut down")
        host.mend()
    return wrong


def _begin(jobs: Faults, number: int, urls: str) -> None:
    """Programs of each kind, and an application of our own."""
    jobs.begin_jobs(number)
    spark = spark_command(jobs.clients, "cluster", LOCAL_MASTER)
    jobs.begin(f"spark-{number}", "final status: SUCCEEDED", spark)
    submit = ("submit", "--url", urls, "--name", f"ours-{number}", "--queue", "root.default")
    size = ("--count", str(TASKS), "--memory", "256m", "--wait")
    own = [sys.executable, "-P", "-m", "fairshare", *submit, *size, "--", "sleep", "15"]
    jobs.begin(f"ours-{number}", "", own)
    # Calls, a driver and a MapReduce job of our own: all ask the server while they run.
    place = str(jobs.cluster.run / f"work-{number}")
    work = ["env", f"FAIRSHARE_URL={urls}", sys.executable, our_work.__file__, place]
    jobs.begin(f"work-{number}", r"(?s)calls: ok.*driver: ok.*mapreduce: ok", work)


def _judge(url: str, rounds: int) -> int:
    """How many of our own applications did not run each task just once."""
    wrong = 0
    with Client(url) as client:
        own = [one for one in client.applications(limit=10_000) if one.name.startswith("ours-")]
        for application in own:
            codes = [container.exit_code for container in client.containers(application.id)]
            if application.state != "FINISHED" or codes != [0] * TASKS:
                print(f"  {application.name}: {application.state}, exit codes {codes}")
                wrong += 1
    if len(own) != rounds:
        print(f"  {rounds} applications of our own were submitted, {len(own)} are known")
    return wrong + abs(len(own) - rounds)


if __name__ == "__main__":
    sys.exit(main())
