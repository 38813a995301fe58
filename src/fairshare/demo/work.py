"""What the three teams submit, sized for a minute on this machine, and how results are checked."""

import contextlib
import json
import os
import sys
import sysconfig
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, cycle, takewhile
from pathlib import Path
from typing import ClassVar, NamedTuple

import msgspec

from fairshare.client import Submission, TaskGroup
from fairshare.client.answers import Application, Container
from fairshare.client.client import Client
from fairshare.client.errors import Refused
from fairshare.demo import programs
from fairshare.demo.server import PROCESSORS
from fairshare.mapreduce import MapReduce
from fairshare.wording import counted

RESEARCH, PRODUCTION, ADHOC = TEAMS = ("research", "production", "adhoc")
"""The teams in the order of their arrival. A team is a user, and a queue or pool below root."""

QUESTIONS = ("def", "for", "the", "not", "and", "str", "int", "len", "key", "set")
"""The words of three letters that the ad-hoc queries look for, in turn."""

MEMORY, VCORES, MAP_SLOTS, REDUCE_SLOTS = "memory-mb", "vcores", "map-slots", "reduce-slots"
RUNNING, SUCCEEDED, PREEMPTED = "RUNNING", "SUCCEEDED", -102
QUERY_S, QUERY_TASKS = 0.1, 2
TIME_LIMIT_MS = 120_000

Names = Mapping[str, Sequence[str]]
"""The ids of each team's applications."""


class Pace(msgspec.Struct, frozen=True):
    """How long everything takes. Work is measured in seconds of the whole machine: one of 12
    concurrent tasks gets a twelfth of it, so that a task of 0.15 s (`task_s`) takes 1.8 s. A
    container is killed after a part of production's tasks (`kill_after`): its task runs again after
    the waiting ones, so that a late kill makes it visible."""

    research_s: float
    production_s: float
    production_at_s: float
    queries_at_s: float
    query_interval_s: float
    queries: int
    task_s: float
    kill_after: float = 0.55

    def quick(self) -> "Pace":
        """A shorter one, for tests."""
        times = {name: getattr(self, name) / 5 for name in self.__struct_fields__}
        few = {"queries": 4, "query_interval_s": 0.6, "task_s": self.task_s / 2}
        # On a busy machine, all may have been over at the next look.
        return Pace(**times | few | {"kill_after": 0.0})


class Variant(msgspec.Struct, frozen=True):
    """A demonstration as data. `container` is what a task requests; each team's part of `resource`
    is shown. `researchers`, with their weights, divide the queue of the team research; empty: the
    team is one user."""

    scheduler: str
    title: str
    configuration: str
    container: dict[str, int]
    resource: str = MEMORY
    queries: str = "short queries"
    pace: Pace = Pace(19.0, 12.0, 5.0, 8.0, 1.3, 20, 0.15)
    researchers: dict[str, int] = {}


SMALL = {MEMORY: 256, VCORES: 1}
FAIR = Variant("fair", "fair: every team gets its share", "three-teams", SMALL)
FIFO = Variant("fifo", "fifo: first come, first served", "three-teams", SMALL)
CAPACITY = Variant(
    *("capacity", "capacity: every team has its guarantee", "three-teams-capacity"),
    container={MEMORY: 256, VCORES: 16},
    researchers={"bob": 1, "ann": 2},
)
POOLS = Variant(
    *("pools", "mapreduce: every pool has its minimum", "three-teams-mapreduce"),
    container={MEMORY: 96, VCORES: 1, MAP_SLOTS: 1},
    resource=MAP_SLOTS,
    queries="small jobs",
    pace=Pace(29.0, 12.0, 5.0, 7.0, 1.8, 10, 0.9),
)
VARIANTS = {variant.scheduler: variant for variant in (FAIR, CAPACITY, FIFO, POOLS)}


