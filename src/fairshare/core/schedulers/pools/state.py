"""The pool scheduler's state: pools, jobs, and the times of the last update and checks.

An update is an event (`SharesUpdated`); its values are computed here from the state before it, so
that a recovery computes the same.
"""

import msgspec

from fairshare.core.model.applications import Application
from fairshare.core.model.events import (
    ApplicationEnded,
    ApplicationMoved,
    ApplicationSubmitted,
    AsksChanged,
    AttemptEnded,
    AttemptStarted,
    ConfigurationLoaded,
    ContainerAllocated,
    ContainerCompleted,
    Event,
    MasterStarted,
    NodeAdded,
    NodeRemoved,
    NodeTotalChanged,
    OffersCounted,
    PriorityChanged,
    QueueCreated,
    SharesUpdated,
    StarvationServed,
)
from fairshare.core.model.identifiers import ApplicationId, application_of
from fairshare.core.model.nodes import Handlers
from fairshare.core.model.queues import ROOT
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.state import ClusterState
from fairshare.core.model.work import ANYWHERE
from fairshare.core.schedulers.pools import deficits, preemption, sharing
from fairshare.core.schedulers.pools.jobs import Job, delays_ms
from fairshare.core.schedulers.pools.naming import slow_start_of, task_limits_of
from fairshare.core.schedulers.pools.service_orders import OwedOrders, ShareOrders
from fairshare.core.schedulers.pools.settings import (
    MAP,
    MAP_SLOTS,
    REDUCE,
    REDUCE_SLOTS,
    PoolsSettings,
)
from fairshare.core.schedulers.pools.tree import Pool, pool_of, queue_of

KINDS = (MAP, REDUCE)


