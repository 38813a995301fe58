"""Owns the three teams and what each of them hands in: applications as data. Submits nothing."""

from pathlib import Path

import msgspec

from fairshare.client.submissions import Submission, TaskGroup
from fairshare.demonstration.machine import program
from fairshare.demonstration.plan import QUESTIONS, Plan
from fairshare.demonstration.work import primes, query, words

RESEARCH, PRODUCTION, ADHOC = TEAMS = ("research", "production", "adhoc")
"""The teams in the order of their arrival. A team is a user, and a queue below root."""

MAP, REDUCE, RANGE, HALF = "map", "reduce", "range", "half"
"""The groups of tasks."""

CONTAINER = {"memory-mb": 256, "vcores": 1}
"""What each task asks for, and is held to."""

QUERY_TASKS = 2
TIME_LIMIT_MS = 60_000


class Arrival(msgspec.Struct, frozen=True):
    """One application, and when it is handed in (seconds after the beginning)."""

    at_s: float
    team: str
    submission: Submission


def arrivals(plan: Plan, folder: Path) -> list[Arrival]:
    """All applications of a plan in the order of time.

    `folder` has what the programs read: `exchange/splits.json` and `queries.json`.
    """
    pace = plan.pace
    big = [
        Arrival(0.0, RESEARCH, research(plan)),
        Arrival(pace.production_at_s, PRODUCTION, production(plan, folder / "exchange")),
    ]
    queries = [
        Arrival(
            pace.queries_at_s + number * pace.query_interval_s,
            ADHOC,
            question(QUESTIONS[number % len(QUESTIONS)], folder / "queries.json"),
        )
        for number in range(pace.queries)
    ]
    return sorted(big + queries, key=lambda arrival: arrival.at_s)


def research(plan: Plan) -> Submission:
    """Count the primes below `plan.numbers`."""
    name = f"primes below {plan.numbers:,}"
    command = program(primes.__file__, str(plan.numbers_per_task))
    return _submission(RESEARCH, name, _group(RANGE, plan.research_tasks, command))


def production(plan: Plan, exchange: Path) -> Submission:
    """Count the words of the installation."""
    map_command = program(words.__file__, "map", str(exchange), str(plan.reduces))
    reduce_command = program(words.__file__, "reduce", str(exchange))
    return _submission(
        PRODUCTION,
        "word count",
        _group(MAP, plan.maps, map_command),
        # A reduce reads the files of all maps, so it begins when the last one has succeeded.
        _group(REDUCE, plan.reduces, reduce_command, after=(MAP,)),
    )


def question(word: str, lists: Path) -> Submission:
    """Ask how often a word is written."""
    command = program(query.__file__, str(lists), word)
    return _submission(ADHOC, f"how often '{word}'?", _group(HALF, QUERY_TASKS, command))


def asked_word(name: str) -> str:
    """The word that a query of this name asks for.

    >>> asked_word(question("lock", Path("lists.json")).name or "")
    'lock'
    """
    return name.split("'")[1]


def _submission(team: str, name: str, *groups: TaskGroup) -> Submission:
    return Submission(user=team, queue=team, name=name, tasks=groups)


def _group(
    name: str, count: int, command: tuple[str, ...], after: tuple[str, ...] = ()
) -> TaskGroup:
    return TaskGroup(
        name=name,
        count=count,
        resources=CONTAINER,
        arguments=command,
        time_limit_ms=TIME_LIMIT_MS,
        after=after,
        slow_start=1.0,
    )
