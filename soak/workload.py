"""What the soak lets a server do, and what must be true of it at the end.

A task has a link with its process number for as long as it runs: whoever finds it with a process
that lives runs twice at once. It notes each ending in a file: two good endings of one task are an
exit that was forgotten, unless its supervisor was killed, or the journal set back.
"""

import random
import re
from pathlib import Path

import msgspec

from fairshare.client import Client, Submission, TaskGroup

SMALL = {"memory-mb": 64, "vcores": 1}
QUEUES = ("a", "b")

TASK = """
task={folder}/{name}-$FAIRSHARE_TASK_INDEX
until ln -s $$ $task.runs 2>/dev/null; do
  if kill -0 "$(readlink $task.runs)" 2>/dev/null; then
    echo "$FAIRSHARE_CONTAINER_ID" >> {folder}/twice; exit 99
  fi
  rm -f $task.runs
done
sleep {seconds}
tries=$(cat $task.ends 2>/dev/null | wc -l)
if [ $tries -lt {failures} ]; then code=7; else code=0; fi
rm $task.runs
echo "$FAIRSHARE_CONTAINER_ID $code" >> $task.ends
exit $code
"""


class Job(msgspec.Struct, frozen=True):
    """One application: how many tasks, how often each fails first, and whether it is killed."""

    name: str
    tasks: int
    failures: int
    killed: bool


class Accepted(msgspec.Struct):
    """What the server has acknowledged. `kill_acknowledged` may come later, or never.

    `set_back`: a copy of the journal that knows it was put in its place; tasks may run again.
    """

    job: Job
    identifier: str
    kill_acknowledged: bool = False
    set_back: bool = False


def new_job(random_numbers: random.Random, number: int) -> Job:
    """The number-th job of a run."""
    killed = random_numbers.random() < 0.1
    return Job(
        name=f"job{number}",
        tasks=random_numbers.randint(1, 4),
        failures=0 if killed else random_numbers.choice((0, 0, 0, 1)),
        killed=killed,
    )


def submit(client: Client, job: Job, folder: Path, random_numbers: random.Random) -> str:
    """Hand a job in; the identifier that the server has answered with."""
    seconds = 5 if job.killed else round(random_numbers.uniform(0.0, 0.4), 2)
    command = TASK.format(folder=folder, name=job.name, seconds=seconds, failures=job.failures)
    group = TaskGroup(name="t", count=job.tasks, resources=SMALL, command=command, max_attempts=20)
    queue = random_numbers.choice(QUEUES)
    return client.submit(Submission(queue=queue, name=job.name, tasks=(group,)))


def violations_of(
    accepted: Accepted, state: str | None, name: str, folder: Path, disturbed: set[str]
) -> list[str]:
    """What is wrong with one accepted job at the end; `state` is None if nobody knows it.

    `disturbed` are containers whose supervisor was killed or stopped: what they had noted may not
    be what the server was told.
    """
    job, found = accepted.job, []
    about = f"{accepted.identifier} ({job.name})"
    if state is None:
        return [f"{about} was accepted, and is lost"]
    if name != job.name:
        found.append(f"{about} is now {name!r}: its identifier was given away again")
    if job.killed:
        if accepted.kill_acknowledged and state != "KILLED":
            found.append(f"{about} was killed, and is {state}")
        return found
    if state != "FINISHED":
        found.append(f"{about} is {state}")
    for task in range(job.tasks):
        ends = folder / f"{job.name}-{task}.ends"
        lines = ends.read_text().split("\n")[:-1] if ends.exists() else []
        codes = [line.split()[1] for line in lines]
        containers = [line.split()[0] for line in lines]
        again = accepted.set_back or not disturbed.isdisjoint(containers)
        if codes[-1:] != ["0"] if again else codes != ["7"] * job.failures + ["0"]:
            found.append(f"{about} task {task} ended with {codes}: an exit was forgotten or lost")
        if len(set(containers)) != len(containers):
            found.append(f"{about} task {task}: a container's name was used twice: {containers}")
    return found


def containers_that_ran_twice_at_once(folder: Path) -> list[str]:
    """What tasks noted themselves."""
    noted = folder / "twice"
    return re.findall(r"\S+", noted.read_text()) if noted.exists() else []
