"""Conditions on a queue, a user or all of a plan: those under which it fails, and goals.

condition = NAME METRIC > LIMIT        NAME is a queue or a user, or `all`
LIMIT     = +10% | -5% | 3 | 90s       a change against history, or an amount

Of a goal, such as `root.prod wait_p95 < 5m`, the smallest change that meets it is searched: a
larger weight or capacity of the queue, or more nodes. Each kind of change is tried from the
smallest value on, and the first that meets the goal is taken: whether a larger one meets it, too,
does not follow, since schedulers are not monotonic.
"""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec

from fairshare.cli.verbs import Failure
from fairshare.core.model.queues import full_name
from fairshare.documents.durations import parse_duration_ms
from fairshare.documents.ready import ready
from fairshare.lab.branch.branch import Edit
from fairshare.lab.branch.edits import nodes_of, with_nodes
from fairshare.lab.plan.outcomes import Sums
from fairshare.lab.plan.planning import (
    HEARTBEATS,
    Proposal,
    Reached,
    Watch,
    changed_world,
    recorded_settings,
    reproduced,
    sums_of,
)
from fairshare.lab.simulate.world import World
from fairshare.settings.configuration import Configuration
from fairshare.settings.registry import family_of
from fairshare.wording import counted

METRICS: Final = {
    "wait_p50": True,
    "wait_p95": True,
    "turnaround_mean": True,
    "slowdown_mean": False,
    "preempted": False,
    "refused": False,
    "unfinished": False,
    "lost_gb_hours": False,
    "share_of_entitlement": False,
}
"""What a condition may name, and whether it is a time."""

OF_QUEUES: Final = ("share_of_entitlement",)
"""What users do not have."""

_CONDITION: Final = re.compile(r"\s*(\S+)\s+(\w+)\s*(>|<)\s*(\S+)\s*")
_CHANGE: Final = re.compile(r"([+-]\d+(?:\.\d+)?)%")


class Condition(msgspec.Struct, frozen=True):
    """One condition; `percent` is a change against history, else `limit` is an amount."""

    text: str
    name: str
    metric: str
    above: bool
    percent: float | None = None
    limit: float = 0.0

    @property
    def is_time(self) -> bool:
        """Whether its metric is a time, in milliseconds."""
        return METRICS[self.metric]

    def holds(self, before: Sums | None, after: Sums | None) -> bool:
        """Whether the plan fails by it. What did not exist has no waits; a time that became
        infinite, because nothing ran, is above everything."""
        new = self.value(after)
        old = self.value(before)
        if new is None and self.metric in OF_QUEUES:
            return False  # it was entitled to nothing
        if new is None:
            return self.above and old is not None
        limit = self.limit
        if self.percent is not None:
            if old is None:
                return False
            limit = old * (1 + self.percent / 100)
        return new > limit if self.above else new < limit

    def value(self, sums: Sums | None) -> float | None:
        """The metric in these sums; None: they have none."""
        if sums is None:
            return None
        value: float | None = getattr(sums, self.metric)
        return value


def parse_condition(text: str) -> Condition:
    """A condition; raises ValueError.

    >>> parse_condition("root.prod wait_p95 > +10%").percent
    10.0
    """
    found = _CONDITION.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a condition: write 'root.prod wait_p95 > +10%'")
    name, metric, sign, limit = found.groups()
    if metric not in METRICS:
        raise ValueError(f"{text!r}: there is no {metric!r}, only {', '.join(METRICS)}")
    change = _CHANGE.fullmatch(limit)
    if change is not None:
        return Condition(text, name, metric, sign == ">", percent=float(change[1]))
    try:
        amount = float(parse_duration_ms(limit)) if METRICS[metric] else float(limit)
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}") from None
    return Condition(text, name, metric, sign == ">", limit=amount)


