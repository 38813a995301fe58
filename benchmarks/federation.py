"""Prints what a router in front of several servers gives: `python -m benchmarks.federation
[--servers 20] [--nodes 10000] [--hours 8]`.

Each server is a simulated one with its own nodes, users, state and Fair Scheduler; a task takes a
whole node. The users of each server ask for 80 % of its nodes on the average, but in waves that go
from server to server like daylight, from 160 % to nothing. A router sends each application
to one server, whole, when it arrives. Of the servers it knows one number each: how many tasks they
have, running and waiting, as they said last; with it counts what the router itself has sent since.

    home             no router: each user's own server
    in turn          each server gets the next application
    least loaded     the server with the fewest tasks
    home first       the own server while it has room for the application, else the least loaded

`age` is how long ago the servers said it, at most. A wait is from an application's submission to
its first container; a stretch is its turnaround divided by its longest task's duration.
"""

import argparse
import math
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ContainerCompleted
from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.work import TaskGroup
from fairshare.core.record import Record
from fairshare.lab.simulate.report import spread
from fairshare.lab.simulate.simulator import Simulator
from fairshare.lab.simulate.workload import Arrival, GroupPlan, Workload, alike
from fairshare.runtime.collection import collect_rarely
from fairshare.runtime.journal.memory import ForgetfulJournal
from fairshare.settings.configuration import Configuration
from fairshare.settings.directory import read_directory
from fairshare.settings.registry import family_of

NODE = (1024, 1)
HOUR_MS = 3_600_000
LOAD, WAVE = 0.8, 1.0
MEAN_TASK_S = 3_600
MEAN_TASKS = 200
SITE = (
    "<configuration><property><name>yarn.resourcemanager.scheduler.class</name><value>"
    "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler</value></property>"
    "<property><name>yarn.scheduler.fair.assignmultiple</name><value>true</value></property>"
    "</configuration>"
)


class Job(msgspec.Struct, frozen=True):
    """An application as the router sees it."""

    at_ms: int
    home: int
    arrival: Arrival

    @property
    def tasks(self) -> int:
        """The number of nodes that it could use at once."""
        return self.arrival.submission.tasks[0].count


def jobs(servers: int, nodes: int, hours: float, seed: int) -> list[Job]:
    """The applications of all users, in the order of their arrival."""
    chance = random.Random(seed)
    end_ms = int(hours * HOUR_MS)
    rate = LOAD * nodes / (MEAN_TASKS * MEAN_TASK_S * 1_000)  # applications in a millisecond
    made = []
    for home in range(servers):
        at_ms = 0.0
        while (at_ms := at_ms + chance.expovariate(rate * (1 + WAVE))) < end_ms:
            wave = math.sin(2 * math.pi * (at_ms / end_ms + home / servers))
            if chance.random() * (1 + WAVE) > 1 + WAVE * wave:
                continue
            count = chance.randint(1, 2 * MEAN_TASKS - 1)
            durations_ms = tuple(
                round(1_000 * min(chance.expovariate(1 / MEAN_TASK_S), 4 * MEAN_TASK_S))
                for _ in range(count)
            )
            submission = SubmitApplication(
                f"user-{home}-{chance.randrange(20)}",
                "default",
                "job",
                tasks=(TaskGroup("tasks", count, NODE),),
            )
            made.append(
                Job(int(at_ms), home, Arrival(int(at_ms), submission, (GroupPlan(durations_ms),)))
            )
    made.sort(key=lambda job: job.at_ms)
    return made


