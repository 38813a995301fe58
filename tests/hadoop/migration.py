"""`python -m tests.hadoop.migration`: a real ResourceManager with running jobs is replaced by our
server and back, on one configuration directory and with the same NodeManagers.

Once when its jobs have ended, as `docs/how-to/replace-the-resource-manager.md` advises, and once
in each direction while a job runs. Prints what was found; the exit code is 0 if all is as it must
be and no process is left.
"""

import argparse
import re
import shutil
import sys
import time
from pathlib import Path

from tests.hadoop import configuration
from tests.hadoop.clients import COMMANDS, EXAMPLES, SLEEP, Clients
from tests.hadoop.cluster import Cluster
from tests.hadoop.installation import FOLDER, Installation, Missing

NODES = 2
QUEUES = ("default", "research")
OMITTED = ("Current Capacity", "MinResource", "MaxResource")
"""What changes with the applications of a queue, and what Hadoop's client reads from the wrong
fields of an answer (QueueInfoPBImpl)."""
GONE_S = 60
"""Within this time nothing of a job that was left behind may run."""


class Migration:
    """One cluster that changes its ResourceManager."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.clients = Clients(cluster)
        self.problems: list[str] = []
        self._runs = 0
        self._queues = self.queues()

    def check(self, right: object, problem: str) -> None:
        """Keep a problem, unless all is right."""
        if not right:
            self.problems.append(problem)

    def change_over(self, *, real: bool) -> None:
        """Replace the ResourceManager; its nodes come back without a restart."""
        begun_s = time.monotonic()
        self.cluster.stop_server()
        self.cluster.real = real
        self.cluster.start_server()
        self.cluster.wait(lambda: self.cluster.active_nodes() == NODES, "the nodes are back", 60)
        seconds = time.monotonic() - begun_s
        name = "the real ResourceManager" if real else "ours"
        print(f"  {name} has both nodes after {seconds:.1f} s", flush=True)
        queues = self.queues()
        self.check(queues == self._queues, f"with {name} the queues are {queues}")

    def queues(self) -> list[str]:
        """What `yarn queue` says of each queue's settings."""
        lines = []
        for queue in QUEUES:
            self._runs += 1
            words = self.clients.java(COMMANDS + "QueueCLI", "-status", queue)
            result = self.clients.run(f"queue-{self._runs}", words, "Queue Name")
            self.problems += result.problems
            lines += re.findall(r"^\t(.* : .*)$", result.output, re.MULTILINE)
        return [line for line in lines if not line.startswith(OMITTED)]

    def run_job(self) -> None:
        """A job that ends well."""
        self._runs += 1
        name = f"pi-{self._runs}"
        words = self.clients.java(EXAMPLES, "pi", "2", "10")
        result = self.clients.run(name, words, r"Estimated value of Pi is 3\.8", limit_s=240)
        self.problems += [f"{name}: {problem}" for problem in result.problems]

    def wait_for_jobs(self) -> None:
        """A job runs to its end; meanwhile no further one is accepted."""
        clients, cluster = self.clients, self.cluster
        job = clients.start("last", clients.java(SLEEP, "-m", "4", "-r", "1", "-mt", "8000"))
        application = clients.submitted("last", job)
        self.check(application, "the last job was not submitted")
        queues = cluster.conf / "capacity-scheduler.xml"
        if queues.exists():
            text = queues.read_text()
            states = {f"yarn.scheduler.capacity.root.{queue}.state": "STOPPED" for queue in QUEUES}
            configuration.add(queues, queues, states)
            self.problems += clients.refresh_queues().problems
            late = clients.run(
                "late",
                clients.java(SLEEP, "-m", "1", "-r", "0"),
                "is STOPPED|is DRAINING|not accept",
                exit_code=1,
            )
            self.problems += [f"late: {problem}" for problem in late.problems]
        ended = clients.finish("last", job, 120)
        self.check("completed successfully" in ended.output, "the last job did not end well")
        if queues.exists():
            queues.write_text(text)

    def leave_behind(self, name: str, *, real: bool) -> None:
        """Change over while a job runs: its client says that it failed, and nothing of it runs."""
        clients = self.clients
        job = clients.start(name, clients.java(SLEEP, "-m", "3", "-r", "0", "-mt", "600000"))
        application = clients.submitted(name, job)
        if application is None:
            self.problems.append(f"{name}: nothing was submitted")
            return
        epoch_and_number = application.removeprefix("application_")
        mark = f"container_{epoch_and_number}".encode()
        self.cluster.wait(lambda: len(processes_of(self.cluster, mark)) >= 4, f"{name} runs", 60)
        self.change_over(real=real)
        begun_s = time.monotonic()
        self.cluster.wait(
            lambda: not processes_of(self.cluster, mark), f"the containers of {name} end", GONE_S
        )
        seconds = time.monotonic() - begun_s
        print(f"  nothing of {name} runs {seconds:.1f} s later", flush=True)
        result = clients.finish(name, job, 120)
        self.check(result.exit_code not in (0, -9), f"{name} ended with {result.exit_code}")
        listed = clients.run(
            f"list-{name}",
            clients.java(COMMANDS + "ApplicationCLI", "application", "-list"),
            r"Total number of applications .*:0\b",
        )
        self.problems += [f"list-{name}: {problem}" for problem in listed.problems]


def processes_of(cluster: Cluster, mark: bytes) -> list[int]:
    """The Java processes of a run whose command line has a mark."""
    found = []
    for pid in cluster.marked():
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if line.split(b"\0")[0].endswith(b"java") and mark in line:
            found.append(pid)
    return found


def migrate(cluster: Cluster) -> list[str]:
    """There and back again; what was wrong."""
    migration = Migration(cluster)
    migration.run_job()
    migration.wait_for_jobs()
    migration.change_over(real=False)
    migration.run_job()
    migration.leave_behind("left-with-us", real=True)
    migration.run_job()
    migration.leave_behind("left-with-it", real=False)
    migration.run_job()
    return migration.problems


def main() -> int:
    """Parse the options, run, and return the exit code."""
    options = argparse.ArgumentParser(prog="python -m tests.hadoop.migration", description=__doc__)
    options.add_argument("--schedulers", default="fair,capacity", help="default: fair,capacity")
    options.add_argument("--runs", type=Path, default=FOLDER / "runs", help="where logs are kept")
    chosen = options.parse_args()
    installation = Installation()
    try:
        installation.fetch()
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 2
    wrong = 0
    for scheduler in chosen.schedulers.split(","):
        folder = chosen.runs / f"migration-{scheduler}"
        shutil.rmtree(folder, ignore_errors=True)
        print(f"\nmigration, {scheduler} scheduler ({folder})", flush=True)
        cluster = Cluster(folder, installation, scheduler, NODES)
        cluster.real = True
        try:
            with cluster:
                problems = migrate(cluster)
        except RuntimeError as error:
            problems = [str(error)]
        problems += [f"processes are left: {left}" for left in [cluster.marked()] if left]
        print("\n".join(f"  {problem}" for problem in problems or ["all as it must be"]))
        wrong += len(problems)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
