"""Owns the checks of what applications have come to: each team's result is also found in another
way. Reads results from the server and from the folder.

One container is killed on purpose, and its task must run again:

    waiting ──(enough is done)──> stopped ──(another container)──> again ──> succeeded

A container may end by itself just before the order to end it arrives; then another one is chosen.
"""

import enum
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from fairshare.client.answers import Application, Container, Task
from fairshare.client.client import Client
from fairshare.client.errors import Refused
from fairshare.demonstration.applications.plan import QUERY_TASKS, Plan
from fairshare.demonstration.verification import (
    RUNNING,
    SUCCEEDED,
    Check,
    check_answers,
    check_counts,
)
from fairshare.demonstration.work import primes, words
from fairshare.wording import counted


class Stage(enum.Enum):
    """What has happened to the container and its task."""

    WAITING = enum.auto()
    STOPPED = enum.auto()
    AGAIN = enum.auto()
    SUCCEEDED = enum.auto()


class Casualty:
    """One container that is killed as soon as `after` of its application's tasks have succeeded."""

    def __init__(self, client: Client, after: float) -> None:
        self._client = client
        self._after = after
        self.stage = Stage.WAITING
        self.container: Container | None = None
        self.successor: str | None = None  # the container in which the task ran again

    def step(self, application: Application) -> str | None:
        """Do what is due; returns the event, if there was one."""
        if self.stage is Stage.WAITING:
            progress = application.progress
            due = progress is not None and progress.succeeded >= self._after * progress.total
            return self._kill(application) if due else None
        if self.stage is Stage.SUCCEEDED:
            return None
        return self._follow(application)

    @property
    def task_name(self) -> str:
        """What it ran: `range 17`."""
        return "" if self.container is None else f"{self.container.group} {self.container.task}"

    def _kill(self, application: Application) -> str | None:
        running = [c for c in application.live_containers if c.state == RUNNING]
        if not running:
            return None
        # The youngest container will hardly end before the order arrives.
        chosen = max(running, key=lambda container: (container.allocated_ms or 0, container.id))
        try:
            self._client.stop_container(chosen.id)
        except Refused:
            return None  # it has ended: another one next time
        self.stage, self.container = Stage.STOPPED, chosen
        return f"killed on purpose: a container of {application.user} ({self.task_name})"

    def _follow(self, application: Application) -> str | None:
        task = self._task(application)
        killed = self.container
        if task is None or killed is None:
            return None
        if task.container == killed.id:
            if task.state == SUCCEEDED:
                name = self.task_name
                self.stage, self.container = Stage.WAITING, None
                return f"{name} was done before the order came; so another one is killed"
            return None
        if task.state == SUCCEEDED:
            self.stage, self.successor = Stage.SUCCEEDED, task.container
            return f"{self.task_name} has run again, and succeeded"
        if task.state == RUNNING and self.stage is Stage.STOPPED:
            self.stage, self.successor = Stage.AGAIN, task.container
            return f"{self.task_name} runs again in another container"
        return None

    def _task(self, application: Application) -> Task | None:
        assert self.container is not None
        wanted = (self.container.group, self.container.task)
        for task in self._client.tasks(application.id):
            if (task.group, task.index) == wanted:
                return task
        return None


MOST_FREQUENT = 3


class RangeResult(msgspec.Struct, frozen=True):
    """What a task of the team `research` prints."""

    first: int
    end: int
    primes: int


def outputs(client: Client, application: str) -> list[bytes]:
    """What each succeeded task printed, in the order of groups and tasks."""
    return [
        client.log(task.container)
        for task in client.tasks(application)
        if task.state == SUCCEEDED and task.container is not None
    ]


def direct_count(paths: Iterable[str]) -> Counter[str]:
    """The words of documents, counted without maps and reduces."""
    counts: Counter[str] = Counter()
    for path in paths:
        counts.update(map(str.lower, words.WORD.findall(words.read(path))))
    return counts


def read_reduced(exchange: Path, reduces: int) -> list[words.Counts]:
    """What the reduces have written; a missing file is an empty part."""
    files = [exchange / f"reduce-{part}.json" for part in range(reduces)]
    return [json.loads(file.read_text()) for file in files if file.is_file()]


def most_frequent(parts: Sequence[words.Counts]) -> list[tuple[str, list[str]]]:
    """The most frequent words of each place: ("code", ["self", "if", "return"]), ..."""
    result = []
    for number, place in enumerate(words.PLACES):
        found = [(-numbers[number], word) for part in parts for word, numbers in part.items()]
        result.append((place, [word for _, word in sorted(found)[:MOST_FREQUENT]]))
    return result


def check_research(results: Sequence[RangeResult], plan: Plan) -> Check:
    """Every range is there once, and their primes are as many as another method finds."""
    ordered = sorted(results, key=lambda result: result.first)
    ends = [0, *(result.end for result in ordered)]
    whole = [result.first for result in ordered] == ends[:-1] and ends[-1] == plan.numbers
    found, expected = sum(result.primes for result in results), primes.prime_count(plan.numbers)
    text = (
        f"research: {found:,} primes below {plan.numbers:,}, from {counted(len(results), 'task')}"
    )
    if not whole:
        return Check(False, f"{text}: ranges are missing or there twice")
    if found != expected:
        return Check(False, f"{text}: another method finds {expected:,}")
    return Check(True, f"{text}; another method finds as many")


def check_production(parts: Sequence[words.Counts], direct: Counter[str], plan: Plan) -> Check:
    """No word is in two parts, and each occurs as often as a direct count finds it."""
    counts = {word: sum(numbers) for word, numbers in words.merged(parts).items()}
    through = f"of {plan.documents:,} files through {plan.maps} maps and {plan.reduces} reduces"
    repeated = sum(map(len, parts)) - len(counts)
    return check_counts("production", counts, direct, through, repeated)


def check_queries(answers: Sequence[tuple[str, Sequence[int]]], direct: Counter[str]) -> Check:
    """Each query's halves add up to what a direct count finds. An answer is (word, halves)."""
    right = [len(halves) == QUERY_TASKS and sum(halves) == direct[word] for word, halves in answers]
    return check_answers(right, "queries answered rightly")


def check_casualty(casualty: Casualty) -> Check:
    """The container that was killed on purpose has cost nothing but its own work."""
    if casualty.stage is not Stage.SUCCEEDED:
        return Check(False, "a killed container: none was caught, or its task did not run again")
    return Check(
        True,
        f"a killed container: its task ({casualty.task_name}) ran again in another one, and counts"
        " once",
    )
