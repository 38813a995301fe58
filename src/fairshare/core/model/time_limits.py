"""How long tasks may run in a queue: a default for those that have no limit, and a maximum."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from fairshare.core.model.nothing import NOTHING
from fairshare.core.model.queues import parents_of
from fairshare.core.model.work import TaskGroup


class TimeLimit(msgspec.Struct, frozen=True, omit_defaults=True):
    """Of tasks in a queue and in those below it that have none of their own; None: there is none.
    Without a default it is the maximum."""

    default_ms: int | None = None
    maximum_ms: int | None = None


TimeLimits = Mapping[str, TimeLimit]
"""By the full name of a queue."""


def limits_of(state: object) -> TimeLimits:
    """The limits in force in a cluster; none under a scheduler that does not know them."""
    settings: Any = getattr(state, "settings", None)
    limits: TimeLimits = getattr(settings, "time_limits", NOTHING)
    return limits


def limit_in(limits: TimeLimits, queue: str) -> TimeLimit:
    """The limit in a queue; the nearest queue above decides what a queue leaves open.

    >>> limits = {"root": TimeLimit(1_000, 9_000), "root.a": TimeLimit(maximum_ms=500)}
    >>> limit_in(limits, "root.a.b").default_ms, limit_in(limits, "root.c").default_ms
    (500, 1000)
    """
    default_ms = maximum_ms = None
    for name in (queue, *parents_of(queue)):
        own = limits.get(name)
        if own is not None:
            default_ms = own.default_ms if default_ms is None else default_ms
            maximum_ms = own.maximum_ms if maximum_ms is None else maximum_ms
    if maximum_ms is not None:
        default_ms = maximum_ms if default_ms is None else min(default_ms, maximum_ms)
    return TimeLimit(default_ms, maximum_ms)


def with_defaults(
    limits: TimeLimits, queue: str, tasks: tuple[TaskGroup, ...]
) -> tuple[TaskGroup, ...]:
    """Groups of tasks, each with a limit if its queue has one."""
    default_ms = limit_in(limits, queue).default_ms if limits else None
    if default_ms is None:
        return tasks
    return tuple(
        msgspec.structs.replace(group, time_limit_ms=default_ms)
        if group.time_limit_ms is None
        else group
        for group in tasks
    )


def too_long(limits: TimeLimits, queue: str, asked_ms: Iterable[int | None]) -> str:
    """Why tasks with these limits must not run in a queue; empty: they may. None: without one."""
    most_ms = limit_in(limits, queue).maximum_ms if limits else None
    if most_ms is None:
        return ""
    longest_ms = max(
        (most_ms + 1 if limit_ms is None else limit_ms for limit_ms in asked_ms), default=0
    )
    if longest_ms <= most_ms:
        return ""
    return (
        f"tasks in {queue} may run for {most_ms / 1_000:,g} s at most: give them a time limit of no"
        " more than that (--time-limit), or choose a queue where they may run for longer"
    )
