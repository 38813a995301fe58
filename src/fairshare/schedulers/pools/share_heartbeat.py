"""Owns the heartbeats of 1.2: pools by need and share, their jobs, then locality.

A job without a map near enough skips the node and waits, for a limited time
(Hadoop: FairScheduler.assignTasks).
"""

from fairshare.model.events import Locality, OffersCounted
from fairshare.model.identifiers import ApplicationId
from fairshare.model.nodes import Node
from fairshare.schedulers.ordering import Entry
from fairshare.schedulers.pools.grants import Offer
from fairshare.schedulers.pools.jobs import Job
from fairshare.schedulers.pools.limits import pool_limit
from fairshare.schedulers.pools.load import may_launch
from fairshare.schedulers.pools.locality import allowed_level, nearest
from fairshare.schedulers.pools.naming import properties_of
from fairshare.schedulers.pools.service_orders import Entrant, Line, ShareOrders
from fairshare.schedulers.pools.settings import MAP, REDUCE
from fairshare.schedulers.pools.starvation import impatient
from fairshare.schedulers.pools.state import PoolsState
from fairshare.schedulers.pools.tree import Pool
from fairshare.schedulers.protocol import Step


class ShareHeartbeat:
    """One heartbeat of one node."""

    def __init__(self, state: PoolsState, step: Step, node: Node) -> None:
        self.state = state
        self.now_ms = step.now_ms
        self._step = step
        maps, reduces = state.root.slots
        self._offer = Offer(state, step, node, (maps.demand, reduces.demand))
        self._lines = self._lines_now()
        self._aside: list[tuple[Line, Entrant, Entry, int]] = []
        # The time since the last heartbeat counts for those that it passed over
        # (Hadoop: FairScheduler.updateLocalityWaitTimes).
        self._waited_ms: dict[ApplicationId, int] = {
            job.id: job.waited_ms + step.now_ms - state.beat_ms for job in state.waiting.values()
        }
        self._visited: dict[ApplicationId, Job] = {}
        self._launched: dict[ApplicationId, Job] = {}

    def run(self) -> None:
        """Grant tasks, then record which jobs were passed over
        (Hadoop: FairScheduler.assignTasks)."""
        settings = self.state.settings
        most = (self._most(MAP), self._most(REDUCE))
        assigned = [0, 0]
        open_kinds = [True, True]
        while True:
            for kind in (MAP, REDUCE):
                place = self.state.places[kind]
                open_kinds[kind] = (
                    open_kinds[kind]
                    and assigned[kind] < most[kind]
                    and self.state.used[place] != self._offer.wanted[kind]
                    and self._offer.may_take(kind)
                )
            if not any(open_kinds) or (any(assigned) and not settings.assigns_multiple):
                break
            kind = self._choose(open_kinds)
            if self._serve(self.state.root, kind):
                assigned[kind] += 1
            else:
                open_kinds[kind] = False
        for line, entrant, entry, kind in self._aside:  # a pool comes after its jobs
            self._lines.enter_again(line, entrant, entry, kind)
        self._take_note()

    def _lines_now(self) -> ShareOrders:
        state = self.state
        if not isinstance(state.lines, ShareOrders) or not state.lines.hold(self.now_ms):
            state.lines = ShareOrders(state, self.now_ms)
        return state.lines

    def _most(self, kind: int) -> int:
        settings = self.state.settings
        caps = (settings.maps_per_heartbeat, settings.reduces_per_heartbeat)
        return tasks_per_heartbeat(settings.assigns_multiple, caps[kind], self._offer.free(kind))

    def _choose(self, open_kinds: list[bool]) -> int:
        """The kind that the node has fewer tasks of, so that neither starves the other."""
        if all(open_kinds):
            return MAP if self._offer.running(MAP) <= self._offer.running(REDUCE) else REDUCE
        return MAP if open_kinds[MAP] else REDUCE

    def _serve(self, pool: Pool, kind: int) -> bool:
        """Grant one task to the first job or pool that has one; one without leaves the order until
        the end of the heartbeat."""
        if pool.used[self.state.places[kind]] >= pool_limit(self.state, pool, kind):
            return False
        line = self._lines.line(pool, kind)
        while (entrant := line.first()) is not None:
            member = entrant.member
            if isinstance(member, Job):
                served = self._offer_to(member, kind, pool)
            else:
                served = self._serve(member, kind)
            if served:
                return True
            assert entrant.entry is not None
            self._aside.append((line, entrant, entrant.entry, kind))
            line.leave(entrant)
        return False

    def _offer_to(self, job: Job, kind: int, pool: Pool) -> bool:
        """Whether a job takes a slot of the node (Hadoop: JobSchedulable.assignTask)."""
        state, offer = self.state, self._offer
        if kind == MAP:
            self._visited[job.id] = job
        manager = state.settings.load_manager
        if not may_launch(manager, offer.load(kind), job.id, properties_of(job.submission)):
            return False
        place = state.places[kind]
        if job.used[place] >= job.limits[kind]:
            return False
        farthest = self._allowed(job, pool) if kind == MAP else Locality.OFF_SWITCH
        found = nearest(job, place, offer.node, farthest)
        if found is None:
            return False
        offer.grant(job, *found)
        if kind == MAP:
            self._launched[job.id] = job
            self._waited_ms.pop(job.id, None)
        return True

    def _allowed(self, job: Job, pool: Pool) -> Locality:
        if job.unlocated or any(impatient(self.state, pool, MAP, self.now_ms)):
            return Locality.OFF_SWITCH
        waited_ms = self._waited_ms.get(job.id, job.waited_ms)
        return allowed_level(job.level, waited_ms, *self.state.delays_ms)

    def _take_note(self) -> None:
        for number, job in sorted({**self.state.waiting, **self._visited}.items()):
            passed_over = number in self._visited and number not in self._launched
            waited_ms = self._waited_ms.get(number, job.waited_ms)
            if (passed_over, waited_ms) != (job.passed_over, job.waited_ms):
                self._step.emit(OffersCounted(number, 0, 0, int(passed_over), job.level, waited_ms))


def tasks_per_heartbeat(multiple: bool, cap: int, free: int) -> int:
    """The most tasks of a kind that one heartbeat may grant; a cap of -1 means none
    (Hadoop: FairScheduler.maxTasksToAssign).

    >>> tasks_per_heartbeat(True, 2, 5), tasks_per_heartbeat(False, 5, 3)
    (2, 1)
    """
    if not multiple:
        return 1
    return free if cap == -1 else min(cap, free)
