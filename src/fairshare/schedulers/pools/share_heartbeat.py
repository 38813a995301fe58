"""Owns what 1.2 does when a node is ready: pools by need and share, in them jobs, then locality.

A job that has no map near enough lets the node pass by and waits, for a while
(spec/mapreduce.md 12).
"""

from heapq import heapify, heappop, heapreplace

from fairshare.model.events import Locality, OffersCounted
from fairshare.model.identifiers import ApplicationId
from fairshare.model.nodes import Node
from fairshare.schedulers.pools.grants import Offer
from fairshare.schedulers.pools.jobs import Job
from fairshare.schedulers.pools.limits import first_come, pool_limit
from fairshare.schedulers.pools.load import may_launch
from fairshare.schedulers.pools.locality import allowed_level, nearest
from fairshare.schedulers.pools.naming import properties_of
from fairshare.schedulers.pools.settings import MAP, REDUCE
from fairshare.schedulers.pools.sharing import job_weight, min_share
from fairshare.schedulers.pools.starvation import impatient
from fairshare.schedulers.pools.state import PoolsState
from fairshare.schedulers.pools.tree import Pool
from fairshare.schedulers.protocol import Step

Rank = tuple[int, float, int, str, int]


def fair_rank(
    running: int, demand: int, least: int, weight: float, start_ms: int, name: str, number: int = 0
) -> Rank:
    """The fair order as a sort key: the needy by the part they have, then by running per weight.

    Equal ones by start, then by name (10.6). Nothing is heavier than what has no weight. Example:
    50 of a minimum of 100 goes before 8 of a minimum of 10.
    """
    minimum = min(least, demand)
    if running < minimum:
        return 0, running / max(minimum, 1), start_ms, name, number
    return 1, running / weight if weight > 0.0 else float("inf"), start_ms, name, number


class Line:
    """Who is in a pool, in the order of service; who had nothing for this node has left it."""

    def __init__(self, heartbeat: "ShareHeartbeat", pool: Pool, kind: int) -> None:
        self._heartbeat = heartbeat
        self._kind = kind
        self._place = heartbeat.state.places[kind]
        self.pool = pool
        members: list[Pool | Job] = [*pool.parts, *pool.jobs.values()]
        self._members = members
        self.heap = [(self._rank(member), index) for index, member in enumerate(members)]
        heapify(self.heap)
        self._lines: dict[str, Line] = {}

    def _rank(self, member: Pool | Job) -> Rank:
        state, kind = self._heartbeat.state, self._kind
        running, demand = member.used[self._place], member.slots[kind].demand
        if isinstance(member, Pool):
            weight = state.settings.allocation(member.pool).weight
            least = min_share(state, member, kind)
            return fair_rank(running, demand, least, weight, 0, member.pool)
        if self.pool.mode == "fifo":
            urgency, start_ms, number = first_come(member)
            return 2, float(urgency), start_ms, "", number
        weight = job_weight(state, member, kind, self._heartbeat.now_ms)
        return fair_rank(running, demand, 0, weight, member.submitted_ms, "", member.id)

    def serve(self) -> bool:
        """One task for whoever stands first and has one."""
        pool = self.pool
        if pool.used[self._place] >= pool_limit(self._heartbeat.state, pool, self._kind):
            return False
        while self.heap:
            index = self.heap[0][1]
            member = self._members[index]
            if self._serve(member):
                heapreplace(self.heap, (self._rank(member), index))
                return True
            heappop(self.heap)
        return False

    def _serve(self, member: Pool | Job) -> bool:
        if isinstance(member, Job):
            return self._heartbeat.offer_to(member, self._kind, self.pool)
        line = self._lines.get(member.name)
        if line is None:
            line = self._lines[member.name] = Line(self._heartbeat, member, self._kind)
        return line.serve()


class ShareHeartbeat:
    """One heartbeat of one node."""

    def __init__(self, state: PoolsState, step: Step, node: Node) -> None:
        self.state = state
        self.now_ms = step.now_ms
        self._step = step
        demands = [sum(pool.slots[kind].demand for pool in state.root.parts) for kind in (0, 1)]
        self._offer = Offer(state, step, node, (demands[MAP], demands[REDUCE]))
        # The time since the last heartbeat counts for those that it passed over (12.5).
        self._waited_ms: dict[ApplicationId, int] = {
            job.id: job.waited_ms + step.now_ms - state.beat_ms for job in state.waiting.values()
        }
        self._visited: dict[ApplicationId, Job] = {}
        self._launched: dict[ApplicationId, Job] = {}

    def run(self) -> None:
        """Hand out tasks, then take note of who let the node pass by (12.1)."""
        settings = self.state.settings
        most = (self._most(MAP), self._most(REDUCE))
        assigned = [0, 0]
        open_kinds = [True, True]
        lines = [Line(self, self.state.root, kind) for kind in (MAP, REDUCE)]
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
            if lines[kind].serve():
                assigned[kind] += 1
            else:
                open_kinds[kind] = False
        self._take_note()

    def _most(self, kind: int) -> int:
        settings = self.state.settings
        caps = (settings.maps_per_heartbeat, settings.reduces_per_heartbeat)
        return tasks_per_heartbeat(settings.assigns_multiple, caps[kind], self._offer.free(kind))

    def _choose(self, open_kinds: list[bool]) -> int:
        """The kind that the node has fewer tasks of, so that neither starves the other."""
        if all(open_kinds):
            return MAP if self._offer.running(MAP) <= self._offer.running(REDUCE) else REDUCE
        return MAP if open_kinds[MAP] else REDUCE

    def offer_to(self, job: Job, kind: int, pool: Pool) -> bool:
        """Whether a job takes a slot of the node (12.2)."""
        state, offer = self.state, self._offer
        if not job.runnable:
            return False
        if kind == MAP:
            self._visited[job.id] = job
        manager = state.settings.load_manager
        if not may_launch(manager, offer.load(kind), job.id, properties_of(job.submission)):
            return False
        place = state.places[kind]
        if job.used[place] >= job.limits[kind]:
            return False
        if kind == REDUCE and not job.slots[REDUCE].demand:
            return False  # its maps have not come far enough
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
    """The most tasks of a kind that one heartbeat may hand out; a cap of -1 is none (12.1).

    >>> tasks_per_heartbeat(True, 2, 5), tasks_per_heartbeat(False, 5, 3)
    (2, 1)
    """
    if not multiple:
        return 1
    return free if cap == -1 else min(cap, free)
