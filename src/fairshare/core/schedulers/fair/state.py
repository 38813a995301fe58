"""The Fair Scheduler's state: its data, what events change beyond the common state, and the orders.

The same handlers update the orders, which follow from the state. Shares and demand are computed
when an event requires it.
"""

from fairshare.core.model.applications import Application
from fairshare.core.model.events import (
    ApplicationAdmitted,
    ApplicationEnded,
    ApplicationMoved,
    ApplicationSubmitted,
    AsksChanged,
    AttemptEnded,
    AttemptStarted,
    BlacklistChanged,
    ConfigurationLoaded,
    ContainerAllocated,
    ContainerCompleted,
    ContainerMarked,
    ContainerReserved,
    ExitCode,
    Locality,
    NodeAdded,
    NodeRemoved,
    NodeTotalChanged,
    PreemptedRoomChanged,
    QueueCreated,
    QueueRemoved,
    QueuesConfigured,
    SharesUpdated,
    StarvationServed,
)
from fairshare.core.model.identifiers import ApplicationId, ContainerId, application_of
from fairshare.core.model.nodes import Handlers, Node
from fairshare.core.model.queues import ROOT, parent_name
from fairshare.core.model.resources import Resource, ResourceTypes, add, fits, subtract
from fairshare.core.model.state import ClusterState
from fairshare.core.schedulers.fair import orders, sharing, starvation, tree
from fairshare.core.schedulers.fair.attempts import FairAttempt
from fairshare.core.schedulers.fair.containers import Tables
from fairshare.core.schedulers.fair.limits import Users
from fairshare.core.schedulers.fair.queues import FairQueue
from fairshare.core.schedulers.fair.settings import FairSettings
from fairshare.core.schedulers.fair.tree import QueueConversionPending

_PREEMPTED = ExitCode.PREEMPTED  # looking it up costs time


