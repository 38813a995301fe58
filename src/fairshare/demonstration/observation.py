"""Owns what the server said at one instant: frozen data, made of the server's answers.

Asks nothing itself, and draws nothing.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from fairshare.client.answers import Application, Cluster, Queue
from fairshare.demonstration.teams import ADHOC, MAP_SLOTS, MEMORY, PRODUCTION, REDUCE_SLOTS


class TeamStatus(msgspec.Struct, frozen=True):
    """One team. `has`, `wants` (includes `has`) and `owed` are parts of the cluster's amount of
    the resource that is shown; `owed` is None where the scheduler has no shares."""

    name: str
    arrived: bool = False
    active: bool = False  # at least one application is not over
    over: bool = False
    has: float = 0.0
    wants: float = 0.0
    owed: float | None = None
    detail: str = ""


class QueryStatus(msgspec.Struct, frozen=True):
    """The ad-hoc queries in the order of their submission: how long each took or has waited."""

    answered_ms: tuple[int, ...] = ()
    waiting_ms: tuple[int, ...] = ()

    @property
    def longest_ms(self) -> int:
        """The longest time that a query took or has been waiting."""
        return max((*self.answered_ms, *self.waiting_ms), default=0)


class Happening(msgspec.Struct, frozen=True):
    """An event that users see, seconds after the beginning."""

    at_s: float
    text: str


class Snapshot(msgspec.Struct, frozen=True):
    """Everything that is shown."""

    at_s: float
    scheduler: str
    places: int  # containers that fit into the cluster
    teams: tuple[TeamStatus, ...]
    queries: QueryStatus
    queries_total: int
    happenings: tuple[Happening, ...]
    unit: str = "memory"  # what teams have parts of


def detail_of(team: str, applications: Sequence[Application]) -> str:
    """How far a team's applications are: `maps 6/8, reduces 0/2`."""
    if team == ADHOC:
        answered = sum(each.over for each in applications)
        return f"{answered} answered, {len(applications) - answered} waiting"
    if team == PRODUCTION:
        groups = [group for each in applications for group in each.groups]
        return ", ".join(f"{g.name}s {g.succeeded}/{g.count}" for g in groups)
    progress = [each.progress for each in applications if each.progress is not None]
    return ", ".join(f"ranges {each.succeeded}/{each.total}" for each in progress)


def team_status(
    team: str,
    applications: Sequence[Application],
    queues: Mapping[str, Queue],
    cluster: Cluster,
    all_arrived: bool,
    resource: str = MEMORY,
    detail: Callable[[str, Sequence[Application]], str] = detail_of,
) -> TeamStatus:
    """The status of one team. `queues` by name, empty where teams have none of their own."""
    total = cluster.total.get(resource, 0) or 1
    ended = bool(applications) and all(each.over for each in applications)
    return TeamStatus(
        name=team,
        arrived=bool(applications),
        active=not all(each.over for each in applications),
        over=all_arrived and ended,
        has=sum(each.used.get(resource, 0) for each in applications) / total,
        wants=sum((each.demand or {}).get(resource, 0) for each in applications) / total,
        owed=owed_part(team, queues, cluster, resource),
        detail=detail(team, applications),
    )


def owed_part(
    team: str, queues: Mapping[str, Queue], cluster: Cluster, resource: str
) -> float | None:
    """A team's fair share as a part of the cluster; None where the scheduler has no shares.

    The share of a pool is a number of slots that need not be whole.
    """
    queue = queues.get(f"root.{team}")
    shares: Mapping[str, float] | None = None if queue is None else queue.fair_share
    if queue is not None and queue.pool is not None:
        maps, reduces = queue.pool.maps, queue.pool.reduces
        shares = {MAP_SLOTS: maps.fair_share, REDUCE_SLOTS: reduces.fair_share}
    return None if shares is None else shares.get(resource, 0) / (cluster.total.get(resource) or 1)


def query_status(queries: Sequence[Application], now_ms: int) -> QueryStatus:
    """The status of the ad-hoc queries, the oldest first."""
    ordered = sorted(queries, key=lambda query: query.submitted_ms)
    return QueryStatus(
        answered_ms=tuple(
            query.finished_ms - query.submitted_ms
            for query in ordered
            if query.finished_ms is not None
        ),
        waiting_ms=tuple(
            max(0, now_ms - query.submitted_ms) for query in ordered if query.finished_ms is None
        ),
    )


def places_of(cluster: Cluster, container: Mapping[str, int]) -> int:
    """How many containers of a size fit into the cluster, if it is one node."""
    return min(cluster.total.get(name, 0) // amount for name, amount in container.items())
