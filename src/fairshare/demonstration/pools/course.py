"""Owns the course: hands jobs in when they are due, looks at the slots, and tells what happens.

Must not know how anything is shown.
"""

from collections.abc import Callable, Sequence

from fairshare.client.answers import Application, PoolFigures, PoolSlots
from fairshare.client.client import Client
from fairshare.demonstration.observation import Snapshot, TeamStatus, query_status
from fairshare.demonstration.pools.jobs import MAP_SLOTS, REDUCE_SLOTS, Arrival
from fairshare.demonstration.teams import ADHOC, PRODUCTION, RESEARCH, TEAMS
from fairshare.demonstration.timeline import Timeline

SCHEDULER = "pools"


class Course(Timeline[Arrival]):
    """One course. `applications` has each pool's jobs in order of arrival, with their ids.

    `owed` collects what the server says to be each pool's fair share of map and reduce slots, as
    parts of all, whenever jobs of all three are there.
    """

    def __init__(
        self, client: Client, arrivals: Sequence[Arrival], show: Callable[[Snapshot], None]
    ) -> None:
        super().__init__(client, arrivals)
        self._questions = sum(arrival.pool == ADHOC for arrival in arrivals)
        self._show = show
        self.applications: dict[str, list[tuple[str, Arrival]]] = {pool: [] for pool in TEAMS}
        self.owed: dict[str, list[tuple[float, float]]] = {pool: [] for pool in TEAMS}

    def hand_in(self, arrival: Arrival) -> None:
        """Submit what is due; the first of each is told."""
        first = not self.applications[arrival.pool]
        application = arrival.job.submit(self.client)
        self.applications[arrival.pool].append((application, arrival))
        if first:
            self.tell(self._arrival_text(arrival))

    def _arrival_text(self, arrival: Arrival) -> str:
        if arrival.pool == ADHOC:
            return f"{ADHOC} begins to ask: {self._questions} small jobs, one after another"
        verb = "takes the idle slots" if arrival.pool == RESEARCH else "arrives"
        return f"{arrival.pool} {verb}: {arrival.job.name}, {arrival.maps} maps"

    def look(self) -> bool:
        """Show how everything stands; whether all is over."""
        client, cluster = self.client, self.client.cluster()
        found = {pool: self._found(pool) for pool in TEAMS}
        self.check(application for pool in TEAMS for application in found[pool])
        pools = {queue.name: queue.pool or PoolFigures() for queue in client.queues()}
        figures = {pool: pools.get(f"root.{pool}", PoolFigures()) for pool in TEAMS}
        slots = cluster.total.get(MAP_SLOTS, 0), cluster.total.get(REDUCE_SLOTS, 0)
        statuses = tuple(self._status(pool, found[pool], figures[pool], slots) for pool in TEAMS)
        self._note(statuses, figures, slots)
        snapshot = Snapshot(
            at_s=self.at_s,
            scheduler=SCHEDULER,
            places=slots[0],
            teams=statuses,
            queries=query_status(found[ADHOC], cluster.now_ms),
            queries_total=self._questions,
            happenings=tuple(self.happenings),
            unit=f"{slots[0]} map slots",
        )
        self._show(snapshot)
        return not self.waiting and all(status.over for status in statuses)

    def _found(self, pool: str) -> list[Application]:
        known = {name for name, _ in self.applications[pool]}
        return [one for one in self.client.applications(user=pool) if one.id in known]

    def _status(
        self,
        pool: str,
        jobs: Sequence[Application],
        figures: PoolFigures,
        slots: tuple[int, int],
    ) -> TeamStatus:
        maps = figures.maps
        coming = any(arrival.pool == pool for arrival in self.waiting)
        over = all(job.over for job in jobs)
        progress = [job.progress for job in jobs if job.progress is not None]
        return TeamStatus(
            name=pool,
            arrived=bool(jobs),
            active=not over,
            over=over and bool(jobs) and not coming,
            has=maps.running / slots[0],
            wants=maps.demand / slots[0],
            owed=maps.fair_share / slots[0],
            containers=sum(job.container_count for job in jobs),
            done=sum(each.succeeded for each in progress),
            total=sum(each.total for each in progress),
            detail=_detail(pool, jobs, figures),
        )

    def _note(
        self,
        statuses: Sequence[TeamStatus],
        figures: dict[str, PoolFigures],
        slots: tuple[int, int],
    ) -> None:
        """What pools are owed while all are there, and what has to be told."""
        if all(status.active for status in statuses):
            for pool, found in figures.items():
                parts = _part(found.maps, slots[0]), _part(found.reduces, slots[1])
                self.owed[pool].append(parts)
        minimum = figures[PRODUCTION].maps.min_share
        if minimum and figures[PRODUCTION].maps.running >= minimum:
            self.tell_once(f"{PRODUCTION} has its minimum of {minimum} map slots")
        for status in statuses:
            if status.over:
                self.tell_once(f"{status.name} has everything done")


def _part(slots: PoolSlots, total: int) -> float:
    return slots.fair_share / total


def _detail(pool: str, jobs: Sequence[Application], figures: PoolFigures) -> str:
    if pool == ADHOC:
        answered = sum(job.over for job in jobs)
        return f"{answered} answered, {len(jobs) - answered} waiting"
    progress = [job.progress for job in jobs if job.progress is not None]
    done = f"tasks {sum(p.succeeded for p in progress)}/{sum(p.total for p in progress)}"
    return f"{done}, {figures.reduces.running} reduces run"
