"""Owns the amount of work of the applications, the files that their programs read, and what each
team submits, as data. Submits nothing.

The amounts follow the speed of this machine, so that the demonstration takes about a minute; two
runs can only be compared if they had the same plan.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from fairshare.client.submissions import Submission, TaskGroup
from fairshare.demonstration import corpus, machine
from fairshare.demonstration.corpus import Document
from fairshare.demonstration.machine import Rates, program
from fairshare.demonstration.teams import (
    ADHOC,
    FAIR,
    PRODUCTION,
    RESEARCH,
    Arrival,
    Pace,
    Setting,
    schedule,
)
from fairshare.demonstration.work import primes, query, words

QUERY_TASK_S = 0.05
QUERY_TASKS = 2
REDUCES = 6


class Plan(msgspec.Struct, frozen=True):
    """The work of one demonstration. Instants are seconds after its beginning."""

    pace: Pace
    processors: int
    research_tasks: int
    numbers_per_task: int
    maps: int
    reduces: int
    corpus_bytes: int
    documents: int
    query_bytes: int

    @property
    def numbers(self) -> int:
        """Primes are counted below this number."""
        return self.research_tasks * self.numbers_per_task


def wanted_bytes(rates: Rates, processors: int, pace: Pace) -> int:
    """How much text the word count should have."""
    return int(pace.production_s * processors * rates.mapped_bytes)


def plan_of(rates: Rates, processors: int, pace: Pace, corpus_bytes: int, documents: int) -> Plan:
    """The plan for a machine of this speed with this amount of text.

    A machine of 2 processors that each try 2,000,000 numbers a second gets tasks of
    0.15 * 2 * 2,000,000 = 600,000 numbers, and for 19 s of work 19 / 0.15 = 127 of them.
    """
    tasks = max(1, round(pace.research_s / pace.task_s))
    numbers_per_task = max(1_000, int(pace.task_s * processors * rates.numbers))
    numbers_per_task = min(numbers_per_task, primes.LARGEST // tasks)
    map_bytes = pace.task_s * processors * rates.mapped_bytes
    return Plan(
        pace=pace,
        processors=processors,
        research_tasks=tasks,
        numbers_per_task=numbers_per_task - numbers_per_task % 2,  # so that it can be halved
        maps=min(documents, max(1, round(corpus_bytes / map_bytes))),
        reduces=REDUCES,
        corpus_bytes=corpus_bytes,
        documents=documents,
        query_bytes=int(QUERY_TASKS * QUERY_TASK_S * processors * rates.searched_bytes),
    )


class Prepared:
    """The plan, and the documents of the word count and of the queries."""

    def __init__(self, plan: Plan, documents: Sequence[Document]) -> None:
        self.plan = plan
        self.documents = list(documents)
        self.searched = corpus.first_bytes(documents, plan.query_bytes)

    def write(self, folder: Path) -> None:
        """Write what the programs read: `exchange/splits.json` and `queries.json`."""
        exchange = folder / "exchange"
        exchange.mkdir()
        splits = corpus.splits(self.documents, self.plan.maps)
        (exchange / "splits.json").write_text(json.dumps(splits))
        halves = corpus.splits(self.searched, QUERY_TASKS)
        (folder / "queries.json").write_text(json.dumps(halves))


def prepare(
    pace: Pace, repeated: Plan | None, folder: Path, say: Callable[[str], None]
) -> Prepared:
    """Size the work for this machine, or repeat a plan if machine and Python are still the same;
    write it to the folder.

    Raises DemonstrationFailed if there is nothing to count words in.
    """
    found = corpus.installed(QUERY_TASKS)
    processors = len(machine.processors())
    plan = repeated
    documents = corpus.first_bytes(found, plan.corpus_bytes if plan else 0)
    now = (processors, corpus.size_of(documents), len(documents))
    if plan is not None and now == (plan.processors, plan.corpus_bytes, plan.documents):
        say("The work is that of the last run with the other scheduler.")
    else:
        say("Measuring how fast this machine is ...")
        rates = machine.measure(found, processors, folder / "sample")
        documents = corpus.first_bytes(found, wanted_bytes(rates, processors, pace))
        plan = plan_of(rates, processors, pace, corpus.size_of(documents), len(documents))
    prepared = Prepared(plan, documents)
    prepared.write(folder)
    return prepared


MAP, REDUCE, RANGE, HALF = "map", "reduce", "range", "half"
"""The groups of tasks."""

TIME_LIMIT_MS = 60_000


def arrivals(plan: Plan, folder: Path, setting: Setting = FAIR) -> list[Arrival[Submission]]:
    """All applications of a plan in the order of time.

    The programs read `exchange/splits.json` and `queries.json` in `folder`.
    """
    size, lists = setting.container, folder / "queries.json"
    counting = production(plan, folder / "exchange", size)
    return schedule(
        plan.pace,
        [
            *(arrival(0.0, RESEARCH, each) for each in research(plan, setting)),
            arrival(plan.pace.production_at_s, PRODUCTION, counting),
        ],
        lambda at_s, _, word: arrival(at_s, ADHOC, question(word, lists, size), word),
    )


def arrival(at_s: float, team: str, submission: Submission, word: str = "") -> Arrival[Submission]:
    """The arrival of a submission; `word`: what a query looks for."""
    groups = " and ".join(f"{group.count} {group.name}s" for group in submission.tasks)
    tasks = sum(group.count for group in submission.tasks)
    return Arrival(at_s, team, submission, f"{submission.name}, {groups}", tasks, word)


def research(plan: Plan, setting: Setting = FAIR) -> list[Submission]:
    """Count the primes below `plan.numbers`.

    Several users divide the same work by their weights, in twice as many tasks. Of 127 tasks, users
    of the weights 1 and 2 get 84 and 170 of half the size.
    """
    parts = 2 if setting.researchers else 1
    weights = setting.researchers or {RESEARCH: 1}
    tasks, numbers = parts * plan.research_tasks, plan.numbers_per_task // parts
    container = {name: amount // parts for name, amount in setting.container.items()}
    submissions, taken, weighed = [], 0, 0
    for user, weight in weights.items():
        weighed += weight
        end = tasks * weighed // sum(weights.values())
        first = f"from {taken * numbers:,} to" if setting.researchers else "below"
        group = _group(RANGE, end - taken, container, primes, str(numbers), str(taken))
        name = f"primes {first} {end * numbers:,}"
        submissions.append(_submission(RESEARCH, name, group, user=user))
        taken = end
    return submissions


def production(
    plan: Plan, exchange: Path, container: Mapping[str, int] = FAIR.container
) -> Submission:
    """Count the words of the installation."""
    maps = _group(MAP, plan.maps, container, words, "map", str(exchange), str(plan.reduces))
    # A reduce reads the files of all maps, so it begins when the last one has succeeded.
    after = {"after": (MAP,), "slow_start": 1.0}
    reduces = _group(REDUCE, plan.reduces, container, words, "reduce", str(exchange), **after)
    return _submission(PRODUCTION, "word count", maps, reduces)


def question(word: str, lists: Path, container: Mapping[str, int] = FAIR.container) -> Submission:
    """Ask how often a word occurs."""
    halves = _group(HALF, QUERY_TASKS, container, query, str(lists), word)
    return _submission(ADHOC, f"how often '{word}'?", halves)


def _submission(team: str, name: str, *groups: TaskGroup, user: str = "") -> Submission:
    return Submission(user=user or team, queue=team, name=name, tasks=groups)


def _group(
    name: str,
    count: int,
    container: Mapping[str, int],
    work: ModuleType,
    *arguments: str,
    **more: Any,
) -> TaskGroup:
    return TaskGroup(
        name=name,
        count=count,
        resources=dict(container),
        arguments=program(work.__file__, *arguments),
        time_limit_ms=TIME_LIMIT_MS,
        **more,
    )
