"""Runs the load on our simulator, and prints processor time and memory.

`own_run.py SCHEDULER TASKS NODES QUEUES PER_JOB`. Only the simulation and its report are timed, as
AccaSim's: the load is there before.
"""

import itertools
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from benchmarks.simulation.load import CORES_PER_NODE, tasks
from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.inputs import NodeJoined, SubmitApplication
from fairshare.core.model.work import TaskGroup
from fairshare.lab.simulate.simulator import Simulator
from fairshare.lab.simulate.workload import Arrival, GroupPlan, Workload
from fairshare.runtime.collection import collect_rarely
from fairshare.runtime.journal.memory import ForgetfulJournal
from fairshare.settings.directory import read_directory
from fairshare.settings.registry import family_of

TASK = (1024, 1)
CLASSES = {
    "fair": "fair.FairScheduler",
    "capacity": "capacity.CapacityScheduler",
    "fifo": "fifo.FifoScheduler",
}
PREFIX = "org.apache.hadoop.yarn.server.resourcemanager.scheduler."


def write_configuration(directory: Path, scheduler: str, queues: int) -> None:
    """The files of a configuration with so many queues alike."""
    names = [f"q{number}" for number in range(queues)]
    write_site(
        directory / "yarn-site.xml",
        {
            "yarn.resourcemanager.scheduler.class": PREFIX + CLASSES[scheduler],
            "yarn.scheduler.fair.assignmultiple": "true",
            "yarn.scheduler.fair.dynamic.max.assign": "false",
            "yarn.scheduler.minimum-allocation-mb": "1024",
        },
    )
    rows = "".join(f'<queue name="{name}"/>' for name in names)
    (directory / "fair-scheduler.xml").write_text(f"<allocations>{rows}</allocations>")
    if scheduler == "capacity":
        each = {f"root.{name}.capacity": f"{100 / queues:.10g}" for name in names}
        most = {f"root.{name}.user-limit-factor": str(queues) for name in names}
        found = {"root.queues": ",".join(names), **each, **most, "maximum-applications": "1000000"}
        found["maximum-am-resource-percent"] = "1"  # all jobs may run at once, as elsewhere
        write_site(
            directory / "capacity-scheduler.xml",
            {f"yarn.scheduler.capacity.{name}": value for name, value in found.items()},
        )


def write_site(path: Path, properties: dict[str, str]) -> None:
    """A file of properties."""
    rows = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in properties.items()
    )
    path.write_text(f"<configuration>{rows}</configuration>")


def workload_of(count: int, nodes: int, queues: int, per_job: int, fifo: bool) -> Workload:
    """The load as applications of `per_job` tasks, over the queues in turn."""
    joined = tuple(
        NodeJoined(f"node-{number}", (CORES_PER_NODE * TASK[0], CORES_PER_NODE))
        for number in range(nodes)
    )
    arrivals = []
    load = tasks(count, nodes)
    groups: dict[int, tuple[TaskGroup]] = {}
    names = ["default"] if fifo else [f"root.q{number}" for number in range(queues)]
    users = [f"user{number}" for number in range(50)]
    for number in range(-(-count // per_job)):
        some = list(itertools.islice(load, per_job))
        of_job = groups.setdefault(len(some), (TaskGroup("tasks", len(some), TASK),))
        queue = names[number % len(names)]
        submission = SubmitApplication(users[number % 50], queue, f"job{number}", tasks=of_job)
        durations_ms = tuple(run_s * 1000 for _, run_s in some)
        plan = GroupPlan(durations_ms if per_job > 1 else durations_ms[0])
        arrivals.append(Arrival(some[-1][0] * 1000, submission, (plan,)))
    return Workload(joined, tuple(arrivals))


def main() -> None:
    """Run it once."""
    scheduler, *numbers = sys.argv[1:]
    count, nodes, queues, per_job = map(int, numbers)
    with tempfile.TemporaryDirectory() as folder:
        write_configuration(Path(folder), scheduler, queues)
        configuration = read_directory(folder)
    workload = workload_of(count, nodes, queues, per_job, scheduler == "fifo")
    collect_rarely()
    began_s = time.process_time()
    manager = ResourceManager(family_of(configuration.scheduler).create(configuration.types))
    settings = msgspec.json.encode(configuration.settings)
    journal = ForgetfulJournal()
    report = Simulator(manager, settings, workload, journal, forgets=True, starts=False).run()
    cpu_s = time.process_time() - began_s
    if report.containers.succeeded != count:
        raise SystemExit(f"{report.containers.succeeded} of {count} tasks succeeded")
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"cpu_s": cpu_s, "memory_mb": memory_mb}))


main()
