"""The orders of service of jobs and pools, updated when tasks start and end.

The orders follow from the state, so no snapshot contains them. They are rebuilt after an update and
after any event that concerns more than one job; a task that starts or ends only moves its own job
and the pools around it, which costs O(log n) of the jobs and pools.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.schedulers.ordering import Entry, Order
from fairshare.core.schedulers.pools.jobs import Job
from fairshare.core.schedulers.pools.settings import MAP, REDUCE
from fairshare.core.schedulers.pools.sharing import job_weight, min_share
from fairshare.core.schedulers.pools.tree import Pool, first_come
from fairshare.core.schedulers.pools.weights import steady_until_ms

if TYPE_CHECKING:
    from fairshare.core.schedulers.pools.state import PoolsState

Rank = tuple[int, float, int, str, int]


class Entrant:
    """A job or pool in the order of one kind of slots."""

    __slots__ = ("entry", "member", "rank")

    def __init__(self, member: Job | Pool) -> None:
        self.member = member
        self.rank = 0
        self.entry: Entry | None = None


Line = Order[Entrant]


def most_owed(place: int, kind: int) -> Callable[[Job], tuple[int, ...]]:
    """The order of deficits: jobs below their minimum first, then by deficit
    (Hadoop: FairScheduler.DeficitComparator)."""

    def key(job: Job) -> tuple[int, ...]:
        slots = job.slots[kind]
        needy = job.used[place] < slots.min
        return not needy, -slots.deficit, job.submitted_ms, job.id

    return key


def fair_rank(
    running: int,
    demand: int,
    least: int,
    weight: float,
    start_ms: int,
    name: str,
    number: int = 0,
    charge: int = 0,
) -> Rank:
    """The fair order as a sort key: siblings below their minimum by its used part, then by running
    tasks per weight, with what is charged for tasks of the past.

    Ties are broken by start, then by name (Hadoop: SchedulingAlgorithms.FairShareComparator).
    Weight 0 comes last. Example: 50 of a minimum of 100 goes before 8 of a minimum of 10.
    """
    minimum = min(least, demand)
    if running < minimum:
        return 0, running / max(minimum, 1), start_ms, name, number
    return 1, (running + charge) / weight if weight > 0.0 else float("inf"), start_ms, name, number


class OwedOrders:
    """The orders of 0.19 and 0.20: all jobs with tasks to start, one order for each kind.

    `wanted` counts the tasks of all jobs, running and to start, as of the last update: starting a
    task does not change it.
    """

    def __init__(self, state: "PoolsState") -> None:
        self._entrants: dict[ApplicationId, tuple[Entrant, Entrant]] = {}
        jobs = list(state.jobs.values())
        maps, reduces = (sum(job.slots[kind].wanted for job in jobs) for kind in (MAP, REDUCE))
        self.wanted = (maps, reduces)
        self.of_kind = (self._line(state, MAP), self._line(state, REDUCE))
        for job in jobs:
            both = self._entrants[job.id] = (Entrant(job), Entrant(job))
            for line, entrant in zip(self.of_kind, both, strict=True):
                line.append(entrant)
            self.reconsider(job)

    @staticmethod
    def _line(state: "PoolsState", kind: int) -> Line:
        key = first_come if state.settings.fifo else most_owed(state.places[kind], kind)

        def entry(entrant: Entrant) -> Entry:
            assert isinstance(entrant.member, Job)
            return (*key(entrant.member), entrant.rank)

        return Order(entry, False)

    def reconsider(self, job: Job, kinds: tuple[int, ...] = (MAP, REDUCE)) -> None:
        """Move a job to its present position; a job that was added later is in no order yet."""
        if (both := self._entrants.get(job.id)) is None:
            return
        for kind in kinds:
            if job.running and job.slots[kind].needed > 0:
                self.of_kind[kind].moved(both[kind])
            else:
                self.of_kind[kind].leave(both[kind])


class ShareOrders:
    """The orders of 1.2: each pool's jobs and inner pools, one order for each kind.

    A pool is in the order around it while its own is not empty. Weights may change with time alone:
    the orders are valid before `until_ms` (None: without limit).
    """

    def __init__(self, state: "PoolsState", now_ms: int) -> None:
        self._state = state
        self._now_ms = now_ms
        self.until_ms: int | None = None
        self._jobs: dict[ApplicationId, tuple[Entrant, Entrant]] = {}
        self._pools: dict[str, tuple[Entrant, Entrant]] = {}
        self._lines: dict[str, tuple[Line, Line]] = {}
        self._least: dict[str, tuple[int, int]] = {}
        self._enter(state.root)

    def _enter(self, pool: Pool) -> None:
        state = self._state
        lines = self._lines[pool.name] = (self._line(pool, MAP), self._line(pool, REDUCE))
        self._least[pool.name] = (min_share(state, pool, MAP), min_share(state, pool, REDUCE))
        for part in pool.parts:
            self._enter(part)
            self._pools[part.name] = self._appended(lines, part)
        for job in pool.jobs.values():
            self._jobs[job.id] = self._appended(lines, job)
            for kind in (MAP, REDUCE):
                self._place_job(job, kind, lines[kind])
        for part in pool.parts:
            for kind in (MAP, REDUCE):
                self._place_pool(part, pool, kind)

    @staticmethod
    def _appended(lines: tuple[Line, Line], member: Job | Pool) -> tuple[Entrant, Entrant]:
        both = Entrant(member), Entrant(member)
        for line, entrant in zip(lines, both, strict=True):
            line.append(entrant)
        return both

    def _line(self, pool: Pool, kind: int) -> Line:
        state, place = self._state, self._state.places[kind]

        def entry(entrant: Entrant) -> Entry:
            member = entrant.member
            running, demand = member.used[place], member.slots[kind].demand
            if isinstance(member, Pool):
                weight = state.settings.allocation(member.pool).weight
                least = self._least[member.name][kind]
                charge = 0 if member.charge is None else member.charge[place]
                rank = fair_rank(running, demand, least, weight, 0, member.pool, 0, charge)
            elif pool.mode == "fifo":
                urgency, start_ms, number = first_come(member)
                rank = 2, float(urgency), start_ms, "", number
            else:
                weight = job_weight(state, member, kind, self._now_ms)
                past = pool.charges.get(member.user)
                charge = 0 if past is None else past[place]
                start_ms = member.submitted_ms
                rank = fair_rank(running, demand, 0, weight, start_ms, "", member.id, charge)
            return (*rank, entrant.rank)

        return Order(entry, False)

    def line(self, pool: Pool, kind: int) -> Line:
        """The jobs and pools of a pool that may be served."""
        return self._lines[pool.name][kind]

    def hold(self, now_ms: int) -> bool:
        """Whether the orders are still valid at a time."""
        return self.until_ms is None or now_ms < self.until_ms

    def reconsider(self, job: Job, kinds: tuple[int, ...] = (MAP, REDUCE)) -> None:
        """Move a job and the pools around it to their present positions."""
        if job.id not in self._jobs:
            return  # it was added later; the next update rebuilds the orders
        around = self._state.queues[job.queue].path
        for kind in kinds:
            self._place_job(job, kind, self.line(around[0], kind))
            for pool, parent in pairwise(around):
                self._place_pool(pool, parent, kind)

    def _place_job(self, job: Job, kind: int, line: Line) -> None:
        """Runnable jobs are in the order for maps even without maps to start, since being passed
        over by a node counts (Hadoop: FairScheduler.updateLocalityWaitTimes). They are in the order
        for reduces only while some of these may start."""
        if not job.runnable or (kind == REDUCE and not job.slots[REDUCE].demand):
            line.leave(self._jobs[job.id][kind])
            return
        until_ms = steady_until_ms(self._state.settings, job, self._now_ms)
        if until_ms is not None and (self.until_ms is None or until_ms < self.until_ms):
            self.until_ms = until_ms
        line.moved(self._jobs[job.id][kind])

    def _place_pool(self, pool: Pool, parent: Pool, kind: int) -> None:
        line, entrant = self.line(parent, kind), self._pools[pool.name][kind]
        if self.line(pool, kind).first() is None:
            line.leave(entrant)
        else:
            line.moved(entrant)

    def enter_again(self, line: Line, entrant: Entrant, entry: Entry, kind: int) -> None:
        """Put back a job or pool that had no task for one node, unless it has none for any."""
        member = entrant.member
        if isinstance(member, Pool):
            stays = self.line(member, kind).first() is not None
        else:
            stays = kind == MAP or member.pending(self._state.places[kind]) > 0
        if stays and entrant.entry is None:
            line.enter_again(entrant, entry)