class PoolsState(ClusterState[Pool, Job]):
    """The cluster as the pool scheduler sees it.

    `places` are those of map slots and reduce slots in a vector. `jobs` are the live ones, and
    those that have ended since the last update. `changed`: an update would compute other values;
    `arrived`: a job was added for which no update has run yet. `beat_ms` is the last heartbeat of
    any node that passed a job over, `checked_ms` the last check of the preemption. `given` has the
    limits on tasks and the slow start of each application that is not over, by the settings at its
    submission. `lines` are derived from the state, and built by the first heartbeat that
    needs them.
    """

    updates_admit = True

    def __init__(self, types: ResourceTypes) -> None:
        super().__init__(types)
        self.settings = PoolsSettings(types=types)
        self.places = (types.names.index(MAP_SLOTS), types.names.index(REDUCE_SLOTS))
        self.root = Pool(ROOT, False, None, len(self.none))
        self.jobs: dict[ApplicationId, Job] = {}
        self.given: dict[ApplicationId, tuple[tuple[int, int], float]] = {}
        self.waiting: dict[ApplicationId, Job] = {}  # those that the last heartbeat passed over
        self.delays_ms = (0, 0)
        self.changed = False
        self.arrived = False
        self.updated_ms = 0
        self.beat_ms = 0
        self.checked_ms = 0
        self.lines: OwedOrders | ShareOrders | None = None

    def new_attempt(self, application: Application, number: int) -> Job:
        """An attempt of a job."""
        job = Job(application, number, len(self.none))
        job.limits, job.slow_start = self.given[application.id]
        return job

    def ancestry(self, queue: str) -> tuple[Pool, ...]:
        """A pool and all pools around it."""
        return self.queues[queue].path

    def kind_of(self, event: ContainerAllocated) -> int:
        """Whether a container is a map or a reduce."""
        return MAP if event.resource[self.places[MAP]] else REDUCE

    def derive(self) -> None:
        """Restore derived values, which are not part of a snapshot."""
        super().derive()
        self.lines = None

    def event_handlers(self) -> Handlers:
        """The handlers of the base class and of this scheduler."""
        return {
            **super().event_handlers(),
            SharesUpdated: self._shares_updated,
            StarvationServed: self._preemption_checked,
        }

    def weight_of(self, queue: Pool) -> float:
        """The weight of the file."""
        return self.settings.allocation(pool_of(queue.name)).weight

    def orders_users_by_past(self, leaf: Pool) -> bool:
        """In fair pools of 1.2."""
        return leaf.mode == "fair" and not self.settings.deficits

    def charges_changed(self) -> None:
        """The orders follow; those of deficits have a memory of their own."""
        self.lines = None

    def _reconsider(self, job: Job, kinds: tuple[int, ...] = KINDS) -> None:
        if self.lines is not None:
            self.lines.reconsider(job, kinds)

    def new_queue(self, name: str, leaf: bool, dynamic: bool) -> Pool:
        """An empty pool, inside the one around it."""
        if name == ROOT:
            return self.root
        parent = self.root
        if self.settings.hierarchical and "." in pool_of(name):
            parent = self.queues[queue_of(pool_of(name).rpartition(".")[0])]
        return Pool(name, dynamic, parent, len(self.none))

    # Configuration and pools.

    def _configuration_loaded(self, now_ms: int, event: ConfigurationLoaded) -> None:
        first = ROOT not in self.queues
        self.settings = msgspec.json.decode(event.settings, type=PoolsSettings)
        super()._configuration_loaded(now_ms, event)
        if first:
            self.updated_ms = self.checked_ms = now_ms
        for name, pool in self.queues.items():
            if pool_of(name) in self.settings.allocations.pools:
                pool.mode = self.settings.mode(pool_of(name))
        self.lines = None
        self.changed = True

    def _queue_created(self, now_ms: int, event: QueueCreated) -> None:
        super()._queue_created(now_ms, event)
        pool = self.queues[event.queue]
        pool.mode = self.settings.mode(pool.pool)
        for slots in pool.slots:
            slots.at_min_share_ms = slots.at_half_share_ms = now_ms
        self.lines = None

    # Jobs.

    def _application_submitted(self, now_ms: int, event: ApplicationSubmitted) -> None:
        super()._application_submitted(now_ms, event)
        self.given[event.application] = (
            task_limits_of(self.settings, event.submission),
            slow_start_of(self.settings, event.submission),
        )

    def _application_ended(self, now_ms: int, event: ApplicationEnded) -> None:
        super()._application_ended(now_ms, event)
        del self.given[event.application]

    def _attempt_started(self, now_ms: int, event: AttemptStarted) -> None:
        super()._attempt_started(now_ms, event)
        job = self.attempts[event.application]
        self.jobs[job.id] = self.queues[job.queue].jobs[job.id] = job
        self.lines = None
        self.changed = self.arrived = True

    def _attempt_ended(self, now_ms: int, event: AttemptEnded) -> None:
        job = self.attempts[event.application]
        super()._attempt_ended(now_ms, event)
        job.passed_over = False
        self.waiting.pop(job.id, None)
        self._reconsider(job)
        self.changed = True

    def _application_moved(self, now_ms: int, event: ApplicationMoved) -> None:
        job = self.attempts[event.application]
        self.queues[job.queue].jobs.pop(job.id, None)
        super()._application_moved(now_ms, event)
        self.queues[job.queue].jobs[job.id] = job
        self.lines = None
        self.changed = True

    def _priority_changed(self, now_ms: int, event: PriorityChanged) -> None:
        super()._priority_changed(now_ms, event)
        job = self.attempts.get(event.application)
        if job is not None:
            self._reconsider(job)
        self.changed = True

    def _master_started(self, now_ms: int, event: MasterStarted) -> None:
        super()._master_started(now_ms, event)
        self.changed = True

    def _asks_changed(self, now_ms: int, event: AsksChanged) -> None:
        super()._asks_changed(now_ms, event)
        self.changed = True
        job = self.attempts[event.application]
        for request in event.requests:
            if (
                request.location == ANYWHERE
                and request.count
                and request.resource[self.places[MAP]]
            ):
                key = job.asks.keys.get((request.priority, request.request))
                job.unlocated |= key is not None and not key.places
        self._reconsider(job)

    # Containers and nodes.

    def _container_allocated(self, now_ms: int, event: ContainerAllocated) -> None:
        ClusterState._container_allocated(self, now_ms, event)
        job = self.attempts[event.application]
        kind = self.kind_of(event)
        if self.settings.deficits:
            job.slots[kind].running += 1
            job.slots[kind].needed -= 1
        if job.first_task_ms is None:
            job.first_task_ms = now_ms
        if kind == MAP:
            job.level, job.waited_ms = event.locality, 0
        self._reconsider(job, (kind,))

    def _container_completed(self, now_ms: int, event: ContainerCompleted) -> None:
        job = self.attempts[application_of(event.container)]
        record = job.containers[event.container]
        ClusterState._container_completed(self, now_ms, event)
        kind = self.kind_of(record)
        if event.exit_code == 0 and event.container != job.master:
            job.finished[kind] += 1
        self._reconsider(job, (kind,))
        self.changed = True

    def _offers_counted(self, now_ms: int, event: OffersCounted) -> None:
        """A heartbeat passed a job over, or no longer does; `since_ms`: how long it has waited."""
        job = self.attempts[event.application]
        job.passed_over = event.opportunities > 0
        job.waited_ms = event.since_ms
        self.beat_ms = now_ms
        if job.passed_over:
            self.waiting[job.id] = job
        else:
            self.waiting.pop(job.id, None)

    def _node_added(self, now_ms: int, event: NodeAdded) -> None:
        super()._node_added(now_ms, event)
        self.changed = True

    def _node_removed(self, now_ms: int, event: NodeRemoved) -> None:
        super()._node_removed(now_ms, event)
        self.changed = True

    def _node_total_changed(self, now_ms: int, event: NodeTotalChanged) -> None:
        super()._node_total_changed(now_ms, event)
        self.changed = True

    # Updates and checks.

    def _shares_updated(self, now_ms: int, event: Event) -> None:
        """The whole update, in the order of the generation (Hadoop: FairScheduler.update)."""
        for job in list(self.jobs.values()):
            if not job.active:
                del self.jobs[job.id]
                self.queues[job.queue].jobs.pop(job.id, None)
        if self.settings.deficits:
            deficits.update(self, now_ms)
        else:
            self.delays_ms = delays_ms(self.settings, len(self.nodes))
            sharing.update(self, now_ms)
            if self.settings.preemption or not self.settings.strict:
                preemption.note(self, now_ms)
        self.updated_ms = now_ms
        self.lines = None
        self.changed = self.arrived = False

    def _preemption_checked(self, now_ms: int, event: Event) -> None:
        self.checked_ms = now_ms