NODES: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""So many more nodes are tried, up to four times as many as there are."""


class Step(NamedTuple):
    """One change: a configuration, or edits."""

    words: str
    configuration: Configuration | Proposal | None
    edits: tuple[Edit, ...]


class Way(NamedTuple):
    """The smallest change of one kind that meets the goal, as a step, and what it reaches."""

    step: Step
    reached: Reached


def ways(
    world: World,
    goal: Condition,
    configuration: Configuration | Proposal | None,
    edits: tuple[Edit, ...] = (),
    unused_expiry_ms: int | None = None,
    recorded_beat_ms: int | None = None,
    watch: Watch | None = None,
) -> list[Way]:
    """Of each kind of change the smallest that meets a goal, besides a configuration and edits that
    are planned anyway; where these meet it, they are the only way. Raises Failure if no change
    meets it, or if it is about nothing of the history."""
    known_ms = recorded_beat_ms or recorded_settings(world).get(HEARTBEATS)
    planned = changed_world(world, configuration, known_ms, unused_expiry_ms, edits)
    beat_ms = known_ms or planned.proposal.heartbeat_interval_ms
    history = reproduced(world, beat_ms, unused_expiry_ms, watch)
    before = sums_of(history, goal.name)
    if before is None:
        raise Failure(
            f"--goal {goal.text!r}: no queue and no user of the history is {goal.name!r}, and it is"
            " not 'all'"
        )

    taken = {one.number for one in history.applications.values() if not one.refused}

    def reached(step: Step, tried: int) -> Reached:
        changed = changed_world(world, step.configuration, known_ms, unused_expiry_ms, step.edits)
        run = changed.run(world, watch, f"goal: {step.words}")
        after = sums_of(run, goal.name)
        refuses = any(one.refused and one.number in taken for one in run.applications.values())
        meets = after is not None and goal.holds(before, after) and not refuses
        return Reached(step.words, goal.value(after), meets, tried)

    as_it_is = Step("as it is", configuration, edits)
    without = reached(as_it_is, 0)
    if without.meets:
        return [Way(as_it_is, without)]
    ways_there: list[Way] = []
    failed: list[Reached] = []
    for kind in _kinds(world, goal, configuration, edits):
        last = None
        for tried, step in enumerate(kind, 1):
            last = reached(step, tried)
            if last.meets:
                ways_there.append(Way(step, last))
                break
        else:
            failed += [] if last is None else [last]
    if not ways_there:
        values = "; ".join(f"{one.change}: {_amount(goal, one.value)}" for one in failed)
        raise Failure(
            f"no change that was tried meets the goal {goal.text!r}. The largest of each kind:"
            f" {values or 'there was none'}"
        )
    return ways_there


def _amount(goal: Condition, value: float | None) -> str:
    if value is None:
        return "nothing of it ran"
    return f"{value / 1_000:,.1f} s" if goal.is_time else f"{value:,.4g}"


def _kinds(
    world: World,
    goal: Condition,
    configuration: Configuration | Proposal | None,
    edits: tuple[Edit, ...],
) -> Iterator[Sequence[Step]]:
    """The steps of each kind of change, the smallest first."""
    scheduler = world.scheduler if configuration is None else configuration.scheduler
    family = family_of(scheduler)
    settings: Any
    if configuration is None:
        settings = msgspec.convert(recorded_settings(world), ready(family.settings_type))
    else:
        settings = configuration.settings
    beat_ms = 0 if configuration is None else configuration.heartbeat_interval_ms
    beat_ms = beat_ms or getattr(settings, HEARTBEATS, 0) or 1_000
    if goal.name in world.queues.values() or full_name(goal.name) in world.queues.values():
        larger = family.enlarged(settings, full_name(goal.name))
        if larger is not None:
            yield [
                Step(
                    f"{larger.setting} {larger.text(value)}",
                    Proposal(scheduler, larger.settings(value), beat_ms),
                    edits,
                )
                for value in larger.values
            ]
    there = len(nodes_of(world))
    yield [
        Step(
            counted(more, "more node"),
            configuration,
            (*edits, partial(with_nodes, text=f"+{more}")),
        )
        for more in NODES
        if there and more <= max(3 * there, 1)
    ]
