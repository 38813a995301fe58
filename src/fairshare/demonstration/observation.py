"""Owns what is known of the demonstration at one instant: frozen data, made of a server's answers.

Asks nothing itself, and draws nothing.
"""

from collections.abc import Mapping, Sequence

import msgspec

from fairshare.client.answers import Application, Cluster, Queue
from fairshare.demonstration.teams import ADHOC, PRODUCTION, TEAMS

MEMORY = "memory-mb"


class TeamStatus(msgspec.Struct, frozen=True):
    """One team. `has`, `wants` (what it has included) and `owed` are parts of the cluster's memory;
    `owed` is None where the scheduler owes nobody anything."""

    name: str
    arrived: bool = False
    active: bool = False  # something of it is not over
    over: bool = False
    has: float = 0.0
    wants: float = 0.0
    owed: float | None = None
    containers: int = 0
    done: int = 0
    total: int = 0
    detail: str = ""


class QueryStatus(msgspec.Struct, frozen=True):
    """The ad-hoc queries in the order of their submission: how long each took, or waits by now."""

    answered_ms: tuple[int, ...] = ()
    waiting_ms: tuple[int, ...] = ()

    @property
    def longest_ms(self) -> int:
        """The longest time that a query took or has been waiting."""
        return max((*self.answered_ms, *self.waiting_ms), default=0)


class Happening(msgspec.Struct, frozen=True):
    """Something worth telling, seconds after the beginning."""

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


def team_status(
    team: str,
    applications: Sequence[Application],
    queues: Mapping[str, Queue],
    cluster: Cluster,
    all_arrived: bool,
) -> TeamStatus:
    """How one team stands. `queues` by name, empty where teams have none of their own."""
    memory_mb = cluster.total.get(MEMORY, 0) or 1
    queue = queues.get(f"root.{team}")
    owed = None
    if queue is not None and queue.fair_share is not None:
        owed = queue.fair_share.get(MEMORY, 0) / memory_mb
    progress = [each.progress for each in applications if each.progress is not None]
    return TeamStatus(
        name=team,
        arrived=bool(applications),
        active=not all(each.over for each in applications),
        over=all_arrived and bool(applications) and all(each.over for each in applications),
        has=sum(each.used.get(MEMORY, 0) for each in applications) / memory_mb,
        wants=sum((each.demand or {}).get(MEMORY, 0) for each in applications) / memory_mb,
        owed=owed,
        containers=sum(each.container_count for each in applications),
        done=sum(each.succeeded for each in progress),
        total=sum(each.total for each in progress),
        detail=_detail(team, applications),
    )


def _detail(team: str, applications: Sequence[Application]) -> str:
    if team == ADHOC:
        answered = sum(each.over for each in applications)
        return f"{answered} answered, {len(applications) - answered} waiting"
    if team == PRODUCTION:
        groups = [group for each in applications for group in each.groups]
        return ", ".join(f"{g.name}s {g.succeeded}/{g.count}" for g in groups)
    progress = [each.progress for each in applications if each.progress is not None]
    return ", ".join(f"ranges {each.succeeded}/{each.total}" for each in progress)


def query_status(queries: Sequence[Application], now_ms: int) -> QueryStatus:
    """How the ad-hoc queries stand, the oldest first."""
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


def empty_snapshot(scheduler: str, places: int, queries_total: int) -> Snapshot:
    """Before anything has happened."""
    return Snapshot(
        at_s=0.0,
        scheduler=scheduler,
        places=places,
        teams=tuple(TeamStatus(team) for team in TEAMS),
        queries=QueryStatus(),
        queries_total=queries_total,
        happenings=(),
    )
