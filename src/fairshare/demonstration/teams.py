"""Owns the three teams and what each of them hands in: applications as data. Submits nothing."""

from collections.abc import Mapping
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


class Setting(msgspec.Struct, frozen=True):
    """How the teams appear under a scheduler: the folder of `examples` that it is configured in,
    and the size of a container.

    `researchers` are the users who divide the queue of the team research, in the order in which
    they hand in, and their weights there. Their containers are half as large, so that they divide
    it more exactly. Empty: the team is one user.
    """

    configuration: str
    container: dict[str, int]
    researchers: dict[str, int] = {}


ONE_USER_EACH = Setting("three-teams", CONTAINER)
WEIGHTED_USERS = Setting(
    "three-teams-capacity", {"memory-mb": 256, "vcores": 16}, {"bob": 1, "ann": 2}
)
SLOTS = Setting("three-teams-mapreduce", {"memory-mb": 96, "vcores": 1})
SETTINGS = {
    "fair": ONE_USER_EACH,
    "fifo": ONE_USER_EACH,
    "capacity": WEIGHTED_USERS,
    "pools": SLOTS,
}

QUERY_TASKS = 2
TIME_LIMIT_MS = 60_000


class Arrival(msgspec.Struct, frozen=True):
    """One application, and when it is handed in (seconds after the beginning)."""

    at_s: float
    team: str
    submission: Submission


def arrivals(plan: Plan, folder: Path, setting: Setting = ONE_USER_EACH) -> list[Arrival]:
    """All applications of a plan in the order of time.

    `folder` has what the programs read: `exchange/splits.json` and `queries.json`.
    """
    pace = plan.pace
    container = setting.container
    big = [Arrival(0.0, RESEARCH, each) for each in research_of(plan, setting)]
    words_counted = production(plan, folder / "exchange", container)
    big.append(Arrival(pace.production_at_s, PRODUCTION, words_counted))
    queries = [
        Arrival(
            pace.queries_at_s + number * pace.query_interval_s,
            ADHOC,
            question(QUESTIONS[number % len(QUESTIONS)], folder / "queries.json", container),
        )
        for number in range(pace.queries)
    ]
    return sorted(big + queries, key=lambda arrival: arrival.at_s)


def research(plan: Plan) -> Submission:
    """Count the primes below `plan.numbers`."""
    name = f"primes below {plan.numbers:,}"
    command = program(primes.__file__, str(plan.numbers_per_task))
    return _submission(RESEARCH, name, _group(RANGE, plan.research_tasks, command))


def research_of(plan: Plan, setting: Setting) -> list[Submission]:
    """The same work for all users of the team, in twice as many tasks, divided by their weights.

    Of 127 tasks, users of the weights 1 and 2 get 84 and 170 of half the size.
    """
    weights = setting.researchers
    if not weights:
        return [research(plan)]
    halves, whole = 2 * plan.research_tasks, sum(weights.values())
    numbers = plan.numbers_per_task // 2
    half = {name: amount // 2 for name, amount in setting.container.items()}
    submissions, taken, weighed = [], 0, 0
    for user, weight in weights.items():
        weighed += weight
        end = halves * weighed // whole
        command = program(primes.__file__, str(numbers), str(taken))
        name = f"primes from {taken * numbers:,} to {end * numbers:,}"
        group = _group(RANGE, end - taken, command, container=half)
        submissions.append(Submission(user=user, queue=RESEARCH, name=name, tasks=(group,)))
        taken = end
    return submissions


def production(plan: Plan, exchange: Path, container: Mapping[str, int] = CONTAINER) -> Submission:
    """Count the words of the installation."""
    map_command = program(words.__file__, "map", str(exchange), str(plan.reduces))
    reduce_command = program(words.__file__, "reduce", str(exchange))
    return _submission(
        PRODUCTION,
        "word count",
        _group(MAP, plan.maps, map_command, container=container),
        # A reduce reads the files of all maps, so it begins when the last one has succeeded.
        _group(REDUCE, plan.reduces, reduce_command, after=(MAP,), container=container),
    )


def question(word: str, lists: Path, container: Mapping[str, int] = CONTAINER) -> Submission:
    """Ask how often a word is written."""
    command = program(query.__file__, str(lists), word)
    group = _group(HALF, QUERY_TASKS, command, container=container)
    return _submission(ADHOC, f"how often '{word}'?", group)


def asked_word(name: str) -> str:
    """The word that a query of this name asks for.

    >>> asked_word(question("lock", Path("lists.json")).name or "")
    'lock'
    """
    return name.split("'")[1]


def _submission(team: str, name: str, *groups: TaskGroup) -> Submission:
    return Submission(user=team, queue=team, name=name, tasks=groups)


def _group(
    name: str,
    count: int,
    command: tuple[str, ...],
    after: tuple[str, ...] = (),
    container: Mapping[str, int] = CONTAINER,
) -> TaskGroup:
    return TaskGroup(
        name=name,
        count=count,
        resources=dict(container),
        arguments=command,
        time_limit_ms=TIME_LIMIT_MS,
        after=after,
        slow_start=1.0,
    )
