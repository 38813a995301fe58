"""The report of a simulation as frozen data; the same history yields the same bytes.

All times are in milliseconds. Amounts are by resource type, in the order of the cluster's types.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from fairshare.api.showing import Rows


class Spread(msgspec.Struct, frozen=True):
    """The distribution of some times. A percentile is one of the times (nearest rank).

    p95 of 1..20 is 19, since ceil(0.95 * 20) = 19.
    """

    count: int
    min: int
    mean: float
    p50: int
    p95: int
    max: int


class ApplicationReport(msgspec.Struct, frozen=True, gc=False):
    """One application. The waiting time is from submission to the first container, the turnaround
    from submission to the end; None if that did not happen.

    `lost_mb_ms` is the work of containers that did not succeed, memory times age, of which
    `preempted_mb_ms` was preempted. `near` counts containers by locality (node, rack, elsewhere);
    empty if it wanted no place. `session` is the number of its user in a closed loop, from 1; 0 if
    it is of none.
    """

    id: str
    name: str
    user: str
    queue: str
    state: str
    submitted_ms: int
    waiting_ms: int | None
    turnaround_ms: int | None
    containers: int
    failed_containers: int
    preempted_containers: int
    diagnostics: str
    lost_mb_ms: int = 0
    preempted_mb_ms: int = 0
    near: tuple[int, ...] = ()
    session: int = 0


class QueueReport(msgspec.Struct, frozen=True):
    """One leaf queue. `used` and `fair_share` are means over the whole simulation."""

    name: str
    applications: int
    containers: int
    preempted_containers: int
    waiting: Spread | None
    turnaround: Spread | None
    used: dict[str, float]
    fair_share: dict[str, float]


class UserReport(msgspec.Struct, frozen=True):
    """One user, over all queues."""

    name: str
    applications: int
    containers: int
    waiting: Spread | None
    turnaround: Spread | None


class QueueSample(msgspec.Struct, frozen=True):
    """One leaf queue in one interval: means of what it used, of its fair share, of what its
    applications used and requested, of what it was entitled to (the smaller of both), and of its
    capacity or minimum share."""

    used: dict[str, float]
    fair_share: dict[str, float]
    demand: dict[str, float]
    entitled: dict[str, float]
    guaranteed: dict[str, float]


class Sample(msgspec.Struct, frozen=True):
    """One interval. `used` is a mean, `total` the mean of the sum of the nodes' totals."""

    at_ms: int
    length_ms: int
    total: dict[str, int]
    used: dict[str, float]
    queues: dict[str, QueueSample]


class Containers(msgspec.Struct, frozen=True):
    """The number of allocated containers, and how they ended."""

    granted: int = 0
    succeeded: int = 0
    failed: int = 0
    preempted: int = 0
    aborted: int = 0


class Unfinished(msgspec.Struct, frozen=True):
    """An application that was not over at the end, and the most important reason why it waited:
    its cause, in words, and what would end the wait; empty if it did not wait. `for_ever`: further
    waiting would not have helped."""

    id: str
    name: str
    queue: str
    for_ever: bool = False
    cause: str = ""
    sentence: str = ""
    remedy: str = ""


class Report(msgspec.Struct, frozen=True):
    """The whole report. `makespan_ms` is from the first submission to the last end of an
    application.

    `applications_by_state` counts by final state, or by current state if not over. `utilization` is
    the mean used fraction of the nodes' totals, by resource type, over the makespan.
    """

    scheduler: str
    end_ms: int
    makespan_ms: int
    applications_by_state: dict[str, int]
    containers: Containers
    waiting: Spread | None
    turnaround: Spread | None
    utilization: dict[str, float]
    queues: tuple[QueueReport, ...]
    users: tuple[UserReport, ...]
    applications: tuple[ApplicationReport, ...]
    timeline: tuple[Sample, ...]
    notes: tuple[str, ...] = ()
    unfinished: tuple[Unfinished, ...] = ()

    def _repr_html_(self) -> str:
        from fairshare.lab.notebook import report_html  # terminals are not known here

        return report_html(self)

    def to_frame(self) -> Any:
        """A DataFrame with a row for each application (`Rows.to_frame`)."""
        return Rows(self.applications, ApplicationReport).to_frame()


def cluster_total(report: Report) -> dict[str, int]:
    """The largest total of the nodes, by resource type: later nodes may be lost."""
    largest: dict[str, int] = {}
    for sample in report.timeline:
        for kind, amount in sample.total.items():
            largest[kind] = max(largest.get(kind, 0), amount)
    return largest


def spread(times_ms: Sequence[int]) -> Spread | None:
    """The distribution of times; None if there are none.

    >>> spread(range(1, 21))
    Spread(count=20, min=1, mean=10.5, p50=10, p95=19, max=20)
    """
    if not times_ms:
        return None
    ordered = sorted(times_ms)
    count = len(ordered)
    return Spread(
        count=count,
        min=ordered[0],
        mean=round(sum(ordered) / count, 3),
        p50=ordered[-(-count * 50 // 100) - 1],
        p95=ordered[-(-count * 95 // 100) - 1],
        max=ordered[-1],
    )


def encode(report: Report) -> bytes:
    """The report as JSON with sorted keys and a newline: the same report yields the same bytes."""
    return msgspec.json.format(msgspec.json.encode(report, order="sorted"), indent=2) + b"\n"