class Arrival(msgspec.Struct, frozen=True):
    """One application, when it is submitted (seconds after the beginning), and the number of its
    tasks; `word` is what a query looks for."""

    at_s: float
    team: str
    user: str
    work: Submission | MapReduce
    tasks: int
    word: str = ""

    def submit(self, client: Client) -> str:
        """Submit it; returns the application's id."""
        work = self.work
        return work.submit(client) if isinstance(work, MapReduce) else client.submit(work)


class Check(NamedTuple):
    """A fact that was checked, and whether it holds. `text` says what was found."""

    passed: bool
    text: str


def library(size_bytes: float) -> list[Path]:
    """The programs of the standard library, without its tests, repeated until they have a size."""
    root, skipped = Path(sysconfig.get_paths()["stdlib"]), {"site-packages", "test", "tests"}
    found = sorted(path for path in root.rglob("*.py") if not skipped.intersection(path.parts))
    sizes = accumulate(path.stat().st_size for path in cycle(found))
    return [path for path, size in zip(cycle(found), takewhile(size_bytes.__gt__, sizes))]


class Work(ABC):
    """The work of one demonstration, sized for this machine by running its program in this process.

    `count` is what is counted of a document, `unit` the words for it; `effort` how many times as
    long as counting it takes in containers.
    """

    unit: ClassVar[str]
    effort: ClassVar[int]
    count: Callable[[bytes], Counter[str]]

    def __init__(self, variant: Variant, pace: Pace, folder: Path) -> None:
        self.variant, self.pace, self.folder = variant, pace, folder
        sample, began_s = b"".join(path.read_bytes() for path in library(2e6)), time.process_time()
        programs.count_triples(sample)
        processors = min(PROCESSORS, len(os.sched_getaffinity(0)))
        took_s = max(0.001, time.process_time() - began_s)
        rate = processors * len(sample) / took_s / self.effort
        users = variant.researchers or {RESEARCH: 1}
        work_s = {
            user: pace.research_s * part / sum(users.values()) for user, part in users.items()
        }
        work_s |= {PRODUCTION: pace.production_s, ADHOC: QUERY_S}
        self.texts = {user: library(seconds * rate) for user, seconds in work_s.items()}
        self.arrivals: list[Arrival] = []

        def arrive(at_s: float, team: str, user: str, word: str = "") -> None:
            size = f"{work_s[user] * rate / 1e6:.0f} MB"
            name = f"how often '{word}'?" if word else f"{self.unit} of {size}"
            # Several users have smaller containers, so that they divide their queue more exactly.
            parts = len(users) if team == RESEARCH else 1
            pieces = QUERY_TASKS if word else round(parts * work_s[user] / pace.task_s)
            work, tasks = self.work(team, user, name, pieces, parts)
            self.arrivals.append(Arrival(at_s, team, user, work, tasks, word))

        for user in users:
            arrive(0.0, RESEARCH, user)
        arrive(pace.production_at_s, PRODUCTION, PRODUCTION)
        for number in range(pace.queries):
            at_s = pace.queries_at_s + number * pace.query_interval_s
            arrive(at_s, ADHOC, ADHOC, QUESTIONS[number % len(QUESTIONS)])
        self.arrivals.sort(key=lambda arrival: arrival.at_s)

    @abstractmethod
    def work(
        self, team: str, user: str, name: str, pieces: int, parts: int
    ) -> tuple[Submission | MapReduce, int]:
        """What counts a user's text in some pieces, each in a container of a fraction (`parts`) of
        the variant's size, and the number of its tasks."""

    def act(self, client: Client, production: Application) -> Iterator[str]:
        """Do what is due with production's application; yields what has happened."""
        yield from ()

    @abstractmethod
    def result(self, client: Client, application: str, arrival: Arrival) -> Counter[str]:
        """What an application has counted."""

    @abstractmethod
    def check_more(self, client: Client, names: Names) -> Iterator[Check]:
        """The checks of this kind of work alone."""

    def check(self, client: Client, names: Names) -> Iterator[Check]:
        """Compare each result with a count in this process; no task may be lost."""
        direct = {user: self.direct_count(paths) for user, paths in self.texts.items()}
        right = []
        for team in TEAMS:
            arrivals = [arrival for arrival in self.arrivals if arrival.team == team]
            for name, arrival in zip(names[team], arrivals, strict=True):
                counts, expected = self.result(client, name, arrival), direct[arrival.user]
                if arrival.word:
                    right.append(counts[arrival.word] == expected[arrival.word])
                    continue
                wrong = sum(counts[key] != expected[key] for key in counts.keys() | expected.keys())
                found = f"differs for {wrong}" if wrong else "finds the same"
                text = f"{arrival.user}: {arrival.work.name}, {len(counts):,} different ones"
                yield Check(not wrong, f"{text}, {counts.total():,} in all; a direct count {found}")
        text = f"{ADHOC}: {sum(right)} of {len(right)} {self.variant.queries} answered rightly"
        yield Check(all(right) and right != [], text)
        tasks = [task for team in TEAMS for name in names[team] for task in client.tasks(name)]
        total = sum(arrival.tasks for arrival in self.arrivals)
        succeeded = sum(task.state == SUCCEEDED for task in tasks)
        again = sum(task.attempts > 1 for task in tasks)
        text = f"{succeeded} of {total} tasks succeeded, {again} of them at a further attempt"
        yield Check(succeeded == total == len(tasks), text)
        yield from self.check_more(client, names)

    def direct_count(self, paths: Sequence[Path]) -> Counter[str]:
        """How often each word or triple is in documents, each of which is read once."""
        counts: Counter[str] = Counter()
        for path, times in Counter(paths).items():
            for key, number in self.count(path.read_bytes()).items():
                counts[key] += times * number
        return counts