class FairState(ClusterState[FairQueue, FairAttempt]):
    """The cluster as the Fair Scheduler sees it.

    `changed` holds the applications whose demand may have changed since the last update;
    `steady_stale`: the next update computes the steady shares.
    """

    def __init__(self, types: ResourceTypes) -> None:
        super().__init__(types)
        self.settings = FairSettings(types=types)
        self.changed: dict[ApplicationId, None] = {}
        self.stale_demand: dict[str, None] = {}  # queues whose demand must be summed again
        self.shares_stale = True
        self.steady_stale = True
        self.starts = 0
        self.users = Users()
        self.reservable: Resource = types.none
        self.starved: list[ApplicationId] = []  # found by the last check, in order
        self.kills: dict[ContainerId, int] = {}  # marked containers, and when they are due
        self.conversions: dict[str, bool] = {}  # pending ones; whether it shall be a leaf
        self.started_ms: int | None = None
        self.tables = Tables()

    @property
    def root(self) -> FairQueue:
        return self.queues[ROOT]

    def new_attempt(self, application: Application, number: int) -> FairAttempt:
        """An attempt in the leaf of its application."""
        return FairAttempt(application, number, self.queues[application.queue])

    def keeps_reservation(self, node: Node) -> bool:
        """Whether a reservation, with neither a limit nor a place in play, waits for room
        (`Heartbeat._serve_reservation`)."""
        reservation = node.reservation
        if reservation is None or node.promised or node.name in self.drains:
            return False
        if not reservation.whole:  # others may get what it does not keep
            return False
        if fits(reservation.resource, node.available):
            return False
        attempt = self.attempts.get(reservation.application)
        if attempt is None or attempt.charged or attempt.leaf.bounded or self.kept:
            return False
        key = attempt.asks.keys.get((reservation.priority, reservation.request))
        if key is None or key.places:
            return False
        ask = key.anywhere
        return ask is not None and ask.relax and fits(ask.resource, node.total)

    def ancestry(self, queue: str) -> tuple[FairQueue, ...]:
        """A queue and its ancestors."""
        return self.queues[queue].path

    def event_handlers(self) -> Handlers:
        """The handlers of the base class and of this scheduler."""
        return {
            **super().event_handlers(),
            QueuesConfigured: self._queues_configured,
            QueueConversionPending: self._queue_conversion_pending,
            SharesUpdated: self._shares_updated,
            ContainerMarked: self._container_marked,
            StarvationServed: self._starvation_served,
            PreemptedRoomChanged: self._preempted_room_changed,
        }

    def new_queue(self, name: str, leaf: bool, dynamic: bool) -> FairQueue:
        """Create a queue with the settings in force and add it to its parent."""
        parent = self.queues.get(parent_name(name))
        queue = FairQueue(name, leaf, dynamic, parent, len(self.none))
        tree.configure(self, queue)
        tree.limit_by_parent(self, queue)
        if parent is not None:
            parent.children[name] = queue
            parent.shares_stale = True
            orders.renumber(parent)
        return queue

    # Configuration, nodes, queues.

    def _configuration_loaded(self, now_ms: int, event: ConfigurationLoaded) -> None:
        self.settings = tree.decode(event.settings)
        entitled = self.settings.entitled_after_ms is not None
        self.reservable = self.none if entitled else tree.reservation_threshold(self.settings)
        if self.started_ms is None:
            self.started_ms = now_ms
        super()._configuration_loaded(now_ms, event)

    def _queues_configured(self, now_ms: int, event: QueuesConfigured) -> None:
        # Those that are due are computed with the policies of before, as Hadoop has done at once.
        sharing.settle_steady_shares(self)
        for queue in self.queues.values():
            tree.configure(self, queue, policy=queue.name in event.policies)
            self.stale_demand[queue.name] = None
        self.shares_stale = self.steady_stale = True
        sharing.settle_steady_shares(self)  # as in Hadoop, before parents limit their children
        for queue in self.queues.values():
            tree.limit_by_parent(self, queue)
            orders.reorder(queue, self.total, remembers=self.remembers)

    def _queue_conversion_pending(self, now_ms: int, event: QueueConversionPending) -> None:
        if event.pending:
            self.conversions[event.queue] = event.leaf
        else:
            self.conversions.pop(event.queue, None)

    def _queue_created(self, now_ms: int, event: QueueCreated) -> None:
        super()._queue_created(now_ms, event)
        queue = self.queues[event.queue]
        queue.created_ms = queue.last_at_min_share_ms = now_ms
        self.shares_stale = self.steady_stale = True

    def _queue_removed(self, now_ms: int, event: QueueRemoved) -> None:
        sharing.settle_steady_shares(self)  # Hadoop does not recompute them after a removal
        queue = self.queues[event.queue]
        parent = queue.path[1]
        del parent.children[event.queue]
        parent.order.forget(queue)
        parent.demand_sum = subtract(parent.demand_sum, queue.demand)
        self.stale_demand[parent.name] = None
        parent.shares_stale = self.shares_stale = True
        super()._queue_removed(now_ms, event)

    def _node_added(self, now_ms: int, event: NodeAdded) -> None:
        super()._node_added(now_ms, event)
        self.tables.node_joined(event.node, len(self.nodes))
        self._total_changed()

    def _node_removed(self, now_ms: int, event: NodeRemoved) -> None:
        super()._node_removed(now_ms, event)
        self.tables.node_left(event.node)
        self._total_changed()

    def _node_total_changed(self, now_ms: int, event: NodeTotalChanged) -> None:
        super()._node_total_changed(now_ms, event)
        rack = self.racks[self.nodes[event.node].rack]
        rack[event.node] = rack.pop(event.node)  # Hadoop removes it and adds it again
        self.tables.node_resized(event.node)
        self._total_changed()

    def _total_changed(self) -> None:
        self.shares_stale = self.steady_stale = True
        self.root.shares_stale = True
        for queue in self.queues.values():
            amount = queue.max_amount
            if amount is not None and amount.fractions is not None:
                queue.resolve_maximum(self.total, self.types.unbounded)
                self.stale_demand[queue.name] = None
                if queue.parent is not None:
                    queue.parent.shares_stale = True
            if queue.policy.depends_on_cluster:
                orders.reorder(queue, self.total, remembers=self.remembers)

    def weight_of(self, queue: FairQueue) -> float:
        """The weight of the file."""
        return queue.weight

    def orders_users_by_past(self, leaf: FairQueue) -> bool:
        """With all policies but fifo."""
        return leaf.policy.name != "fifo"

    @property
    def remembers(self) -> bool:
        """Whether anything may be charged: only then a charge is looked for in each key."""
        ledger = self.ledger
        return ledger is not None and bool(ledger.charges or ledger.fairness.budgets)

    def charges_changed(self) -> None:
        """The orders follow."""
        for attempt in self.attempts.values():
            attempt.charge = attempt.leaf.charges.get(attempt.user)
        for queue in self.queues.values():
            orders.reorder(queue, self.total, remembers=self.remembers)

    # Containers.

    def _unlike_next(self, attempt: FairAttempt, event: ContainerAllocated) -> None:
        if event.locality != Locality.OFF_SWITCH or event.reserved:
            self.changed[attempt.id] = None

    def _master_allocated(self, attempt: FairAttempt, resource: Resource) -> None:
        attempt.needs_master = False
        attempt.master_charged = resource
        attempt.leaf.master_used = add(attempt.leaf.master_used, resource)

    def _use(self, attempt: FairAttempt, node: Node, resource: Resource) -> None:
        """As in the base class; the orders on the path follow."""
        leaf = attempt.leaf
        if len(resource) != 2:
            ClusterState._use(self, attempt, node, resource)
            self._usage_changed(attempt, leaf)
            return
        memory, vcores = resource
        a, b = node.available
        node.available = (a - memory, b - vcores)
        a, b = attempt.used
        attempt.used = used = (a + memory, b + vcores)
        wanting = attempt.asks.wanting
        if (  # nearly always: `reconsider`, written out
            wanting
            and attempt.entry is not None  # so it is runnable
            and len(wanting) == len(attempt.counted_sizes)
            and attempt.demand != used
        ):
            leaf.order.stale[attempt] = None
        else:
            orders.reconsider(attempt)
        for queue in leaf.path:
            a, b = queue.used
            queue.used = (a + memory, b + vcores)
            if queue.entry is not None and queue.parent is not None:
                queue.parent.order.stale[queue] = None  # `changed`, written out

    def _leaving(self, attempt: FairAttempt, node: Node, event: ContainerCompleted) -> None:
        count = len(attempt.containers)
        if count > attempt.most_containers:
            attempt.most_containers = count
        count = len(node.containers) + len(node.ending)  # `occupants`, written out
        most_on_node = self.tables.most_on_node
        if count > most_on_node[node.name]:
            most_on_node[node.name] = count
        if attempt.to_preempt:
            attempt.to_preempt.pop(event.container, None)
            self.kills.pop(event.container, None)
        self.changed[attempt.id] = None
        if event.exit_code == _PREEMPTED:
            for queue in attempt.leaf.path:
                queue.preempted += 1

    def _container_reserved(self, now_ms: int, event: ContainerReserved) -> None:
        attempt = self.attempts[event.application]
        keeps_more = event.kept is not None and event.node in attempt.reservations
        super()._container_reserved(now_ms, event)
        if keeps_more:
            return
        attempt.reserved_numbers = attempt.reserved_numbers or {}
        attempt.reserved_numbers[event.node] = attempt.next_container
        attempt.next_container += 1

    def _usage_changed(self, attempt: FairAttempt, leaf: FairQueue) -> None:
        orders.reconsider(attempt)
        orders.move_all(leaf.path)

    # Applications.

    def _application_submitted(self, now_ms: int, event: ApplicationSubmitted) -> None:
        super()._application_submitted(now_ms, event)
        queue = self.queues.get(event.queue)
        if queue is not None:  # an application with an invalid queue name is kept, and waits
            queue.assigned[event.application] = None

    def _application_ended(self, now_ms: int, event: ApplicationEnded) -> None:
        super()._application_ended(now_ms, event)
        queue = self.queues.get(self.applications[event.application].queue)
        if queue is not None:  # one that never started
            queue.assigned.pop(event.application, None)

    def _attempt_started(self, now_ms: int, event: AttemptStarted) -> None:
        super()._attempt_started(now_ms, event)
        attempt = self.attempts[event.application]
        attempt.leaf.assigned.pop(event.application, None)
        self.starts += 1
        attempt.start_order = self.starts
        attempt.charge = attempt.leaf.charges.get(attempt.user)
        attempt.last_at_fair_share_ms = now_ms
        orders.rank(attempt)
        self._count_running(attempt, event.runnable)
        self.changed[attempt.id] = None

    def _application_admitted(self, now_ms: int, event: ApplicationAdmitted) -> None:
        super()._application_admitted(now_ms, event)
        attempt = self.attempts[event.application]
        del attempt.leaf.waiting[attempt.id]
        self.users.wait_no_longer(attempt)
        self._count_running(attempt, True)
        orders.reconsider(attempt)

    def _count_running(self, attempt: FairAttempt, runnable: bool) -> None:
        leaf = attempt.leaf
        if not runnable:
            leaf.waiting[attempt.id] = attempt
            self.users.wait(attempt)
            return
        self.users.start(attempt)
        leaf.division.join(attempt)
        self._run(leaf, 1)

    def _run(self, leaf: FairQueue, change: int) -> None:
        leaf.shares_stale = True
        for queue in leaf.path:
            was = queue.running > 0
            queue.running += change
            if was != (queue.running > 0) and queue.parent is not None:
                queue.parent.shares_stale = True
        self.shares_stale = True

    def _leave(self, attempt: FairAttempt) -> None:
        """Remove an application from its leaf: from the counts, the order and the demand."""
        leaf = attempt.leaf
        if attempt.runnable:
            self._run(leaf, -1)
            leaf.division.leave(attempt)
            self.users.stop(attempt)
            if attempt.master_charged is not None:
                leaf.master_used = subtract(leaf.master_used, attempt.master_charged)
        else:
            del leaf.waiting[attempt.id]
            self.users.wait_no_longer(attempt)
        attempt.runnable = False
        orders.reconsider(attempt)
        leaf.order.forget(attempt)
        leaf.demand_sum = subtract(leaf.demand_sum, attempt.demand)
        self.stale_demand[leaf.name] = None

    def _attempt_ended(self, now_ms: int, event: AttemptEnded) -> None:
        self._leave(self.attempts[event.application])
        super()._attempt_ended(now_ms, event)
        self.changed.pop(event.application, None)

    def _application_moved(self, now_ms: int, event: ApplicationMoved) -> None:
        attempt = self.attempts[event.application]
        was_waiting = not attempt.runnable
        waiting = dict(self.users.waiting(attempt.user))
        source = attempt.leaf
        self._leave(attempt)
        super()._application_moved(now_ms, event)
        orders.move_all(source.path)
        leaf = self.queues[event.queue]
        attempt.leaf = leaf
        attempt.charge = leaf.charges.get(attempt.user)
        attempt.asking = False
        orders.rank(attempt)
        self._count_running(attempt, event.runnable)
        if was_waiting and not event.runnable:  # it keeps its position among its user's
            self.users.put_back(attempt.user, waiting)
        leaf.demand_sum = add(leaf.demand_sum, attempt.demand)
        self.stale_demand[leaf.name] = None
        self._usage_changed(attempt, leaf)

    def _asks_changed(self, now_ms: int, event: AsksChanged) -> None:
        super()._asks_changed(now_ms, event)
        attempt = self.attempts[event.application]
        self.changed[attempt.id] = None
        orders.count_sizes(attempt)
        orders.reconsider(attempt, moved=False)

    def _blacklist_changed(self, now_ms: int, event: BlacklistChanged) -> None:
        super()._blacklist_changed(now_ms, event)
        attempt = self.attempts[event.application]
        refused = attempt.blacklist
        attempt.refused_nodes = tuple(
            node for node in self.nodes.values() if node.host in refused or node.rack in refused
        )

    def _shares_updated(self, now_ms: int, event: SharesUpdated) -> None:
        sharing.update(self)
        self.starved = []
        if starvation.check_due(self):
            starvation.check(self, now_ms)

    def _container_marked(self, now_ms: int, event: ContainerMarked) -> None:
        victim = self.attempts[application_of(event.container)]
        record = victim.containers[event.container]
        victim.to_preempt = victim.to_preempt or {}
        victim.to_preempt[event.container] = None
        self.nodes[record.node].marked[event.container] = record
        self.kills[event.container] = event.kill_at_ms

    def _starvation_served(self, now_ms: int, event: StarvationServed) -> None:
        self.attempts[event.application].next_starvation_check_ms = event.next_check_ms

    def _preempted_room_changed(self, now_ms: int, event: PreemptedRoomChanged) -> None:
        promised = self.nodes[event.node].promised
        if any(event.resource):
            promised[event.application] = event.resource
        else:
            promised.pop(event.application, None)
