"""Conditions on a queue, a user or all of a plan: those under which it fails, and goals.

condition = NAME METRIC > LIMIT        NAME is a queue or a user, or `all`
LIMIT     = +10% | -5% | 3 | 90s       a change against history, or an amount
"""

import re
from typing import Final

import msgspec

from fairshare.documents.durations import parse_duration_ms
from fairshare.lab.plan.outcomes import Sums

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
