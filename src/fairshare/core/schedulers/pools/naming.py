"""The pool of a job, determined by its properties (Hadoop: PoolManager.getPoolName).

A property that a job does not set has the site's value; `${name}` refers to another property.
"""

import re
from collections.abc import Mapping
from math import isfinite
from typing import Final

from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.resources import NO_LIMIT
from fairshare.core.schedulers.pools.settings import DEFAULT_POOL, NORMAL, PRIORITIES, PoolsSettings
from fairshare.core.schedulers.pools.tree import pool_of

POOL: Final = "mapred.fairscheduler.pool"
PRIORITY: Final = "mapred.job.priority"
SLOW_START: Final = "mapred.reduce.slowstart.completed.maps"
TASK_LIMIT: Final = "mapred.jobtracker.taskScheduler.maxRunningTasksPerJob"
TASK_LIMITS: Final = ("mapreduce.job.running.map.limit", "mapreduce.job.running.reduce.limit")

POOL_PROPERTIES: Final = {
    "0.19": "mapred.job.queue.name",
    "0.20": "user.name",
    "1.2": "user.name",
}

_VARIABLE = re.compile(r"\$\{([^{}$ ]+)\}")
_MOST_EXPANSIONS = 20
_QUEUE_DEFAULT = "default"
DEFAULT_SLOW_START: Final = 0.05


def properties_of(submission: SubmitApplication) -> dict[str, str]:
    """A job's properties, as MapReduce's client sets them; tags `name=value` count too."""
    properties = {
        "user.name": submission.user,
        "mapreduce.job.user.name": submission.user,
        "mapred.job.name": submission.name,
    }
    if submission.groups:
        properties["group.name"] = submission.groups[0]
    for tag in submission.tags:
        name, equals, value = tag.partition("=")
        if equals and name:
            properties[name] = value
    return properties | dict(submission.properties)


def value_of(name: str, properties: Mapping[str, str], defaults: Mapping[str, str]) -> str | None:
    """A property's value, variables replaced; None if neither the job nor the site sets it."""
    text = properties.get(name, defaults.get(name))
    if text is None:
        return None
    for _ in range(_MOST_EXPANSIONS):
        for match in _VARIABLE.finditer(text):
            value = properties.get(match[1], defaults.get(match[1]))
            if value is not None:
                text = text[: match.start()] + value + text[match.end() :]
                break
        else:
            return text
    return text


def pool_name(settings: PoolsSettings, submission: SubmitApplication) -> str:
    """The pool of a job, without surrounding blanks.

    A queue named in the submission is the pool; then `mapred.fairscheduler.pool`, which with
    `strict` only 1.2 uses; then the property that the settings name; then `default`.
    """
    properties = properties_of(submission)
    queue = pool_of(submission.queue)
    if queue not in ("", _QUEUE_DEFAULT, "root"):
        return queue.strip()
    pool = None
    if not (settings.strict and settings.deficits):
        pool = value_of(POOL, properties, settings.defaults)
    if pool is None:
        name = settings.pool_property or POOL_PROPERTIES[settings.generation]
        pool = value_of(name, properties, settings.defaults)
    return DEFAULT_POOL if pool is None else pool.strip()


def priority_of(submission: SubmitApplication) -> int | None:
    """The priority, 1 (VERY_LOW) to 5 (VERY_HIGH); None if invalid.

    0 or unset: the job's property, else NORMAL.
    """
    priority = submission.priority
    if priority:
        return priority if 1 <= priority <= len(PRIORITIES) else None
    word = properties_of(submission).get(PRIORITY, "").strip().upper()
    if not word:
        return NORMAL
    return PRIORITIES.index(word) + 1 if word in PRIORITIES else None


def slow_start_of(settings: PoolsSettings, submission: SubmitApplication) -> float:
    """The part of a job's maps that must have finished before its reduces start
    (`mapred.reduce.slowstart.completed.maps`)."""
    found = _number(SLOW_START, properties_of(submission), settings)
    return DEFAULT_SLOW_START if found is None else found


def task_limits_of(settings: PoolsSettings, submission: SubmitApplication) -> tuple[int, int]:
    """How many maps, and how many reduces, a job may run at once.

    One property applies to both kinds, two to one each; a number below 1 means no limit.
    """
    properties = properties_of(submission)
    both = _number(TASK_LIMIT, properties, settings)
    limits = []
    for name in TASK_LIMITS:
        found = (_number(name, properties, settings), both)
        limits.append(min((int(n) for n in found if n is not None and n >= 1), default=NO_LIMIT))
    return limits[0], limits[1]


def _number(name: str, properties: Mapping[str, str], settings: PoolsSettings) -> float | None:
    """A property that is a number; None if it is not set or not a number."""
    text = value_of(name, properties, settings.defaults)
    try:
        number = None if text is None else float(text)
    except ValueError:
        return None
    return number if number is None or isfinite(number) else None
