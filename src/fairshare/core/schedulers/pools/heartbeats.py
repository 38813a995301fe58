"""The heartbeats of both generations (Hadoop: FairScheduler.assignTasks): the node, its slots, and
the event that grants a task.

0.19 and 0.20 serve the job with the largest deficit first: at most one map, then at most one
reduce, or only one of both. 1.2 serves pools by need and share, then their jobs, then by locality;
a job without a map near enough skips the node and waits, for a limited time.
"""

from fairshare.core.model.asks import AskKey
from fairshare.core.model.events import ContainerAllocated, Locality, OffersCounted
from fairshare.core.model.identifiers import ApplicationId, container_id
from fairshare.core.model.nodes import Node
from fairshare.core.model.resources import Resource
from fairshare.core.schedulers.bookings import refusal
from fairshare.core.schedulers.ordering import Entry
from fairshare.core.schedulers.pools.jobs import Job, allowed_level, nearest
from fairshare.core.schedulers.pools.load import NodeLoad, may_launch, may_take
from fairshare.core.schedulers.pools.naming import properties_of
from fairshare.core.schedulers.pools.preemption import timed_out
from fairshare.core.schedulers.pools.service_orders import Entrant, Line, OwedOrders, ShareOrders
from fairshare.core.schedulers.pools.settings import MAP, REDUCE, SLOTS
from fairshare.core.schedulers.pools.state import PoolsState
from fairshare.core.schedulers.pools.tree import Pool, pool_limit
from fairshare.core.schedulers.protocol import Step


class Offer:
    """A node that is ready for tasks. `wanted` counts running and to start, of maps and reduces."""

    def __init__(self, state: PoolsState, step: Step, node: Node, wanted: tuple[int, int]) -> None:
        self.state = state
        self.step = step
        self.node = node
        self.wanted = wanted
        self.refused = self._refused if state.kept else None

    def _refused(self, job: Job, key: AskKey, size: Resource) -> bool:
        """Whether a booking keeps a task from a job."""
        return refusal(self.state, job, key, size, self.step.now_ms) is not None

    def free(self, kind: int) -> int:
        """Free slots of the node."""
        return self.node.available[self.state.places[kind]]

    def running(self, kind: int) -> int:
        """Tasks of a kind on the node."""
        return self.node.used[self.state.places[kind]]

    def load(self, kind: int) -> NodeLoad:
        """The values passed to a load manager."""
        state, place = self.state, self.state.places[kind]
        return NodeLoad(
            node=self.node.name,
            slots=SLOTS[kind],
            node_slots=self.node.total[place],
            node_running=self.running(kind),
            total_slots=state.total[place],
            total_running=state.used[place],
            wanted=self.wanted[kind],
            nodes=len(state.nodes),
            largest_difference=state.settings.load_max_difference,
        )

    def may_take(self, kind: int) -> bool:
        """Whether the node has a free slot that the load manager allows to be used."""
        settings = self.state.settings
        return self.free(kind) > 0 and may_take(
            settings.load_manager, settings.generation, self.load(kind)
        )

    def grant(self, job: Job, key: AskKey, level: Locality) -> None:
        """Grant a job a task."""
        assert key.anywhere is not None
        self.step.emit(
            ContainerAllocated(
                container_id(job.id, job.number, job.next_container),
                job.id,
                self.node.name,
                key.anywhere.resource,
                *key.order,
                level,
                job.master is None and job.managed,
                False,
                self.step.now_ms,
            )
        )


def run(state: PoolsState, step: Step, node: Node) -> None:
    """Serve one heartbeat."""
    lines = _lines(state)
    offer = Offer(state, step, node, lines.wanted)
    for kind in (MAP, REDUCE):
        served = offer.may_take(kind) and _serve(offer, lines.of_kind[kind], kind)
        if served and not state.settings.assigns_multiple:
            return


def _lines(state: PoolsState) -> OwedOrders:
    if not isinstance(state.lines, OwedOrders):
        state.lines = OwedOrders(state)
    return state.lines


def _serve(offer: Offer, line: Line, kind: int) -> bool:
    """Grant one task to the first job that has one for this node. A job without one leaves the
    order temporarily, during which it does not change."""
    place = offer.state.places[kind]
    aside: list[tuple[Entrant, Entry]] = []
    while (entrant := line.first()) is not None:
        job = entrant.member
        assert isinstance(job, Job)
        assert entrant.entry is not None
        found = nearest(job, place, offer.node, refused=offer.refused)
        if found is not None:
            offer.grant(job, *found)
            break
        aside.append((entrant, entrant.entry))
        line.leave(entrant)
    for passed_over, entry in aside:
        line.enter_again(passed_over, entry)
    return entrant is not None


class ShareHeartbeat:
    """One heartbeat of one node."""

    def __init__(self, state: PoolsState, step: Step, node: Node) -> None:
        self.state = state
        self.now_ms = step.now_ms
        self._step = step
        maps, reduces = state.root.slots
        self._offer = Offer(state, step, node, (maps.demand, reduces.demand))
        if not isinstance(state.lines, ShareOrders) or not state.lines.hold(step.now_ms):
            state.lines = ShareOrders(state, step.now_ms)
        self._lines = state.lines
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
        for number, job in sorted({**self.state.waiting, **self._visited}.items()):
            passed_over = number in self._visited and number not in self._launched
            waited_ms = self._waited_ms.get(number, job.waited_ms)
            if (passed_over, waited_ms) != (job.passed_over, job.waited_ms):
                self._step.emit(OffersCounted(number, 0, 0, int(passed_over), job.level, waited_ms))

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
        farthest = Locality.OFF_SWITCH
        if kind == MAP and not (job.unlocated or any(timed_out(state, pool, MAP, self.now_ms))):
            waited_ms = self._waited_ms.get(job.id, job.waited_ms)
            farthest = allowed_level(job.level, waited_ms, *state.delays_ms)
        ask_and_level = nearest(job, place, offer.node, farthest, offer.refused)
        if ask_and_level is None:
            return False
        offer.grant(job, *ask_and_level)
        if kind == MAP:
            self._launched[job.id] = job
            self._waited_ms.pop(job.id, None)
        return True


def tasks_per_heartbeat(multiple: bool, cap: int, free: int) -> int:
    """The most tasks of a kind that one heartbeat may grant; a cap of -1 means none
    (Hadoop: FairScheduler.maxTasksToAssign).

    >>> tasks_per_heartbeat(True, 2, 5), tasks_per_heartbeat(False, 5, 3)
    (2, 1)
    """
    if not multiple:
        return 1
    return free if cap == -1 else min(cap, free)