class Tasks(Work):
    """Applications of tasks that count letter triples. One container of production is killed on
    purpose, and its task must run again."""

    unit, effort = "letter triples", 1
    count = staticmethod(programs.count_triples)

    killed: Container | None = None
    again = False

    def work(
        self, team: str, user: str, name: str, pieces: int, parts: int
    ) -> tuple[Submission, int]:
        """An application with a task for each piece, whose documents are listed in a file."""
        folder = self.folder / user
        folder.mkdir(exist_ok=True)
        for number in range(pieces):
            listed = "\n".join(map(str, self.texts[user][number::pieces]))
            (folder / f"piece-{number}").write_text(listed)
        group = TaskGroup(
            name="map",
            count=pieces,
            resources={kind: amount // parts for kind, amount in self.variant.container.items()},
            # -I and -S: neither the user's environment nor site-packages slow the start down.
            arguments=(sys.executable, "-I", "-S", programs.__file__, str(folder)),
            time_limit_ms=TIME_LIMIT_MS,
        )
        return Submission(user=user, queue=team, name=name, tasks=(group,)), pieces

    def act(self, client: Client, production: Application) -> Iterator[str]:
        """Kill a container of production when enough of its tasks are done, and follow its task."""
        if self.killed is not None and not self.again:
            task = next(t for t in client.tasks(production.id) if t.index == self.killed.task)
            if task.container == self.killed.id and task.state == SUCCEEDED:
                self.killed = None  # it was done before the order came: kill another one
            elif task.container not in (None, self.killed.id):
                self.again = True
                yield f"map {task.index} runs again in another container"
        progress = production.progress
        running = [one for one in production.live_containers if one.state == RUNNING]
        due = progress and progress.succeeded >= self.pace.kill_after * progress.total
        if due and running and self.killed is None:
            # The youngest container will hardly end before the order arrives.
            chosen = max(running, key=lambda container: (container.allocated_ms, container.id))
            with contextlib.suppress(Refused):  # it has ended: another one next time
                client.stop_container(chosen.id)
                self.killed = chosen
                yield f"killed on purpose: a container of {PRODUCTION} (map {chosen.task})"

    def result(self, client: Client, application: str, arrival: Arrival) -> Counter[str]:
        """The sum of what the tasks have printed."""
        counts: Counter[str] = Counter()
        for task in client.tasks(application):
            if task.state == SUCCEEDED and task.container is not None:
                counts.update(json.loads(client.log(task.container)))
        return counts

    def check_more(self, client: Client, names: Names) -> Iterator[Check]:
        """The killed container has cost nothing but its own work."""
        killed, words = self.killed, "did not run again"
        by = [
            task.container
            for task in client.tasks(names[PRODUCTION][0])
            if killed is not None and task.index == killed.task and task.state == SUCCEEDED
        ]
        if killed is not None and by:  # a server that was killed, too, gave the order late
            again = by != [killed.id]
            words = "ran again in another one" if again else "was done before the order came"
            words += ", and counts once"
        yield Check(bool(by), f"a killed container: its task {words}")


class Jobs(Work):
    """MapReduce jobs of three pools that count words."""

    unit, effort = "word count", 2
    count = staticmethod(programs.count_words)

    REDUCES = 2

    def work(
        self, team: str, user: str, name: str, pieces: int, parts: int
    ) -> tuple[MapReduce, int]:
        """A job of Python functions on one file."""
        text = self.folder / user
        if not text.exists():
            documents = (path.read_bytes().replace(b"\0", b" ") for path in self.texts[user])
            text.write_bytes(b"\n".join(documents))
        job = MapReduce(
            inputs=[text],
            output=self.folder / f"out-{len(self.arrivals)}",
            user=user,
            pool=team,
            name=name,
            mapper=programs.words,
            combiner=programs.add,
            reducer=programs.count_line,
            binary=True,
            split_bytes=text.stat().st_size // pieces + 1,
            reduces=self.REDUCES,
            memory_mb=self.variant.container[MEMORY],
            time_limit_ms=TIME_LIMIT_MS,
            directory=self.folder,
        )
        return job, len(job.splits()) + self.REDUCES + 1  # and its commit

    def result(self, client: Client, application: str, arrival: Arrival) -> Counter[str]:
        """The lines of `uniq -c` of all parts."""
        counts: Counter[str] = Counter()
        assert isinstance(arrival.work, MapReduce)
        for part in arrival.work.layout.output.glob("part-*"):
            for line in part.read_text().splitlines():
                number, word = line.split()
                counts[word] += int(number)
        return counts

    def check_more(self, client: Client, names: Names) -> Iterator[Check]:
        """There were never more tasks than slots, and production had its minimum."""
        every = [name for team in TEAMS for name in names[team]]
        containers = [container for name in every for container in client.containers(name)]
        total = client.cluster().total
        most = {kind: most_at_once(containers, kind) for kind in (MAP_SLOTS, REDUCE_SLOTS)}
        taken = " and ".join(f"{n} of {total[kind]} {kind}" for kind, n in most.items())
        passed = all(number <= total[kind] for kind, number in most.items())
        yield Check(passed, f"at most {taken} were taken at once")
        (pool,) = [queue.pool for queue in client.queues() if queue.name == f"root.{PRODUCTION}"]
        minimum = pool.maps.min_share if pool is not None else 0
        maps = most_at_once(client.containers(names[PRODUCTION][0]), MAP_SLOTS)
        killed = sum(container.exit_code == PREEMPTED for container in containers)
        words = (
            f"minimum of {counted(minimum, 'map slot')}; {counted(killed, 'task')} killed for it"
        )
        verb = "had" if maps >= minimum else "never had"
        yield Check(maps >= minimum > 0, f"{PRODUCTION} {verb} its {words}")


def most_at_once(containers: Iterable[Container], resource: str) -> int:
    """How much of a resource was taken at once, at most."""
    changes: Counter[int] = Counter()
    for container in containers:
        if container.finished_ms is not None:
            changes[container.allocated_ms] += container.resources.get(resource, 0)
            changes[container.finished_ms] -= container.resources.get(resource, 0)
    return max(accumulate(changes[at_ms] for at_ms in sorted(changes)), default=0)
