"""Owns what each team submits: applications of tasks, as data. Submits nothing."""

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from fairshare.client.submissions import Submission, TaskGroup
from fairshare.demonstration.applications.plan import QUERY_TASKS, Plan
from fairshare.demonstration.machine import program
from fairshare.demonstration.teams import (
    ADHOC,
    FAIR,
    PRODUCTION,
    RESEARCH,
    Arrival,
    Setting,
    schedule,
)
from fairshare.demonstration.work import primes, query, words

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
