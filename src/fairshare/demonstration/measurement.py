"""Owns the measurements of a run: how long applications waited, and what each team had.

They are computed from the server's own records of containers, to the millisecond, not from what the
course saw at its looks. Pure functions.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

import msgspec

from fairshare.client.answers import Application, Container
from fairshare.demonstration.teams import ADHOC, PRODUCTION, RESEARCH, TEAMS

Interval = tuple[int, int]
"""From one instant to another (ms), the second not included."""


class ContainerSpan(msgspec.Struct, frozen=True):
    """One container, from its allocation to its end; `amount`: its memory (MB), or its slots."""

    allocated_ms: int
    finished_ms: int
    amount: int


class ApplicationSpan(msgspec.Struct, frozen=True):
    """One application, from its submission to its end, with all its containers."""

    submitted_ms: int
    finished_ms: int
    containers: tuple[ContainerSpan, ...]

    @property
    def begun_ms(self) -> int:
        """When it got its first container."""
        return min((c.allocated_ms for c in self.containers), default=self.finished_ms)


class TeamMetrics(msgspec.Struct, frozen=True):
    """One team. `got` is its part of the resource while all three teams were active; `wanted` and
    `owed` are its average demand (at most 1.0) and share then. `begun_ms` and `finished_ms` count
    from its first submission."""

    wanted: float
    owed: float
    got: float
    begun_ms: int
    finished_ms: int


class UserMetrics(msgspec.Struct, frozen=True):
    """One of several users of a queue: the user's part of what they had together while all of them
    wanted more, and the part that corresponds to the user's weight."""

    name: str
    weight: int
    expected: float
    got: float


class QueryMetrics(msgspec.Struct, frozen=True):
    """Short applications: until the first container, and until the end."""

    count: int
    begun_median_ms: int
    begun_longest_ms: int
    answered_median_ms: int
    answered_longest_ms: int


class RunMetrics(msgspec.Struct, frozen=True):
    """One run and one resource. `contended_ms`: how long all three teams were active at once."""

    scheduler: str
    total_ms: int
    contended_ms: int
    busy: float  # part of the resource that was in use, over the whole run
    teams: dict[str, TeamMetrics]
    queries: QueryMetrics
    users: tuple[UserMetrics, ...] = ()  # of the team research, if it has several


def span_of(
    application: Application, containers: Iterable[Container], resource: str
) -> ApplicationSpan:
    """The server's record of an application that is over, with the containers of a resource."""
    return ApplicationSpan(
        application.submitted_ms,
        application.finished_ms or application.submitted_ms,
        tuple(
            ContainerSpan(each.allocated_ms, each.finished_ms, each.resources[resource])
            for each in containers
            if each.allocated_ms is not None
            and each.finished_ms is not None
            and each.resources.get(resource)
        ),
    )


def metrics_of(
    scheduler: str,
    teams: Mapping[str, Sequence[ApplicationSpan]],
    total: int,
    wanted: Mapping[str, float],
    owed: Mapping[str, float],
    weights: Mapping[str, int] | None = None,
) -> RunMetrics:
    """The measurements of a run in which every team has submitted something.

    `total` is the cluster's amount of the resource; `wanted` and `owed` are each team's demand and
    share while all are active. `weights` are those of the users of the team research, in the order
    of their applications.
    """
    every = [span for team in TEAMS for span in teams[team]]
    began_ms = min(span.submitted_ms for span in every)
    ended_ms = max(span.finished_ms for span in every)
    contended = busy_time(teams[RESEARCH])
    for team in (PRODUCTION, ADHOC):
        contended = common(contended, busy_time(teams[team]))
    whole = [(began_ms, ended_ms)]
    return RunMetrics(
        scheduler=scheduler,
        total_ms=ended_ms - began_ms,
        contended_ms=length(contended),
        busy=sum(part_used(teams[team], whole, total) for team in TEAMS),
        teams={
            team: _team_metrics(teams[team], contended, total, wanted[team], owed[team])
            for team in TEAMS
        },
        queries=query_metrics(teams[ADHOC]),
        users=user_metrics(teams[RESEARCH], weights) if weights else (),
    )


def _team_metrics(
    spans: Sequence[ApplicationSpan],
    contended: Sequence[Interval],
    total: int,
    wanted: float,
    owed: float,
) -> TeamMetrics:
    first_ms = min(span.submitted_ms for span in spans)
    return TeamMetrics(
        wanted=wanted,
        owed=owed,
        got=part_used(spans, contended, total),
        begun_ms=min(span.begun_ms for span in spans) - first_ms,
        finished_ms=max(span.finished_ms for span in spans) - first_ms,
    )


def user_metrics(
    spans: Sequence[ApplicationSpan], weights: Mapping[str, int]
) -> tuple[UserMetrics, ...]:
    """How users have divided a queue, from one application of each, in the order of `weights`.

    It counts from the instant when all have a container until the first user gets the last one.
    Users of the weights 1 and 2 with 512 and 1024 MB for 10 s got 1/3 and 2/3.
    """
    start = max(span.begun_ms for span in spans)
    end = min(max(c.allocated_ms for c in span.containers) for span in spans)
    whole = [(start, max(start, end))]
    had = [part_used([span], whole, 1) for span in spans]
    return tuple(
        UserMetrics(name, weight, weight / sum(weights.values()), used / (sum(had) or 1.0))
        for (name, weight), used in zip(weights.items(), had, strict=True)
    )


def query_metrics(queries: Sequence[ApplicationSpan]) -> QueryMetrics:
    """How long applications waited and took."""
    begun = [query.begun_ms - query.submitted_ms for query in queries]
    answered = [query.finished_ms - query.submitted_ms for query in queries]
    return QueryMetrics(
        count=len(queries),
        begun_median_ms=round(median(begun)),
        begun_longest_ms=max(begun),
        answered_median_ms=round(median(answered)),
        answered_longest_ms=max(answered),
    )


def busy_time(spans: Iterable[ApplicationSpan]) -> list[Interval]:
    """When at least one of these applications was not over, in order and without overlap."""
    busy: list[Interval] = []
    for start, end in sorted((span.submitted_ms, span.finished_ms) for span in spans):
        if busy and start <= busy[-1][1]:
            busy[-1] = (busy[-1][0], max(busy[-1][1], end))
        else:
            busy.append((start, end))
    return busy


def common(first: Sequence[Interval], second: Sequence[Interval]) -> list[Interval]:
    """What lies in both.

    >>> common([(0, 10), (20, 30)], [(5, 25)])
    [(5, 10), (20, 25)]
    """
    return [(max(a, c), min(b, d)) for a, b in first for c, d in second if max(a, c) < min(b, d)]


def length(intervals: Iterable[Interval]) -> int:
    """How long they are together."""
    return sum(end - start for start, end in intervals)


def part_used(spans: Iterable[ApplicationSpan], intervals: Sequence[Interval], total: int) -> float:
    """Which part of `total` the containers had in these intervals, on the average.

    A container of 256 MB for 5 s, in 10 s of a cluster of 1024 MB: 256 * 5 / (1024 * 10) = 0.125.
    """
    whole = length(intervals) * total
    used = sum(
        container.amount
        * length(common([(container.allocated_ms, container.finished_ms)], intervals))
        for span in spans
        for container in span.containers
    )
    return used / whole if whole else 0.0