class Server:
    """One simulated server; `tasks` is what it says of itself, `sent` what came since."""

    def __init__(self, configuration: Configuration, nodes: int) -> None:
        self.present = self.tasks = self.sent = 0
        self.taken: list[Job] = []
        manager = ResourceManager(family_of(configuration.scheduler).create(configuration.types))
        self.simulator = Simulator(
            manager,
            msgspec.json.encode(configuration.settings),
            Workload(alike(nodes, NODE), ()),
            ForgetfulJournal(),
            observers=(self._observe,),
            starts=False,
        )

    def _observe(self, record: Record) -> None:
        self.present -= sum(type(event) is ContainerCompleted for event in record.events)

    def go_to(self, now_ms: int) -> None:
        """Simulate until an instant."""
        self.simulator.run(now_ms)

    def say(self) -> None:
        """Tell the router how many tasks there are."""
        self.tasks, self.sent = self.present, 0

    def submit(self, job: Job) -> None:
        """Let an application arrive now."""
        self.simulator.arrive(job.arrival)
        self.taken.append(job)
        self.present += job.tasks
        self.sent += job.tasks

    @property
    def known(self) -> int:
        """The tasks that the router counts."""
        return self.tasks + self.sent


Choice = Callable[[list[Server], Job, int, int], int]
"""The server for an application: from all servers, the application, its place in the order of
arrival, and the nodes of a server."""


def least_loaded(servers: list[Server], _job: Job, _place: int, _nodes: int) -> int:
    """The first one with the fewest tasks."""
    return min(range(len(servers)), key=lambda number: servers[number].known)


def home_first(servers: list[Server], job: Job, place: int, nodes: int) -> int:
    """The own one if all tasks find a node there."""
    if servers[job.home].known + job.tasks <= nodes:
        return job.home
    return least_loaded(servers, job, place, nodes)


WAYS: dict[str, tuple[Choice, int]] = {
    "home": (lambda _servers, job, _place, _nodes: job.home, 600),
    "in turn": (lambda servers, _job, place, _nodes: place % len(servers), 600),
    "least loaded, age 10 s": (least_loaded, 10),
    "least loaded, age 600 s": (least_loaded, 600),
    "home first, age 10 s": (home_first, 10),
    "home first, age 600 s": (home_first, 600),
}


def run(way: str, servers: list[Server], work: list[Job], nodes: int) -> None:
    """Run all applications one way, and print a line."""
    choice, age_s = WAYS[way]
    began_s = time.process_time()
    said_ms = away = 0
    for place, job in enumerate(work):
        if job.at_ms - said_ms >= age_s * 1_000:
            said_ms = job.at_ms
            for server in servers:
                server.go_to(said_ms)
                server.say()
        number = choice(servers, job, place, nodes)
        away += number != job.home
        servers[number].go_to(job.at_ms)
        servers[number].submit(job)
    waits_ms, stretches = [], []
    for server in servers:
        report = server.simulator.run()
        for row, job in zip(report.applications, server.taken, strict=True):
            assert row.waiting_ms is not None
            assert row.turnaround_ms is not None
            waits_ms.append(row.waiting_ms)
            stretches.append(round(1_000 * row.turnaround_ms / job.arrival.least_ms))
    wait, stretch = spread(waits_ms), spread(stretches)
    assert wait is not None
    assert stretch is not None
    processor_s = time.process_time() - began_s
    tasks = sum(job.tasks for job in work)
    print(
        f"{way:24} {100 * away / len(work):7.0f} % {wait.mean / 1_000:9,.0f} "
        f"{wait.p95 / 1_000:8,.0f} {stretch.mean / 1_000:9.2f} {stretch.p95 / 1_000:8.2f} "
        f"{1_000_000 * processor_s / tasks:10.0f}",
        flush=True,
    )


def main() -> None:
    """Run each way in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", type=int, default=20)
    parser.add_argument("--nodes", type=int, default=10_000, help="of each server")
    parser.add_argument("--hours", type=float, default=8.0, help="of applications, and of a wave")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ways", default="", help="a part of some names")
    options = parser.parse_args()
    collect_rarely()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "yarn-site.xml").write_text(SITE)
        configuration = read_directory(folder)
    work = jobs(options.servers, options.nodes, options.hours, options.seed)
    tasks = sum(job.tasks for job in work)
    print(f"{len(work):,} applications with {tasks:,} tasks")
    print(f"{'':24} elsewhere  wait s: mean, p95 stretch: mean, p95  us a task")
    for way in WAYS:
        if options.ways in way:
            servers = [Server(configuration, options.nodes) for _ in range(options.servers)]
            run(way, servers, work, options.nodes)


if __name__ == "__main__":
    main()
