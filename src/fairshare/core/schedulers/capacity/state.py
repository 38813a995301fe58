"""The Capacity Scheduler's state: what events change beyond the common state.

The same handlers update capacities, limits and orders, which follow from the state.
"""

from functools import lru_cache

import msgspec

from fairshare.core.model.events import (
    ApplicationAdmitted,
    ApplicationEnded,
    ApplicationMoved,
    ApplicationSubmitted,
    AsksChanged,
    AttemptEnded,
    AttemptStarted,
    ConfigurationLoaded,
    ContainerAllocated,
    ContainerCompleted,
    ContainerMarked,
    ContainerReserved,
    ContainerSpared,
    ExitCode,
    LabelsChanged,
    Locality,
    MasterStarted,
    NodeAdded,
    NodeRemoved,
    NodesLabelled,
    NodeTotalChanged,
    OffersCounted,
    PriorityChanged,
    QueueCreated,
    QueueDynamicChanged,
    QueueRemoved,
    QueuesConfigured,
    ReservationMoved,
    SharesUpdated,
)
from fairshare.core.model.identifiers import application_of
from fairshare.core.model.nodes import Handlers, Node
from fairshare.core.model.queues import ROOT, parent_name
from fairshare.core.model.resources import add, smallest, subtract
from fairshare.core.model.state import ClusterState
from fairshare.core.model.work import ANYWHERE
from fairshare.core.schedulers.capacity import (
    accounting,
    capacities,
    configuration,
    containers,
    limits,
    management,
    orders,
    partitions,
)
from fairshare.core.schedulers.capacity.attempts import CapacityAttempt, Stage
from fairshare.core.schedulers.capacity.calculators import calculator
from fairshare.core.schedulers.capacity.cluster import CapacityCluster
from fairshare.core.schedulers.capacity.events import (
    ApplicationsOrdered,
    HeadroomComputed,
    LimitsComputed,
    QueueEntitled,
    QueueExpiring,
    QueueLimited,
    UserLimitsComputed,
    UserNoted,
)
from fairshare.core.schedulers.capacity.queues import CapacityQueue

_ANYWHERE, _PREEMPTED = Locality.OFF_SWITCH, ExitCode.PREEMPTED  # looking them up costs time


@lru_cache(64)
def _asked(labels: tuple[str, ...]) -> dict[str, None]:
    """A table of partitions, which many applications share: it is replaced, and never changed."""
    return dict.fromkeys(labels)


class CapacityState(CapacityCluster):
    """The cluster as the Capacity Scheduler sees it."""

    def event_handlers(self) -> Handlers:
        """The handlers of the base class and of this scheduler."""
        return {
            **super().event_handlers(),
            QueuesConfigured: self._queues_configured,
            LabelsChanged: self._labels_changed,
            NodesLabelled: self._nodes_labelled,
            QueueLimited: self._queue_limited,
            LimitsComputed: self._limits_computed,
            QueueExpiring: self._queue_expiring,
            QueueEntitled: self._queue_entitled,
            SharesUpdated: self._nothing_changes,
            ContainerMarked: self._container_marked,
            ReservationMoved: self._reservation_moved,
            ContainerSpared: self._container_spared,
            HeadroomComputed: self._headroom_computed,
            UserNoted: self._user_noted,
            UserLimitsComputed: self._user_limits_computed,
            ApplicationsOrdered: self._applications_ordered,
        }

    def new_queue(self, name: str, leaf: bool, dynamic: bool) -> CapacityQueue:
        """Create a queue with the settings in force and add it to its parent."""
        parent = self.queues.get(parent_name(name))
        queue = CapacityQueue(name, leaf, dynamic, parent, self.none)
        queue.users.leaf, queue.users.to_recompute = queue, self.to_recompute
        configuration.configure(self, queue, first=True)
        if parent is not None:
            parent.children[name] = queue
        return queue

    def settle(self) -> None:
        """At the end of an input, recompute what follows from a new size of an empty cluster, and
        the limits of leaves whose masters receive a headroom."""
        if self.resized:
            self._recompute()
        for users in self.to_recompute:
            users.stirs = False
            if users.masters and users.counted != users.version:
                users.compute_again()
        self.to_recompute.clear()

    def weight_of(self, queue: CapacityQueue) -> float:
        """The capacity in the default partition."""
        return queue.shares[""].absolute_capacity

    def orders_users_by_past(self, leaf: CapacityQueue) -> bool:
        """With the policy fair."""
        return leaf.policy == "fair"

    def charges_changed(self) -> None:
        """The orders follow."""
        for queue in self.all_queues():
            orders.charges_changed(queue)

    # Configuration, nodes, queues.

    def _configuration_loaded(self, now_ms: int, event: ConfigurationLoaded) -> None:
        first = self.started_ms is None
        self.settings = configuration.decode(event.settings)
        if first:
            self.started_ms = now_ms
            self.calculator = calculator(self.settings.dominant, len(self.none))
        super()._configuration_loaded(now_ms, event)
        partitions.follow(self)

    def _labels_changed(self, now_ms: int, event: LabelsChanged) -> None:
        gone = self.added_labels.keys() - event.labels.keys()
        known = event.labels.keys() <= set(self.labels)
        self.added_labels = event.labels
        for node, label in tuple(self.assigned_labels.items()):
            if label and label not in self.partitions:
                del self.assigned_labels[node]
        # As in Hadoop nothing is recomputed for a partition without nodes.
        if partitions.follow(self) or gone or not known:
            self._partitions_changed()

    def _nodes_labelled(self, now_ms: int, event: NodesLabelled) -> None:
        changed = partitions.change_something(self, event.nodes)
        self.assigned_labels.update(event.nodes)
        if changed:
            self._partitions_changed()

    def _partitions_changed(self) -> None:
        partitions.follow(self)
        if ROOT in self.queues:
            for queue in capacities.below(self.root):
                configuration.take_capacities(self, queue)
        self._recompute()

    def _queues_configured(self, now_ms: int, event: QueuesConfigured) -> None:
        for queue in capacities.below(self.root):
            management.forget(self, queue)
            configuration.configure(self, queue)
            if queue.leaf:
                orders.sort_applications(queue)
            configuration.order_children(queue)
        self._recompute()

    def _recompute(self, top: CapacityQueue | None = None) -> None:
        self.resized = False
        if ROOT in self.queues:
            capacities.recompute(self, top or self.root)

    def _limits_computed(self, now_ms: int, event: LimitsComputed) -> None:
        self._recompute(self.queues[event.queue])

    def _queue_created(self, now_ms: int, event: QueueCreated) -> None:
        super()._queue_created(now_ms, event)
        queue = self.queues[event.queue]
        queue.created_ms = queue.idle_since_ms = now_ms
        if queue.parent is not None:
            queue.parent.idle_since_ms = now_ms
        if event.dynamic and queue.parent is not None:
            management.weigh(self, queue.parent)
            self._recompute(self.made_below(queue.parent))

    def _queue_removed(self, now_ms: int, event: QueueRemoved) -> None:
        queue = self.queues[event.queue]
        parent = queue.path[1]
        for label, share in queue.shares.items():
            if share.entry is not None:
                orders.remove(parent.shares[label].order, share.entry)
                parent.shares[label].stale.pop(queue, None)
            share.entry = None
        del parent.children[event.queue]
        queue.parent = None  # it has no siblings any more; its ancestors still count its use
        if queue.leaf and queue.number_of_applications:
            self.departed[queue.name] = queue
        super()._queue_removed(now_ms, event)
        if queue.dynamic:
            self._recompute(self.made_below(parent))

    def _queue_dynamic_changed(self, now_ms: int, event: QueueDynamicChanged) -> None:
        super()._queue_dynamic_changed(now_ms, event)
        configuration.configure(self, self.queues[event.queue])

    def _queue_limited(self, now_ms: int, event: QueueLimited) -> None:
        """An event with an unchanged limit means that the cluster's limits were recomputed
        (Hadoop: CapacityHeadroomProvider.getHeadroom): then the users' limits and the headrooms of
        all active applications are recomputed too."""
        queue = self.queues[event.queue]
        if queue.limit == event.limit and queue.active:
            if queue.users.outdated:
                queue.users.compute_again()
            for attempt in tuple(queue.active.values()):
                orders.look_at(attempt)
        queue.limit = event.limit

    def _queue_entitled(self, now_ms: int, event: QueueEntitled) -> None:
        queue = self.queues[event.queue]
        before = queue.entitled
        queue.entitled = frozenset(event.labels)
        management.count(self, queue, before)
        if event.in_round:
            management.merge(self, queue, before)
            return
        queue.funded |= queue.entitled
        configuration.take_capacities(self, queue)
        if queue.parent is not None:
            self._recompute(self.made_below(queue.parent))

    def _queue_expiring(self, now_ms: int, event: QueueExpiring) -> None:
        self.queues[event.queue].expiring_ms = now_ms if event.empty else None

    def _node_added(self, now_ms: int, event: NodeAdded) -> None:
        super()._node_added(now_ms, event)
        self.most_on_node[event.node] = 0
        self.ports[event.node] = containers.FIRST_PORT + self.arrivals
        self.arrivals += 1
        self.most_nodes = max(self.most_nodes, len(self.nodes))
        label = partitions.belongs(self, self.nodes[event.node])
        if label:
            self.partition_of[event.node] = label
        self._total_changed()

    def _node_removed(self, now_ms: int, event: NodeRemoved) -> None:
        super()._node_removed(now_ms, event)
        del self.most_on_node[event.node]
        del self.ports[event.node]
        self.partition_of.pop(event.node, None)
        self._total_changed()

    def _node_total_changed(self, now_ms: int, event: NodeTotalChanged) -> None:
        node = self.nodes[event.node]
        # As in Hadoop each user of a container on the node gets a record, if it had none: Hadoop
        # subtracts the container's use and adds it again, as if the node had changed its partition.
        for record in node.containers.values():
            attempt = self.attempts[application_of(record.container)]
            attempt.leaf.users.get_or_add(attempt.user)
        self.drop_reservation(node)  # as in Hadoop, whatever the new size
        super()._node_total_changed(now_ms, event)
        self._total_changed()

    def _total_changed(self) -> None:
        self.count_totals()
        if self.applications:
            self._recompute()
        else:
            self.resized = True

    # Containers and reservations.

    def _container_allocated(self, now_ms: int, event: ContainerAllocated) -> None:
        attempt = self.attempts[event.application]
        key = attempt.asks.keys[(event.priority, event.request)]
        leaf = attempt.leaf
        if event.reserved:
            # The container counts as used since the reservation.
            node = self.nodes[event.node]
            wanted = key.size_at(node.host, node.rack, event.locality)
            self.fulfilling = True
            super()._container_allocated(now_ms, event)
            self.fulfilling = False
            attempt.drift = add(attempt.drift, subtract(wanted, event.resource))
            accounting.count_pending(attempt)
        else:
            users, seen = leaf.users, attempt.seen
            record = users.users.get(attempt.user)
            if (
                record is None
                or record.pending_applications < 0
                or (leaf.held or leaf.unsorted)
                or (seen is None or seen[0] is not leaf or seen[1] is not record)
            ):
                self._consider(attempt)
            elif users.counted != users.version:  # `_consider` when all is as it was
                users.compute_again()
            if event.locality is not _ANYWHERE or attempt.labelled:
                self.counts_asks = True
            ClusterState._container_allocated(self, now_ms, event)  # quicker than `super`
            if self.counts_asks:
                self.counts_asks = False
                accounting.count_pending(attempt)
        if event.locality is _ANYWHERE or event.reserved:
            key.opportunities += 1
        elif event.locality == Locality.NODE_LOCAL or self.settings.rack_locality_full_reset:
            key.opportunities = 0
        else:
            key.opportunities += 1
        if not attempt.asks.wanting or leaf.policy == "fair" or attempt.entry is None:
            self._asks_served(attempt, leaf)

    def _asks_served(self, attempt: CapacityAttempt, leaf: CapacityQueue) -> None:
        wanting = bool(attempt.asks.wanting)
        if not wanting:
            leaf.users.ask_no_more(attempt.user, attempt.id)
        if leaf.policy == "fair":
            if attempt.id in leaf.unsorted:  # this is applied when the leaf is next examined
                accounting.measure(attempt)
            orders.place_application(attempt)
        elif wanting == attempt.rests or attempt.entry is None:
            orders.place_application(attempt)

    def _consider(self, attempt: CapacityAttempt) -> None:
        """A heartbeat considers an application: its user's limit is computed
        (Hadoop: CapacityHeadroomProvider.getHeadroom)."""
        leaf = attempt.leaf
        leaf.unsorted.clear()
        users = leaf.users
        record = users.users.get(attempt.user)
        if record is None:
            users.miss(attempt.user, attempt.reserved)
            return
        if users.counted != users.version:
            users.compute_again()
        loses = (leaf.held or record.pending_applications < 0) and leaf.may_lose(record.name)
        if loses and limits.is_above(self, leaf, attempt):
            users.miss((attempt.user, ""), attempt.reserved)
        seen = attempt.seen
        if seen is None or seen[0] is not leaf or seen[1] is not record:
            orders.look_at(attempt)

    def _headroom_computed(self, now_ms: int, event: HeadroomComputed) -> None:
        self._consider(self.attempts[event.application])

    _use = accounting.use

    def _leaving(self, attempt: CapacityAttempt, node: Node, event: ContainerCompleted) -> None:
        count = len(attempt.containers)  # the tables' sizes, recorded now and not at each grant
        if count > attempt.most_containers:
            attempt.most_containers = count
        count = len(node.containers) + len(node.ending)
        if count > self.most_on_node[node.name]:
            self.most_on_node[node.name] = count
        if node.marked and event.container in node.marked:
            gone = subtract(self.none, attempt.containers[event.container].resource)
            accounting.change_killable(attempt.leaf, self.label_of(node), gone)
        if attempt.to_preempt:
            attempt.to_preempt.pop(event.container, None)
        if self.selected_ms:
            self.selected_ms.pop(event.container, None)
        if event.exit_code == _PREEMPTED:
            for queue in attempt.leaf.path:
                queue.preempted += 1

    def _container_reserved(self, now_ms: int, event: ContainerReserved) -> None:
        attempt = self.attempts[event.application]
        leaf = attempt.leaf
        order = (event.priority, event.request)
        attempt.asks.keys[order].opportunities += 1
        reservation = attempt.reservations.get(event.node)
        if reservation is not None and (reservation.priority, reservation.request) == order:
            attempt.re_reservations[order] = attempt.re_reservations.get(order, 0) + 1
            return
        self._consider(attempt)
        super()._container_reserved(now_ms, event)
        self.reserved_ms[event.node] = now_ms
        label = self.label_of(self.nodes[event.node])
        attempt.reserved_numbers = attempt.reserved_numbers or {}
        attempt.reserved_numbers[event.node] = attempt.next_container
        attempt.next_container += 1
        attempt.re_reservations = attempt.re_reservations or {}
        attempt.re_reservations[order] = 0
        accounting.reserve(attempt, leaf, label, event.resource)
        accounting.charge(self, leaf, attempt.user, label, event.resource)
        accounting.measure(attempt)
        orders.place_application(attempt)

    def drop_reservation(self, node: Node) -> None:
        reservation = node.reservation
        super().drop_reservation(node)
        if reservation is None:
            return
        self.reserved_ms.pop(node.name, None)
        attempt = self.attempts[reservation.application]
        leaf = attempt.leaf
        label = self.label_of(node)
        released = subtract(self.none, reservation.resource)
        attempt.re_reservations = attempt.re_reservations or {}
        attempt.re_reservations[(reservation.priority, reservation.request)] = 0
        accounting.reserve(attempt, leaf, label, released)
        if not self.fulfilling:
            attempt.reserved_numbers.pop(node.name, None)
            accounting.charge(self, leaf, attempt.user, label, released)
            accounting.measure(attempt)
            orders.place_application(attempt)

    def _reservation_moved(self, now_ms: int, event: ReservationMoved) -> None:
        """Move a reservation to a node of the same partition; the use of queues and users stays the
        same."""
        node, target = self.nodes[event.node], self.nodes[event.target]
        reservation = node.reservation
        assert reservation is not None
        attempt = self.attempts[reservation.application]
        node.reservation = None
        target.reservation = msgspec.structs.replace(reservation, node=event.target)
        del attempt.reservations[event.node]
        attempt.reservations[event.target] = target.reservation
        number = attempt.reserved_numbers.pop(event.node)
        attempt.reserved_numbers[event.target] = number
        self.reserved_ms[event.target] = self.reserved_ms.pop(event.node)

    def _container_marked(self, now_ms: int, event: ContainerMarked) -> None:
        """Mark a container as selected for preemption; selected again and due, it may be killed for
        others."""
        victim = self.attempts[application_of(event.container)]
        record = victim.containers[event.container]
        if event.container in self.selected_ms and event.kill_at_ms <= now_ms:
            del self.selected_ms[event.container]
            node = self.nodes[record.node]
            node.marked[event.container] = record
            accounting.change_killable(victim.leaf, self.label_of(node), record.resource)
            return
        victim.to_preempt = victim.to_preempt or {}
        victim.to_preempt[event.container] = None
        self.selected_ms[event.container] = now_ms

    def _container_spared(self, now_ms: int, event: ContainerSpared) -> None:
        """The container's room is not needed any more: reset it to unselected
        (Hadoop: CapacityScheduler.markContainerForNonKillable)."""
        victim = self.attempts[application_of(event.container)]
        node = self.nodes[victim.containers[event.container].node]
        self.selected_ms.pop(event.container, None)
        victim.to_preempt.pop(event.container, None)
        record = node.marked.pop(event.container, None)
        if record is not None:
            released = subtract(self.none, record.resource)
            accounting.change_killable(victim.leaf, self.label_of(node), released)

    # Applications.

    def _application_submitted(self, now_ms: int, event: ApplicationSubmitted) -> None:
        super()._application_submitted(now_ms, event)
        accounting.count_application(self.queues[event.queue], 1, now_ms)

    def _user_noted(self, now_ms: int, event: UserNoted) -> None:
        self.queue_of(event.queue).users.get_or_add(event.user)

    def _application_ended(self, now_ms: int, event: ApplicationEnded) -> None:
        super()._application_ended(now_ms, event)
        application = self.applications[event.application]
        leaf = self.queue_of(application.queue)
        leaf.users.ask_no_more(application.user, application.id)
        accounting.count_application(leaf, -1, now_ms)
        self.forget_departed(leaf)

    def _master_started(self, now_ms: int, event: MasterStarted) -> None:
        super()._master_started(now_ms, event)
        self.attempts[event.application].register_for_headroom()

    def _attempt_started(self, now_ms: int, event: AttemptStarted) -> None:
        super()._attempt_started(now_ms, event)
        attempt = self.attempts[event.application]
        leaf = attempt.leaf
        attempt.application.priority = attempt.application.first_priority
        attempt.runnable = False
        if attempt.managed:
            label = partitions.resolve(self, leaf, attempt.submission, master=True)
            attempt.label = label if label in self.labels else ""  # a created leaf's default
        self.starts += 1
        attempt.start_order = self.starts
        master = attempt.submission.master
        attempt.master_resource = (  # Hadoop counts at most the queue's maximum, but grants more
            self.settings.minimum_allocation
            if master is None
            else smallest(self.normalise(now_ms, master), leaf.maximum_allocation)
        )
        accounting.enter(attempt, Stage.WAITING if event.runnable else Stage.HELD)
        if event.runnable:
            self._count_runnable(attempt, 1)

    def _count_runnable(self, attempt: CapacityAttempt, change: int) -> None:
        accounting.count_runnable(attempt.leaf, change)
        user = attempt.user
        left = self.user_runnable.get(user, 0) + change
        if left:
            self.user_runnable[user] = left
        else:
            self.user_runnable.pop(user, None)

    def _application_admitted(self, now_ms: int, event: ApplicationAdmitted) -> None:
        """Advance an application by one stage: to the waiting list (`woken`), or from waiting to
        active."""
        attempt = self.attempts[event.application]
        if attempt.stage == Stage.NOWHERE:  # during a move
            accounting.enter(attempt, Stage.WAITING)
            return
        if event.woken or attempt.stage == Stage.HELD:
            accounting.wake(attempt)
            self._count_runnable(attempt, 1)
            attempt.runnable = False
            return
        super()._application_admitted(now_ms, event)
        attempt.runnable = not attempt.held
        accounting.activate(attempt)

    def _attempt_ended(self, now_ms: int, event: AttemptEnded) -> None:
        attempt = self.attempts[event.application]
        super()._attempt_ended(now_ms, event)
        accounting.count_pending(attempt)
        if not attempt.held:
            self._count_runnable(attempt, -1)
        accounting.leave(attempt, comes_back=bool(attempt.containers))
        attempt.register_for_headroom()

    def _application_moved(self, now_ms: int, event: ApplicationMoved) -> None:
        attempt = self.attempts[event.application]
        source = attempt.leaf
        target = self.queues[event.queue]
        accounting.move_use(self, attempt, source, target)
        accounting.leave(attempt)
        super()._application_moved(now_ms, event)
        attempt.runnable = False
        accounting.move_pending(attempt, target)
        attempt.moved_from = source  # it counts as asking there until it asks in the target
        attempt.leaf = target
        if self.settings.labels_enabled:  # as in Hadoop, whose check of the labels removes this one
            attempt.asked = _asked(tuple(label for label in attempt.asked if label))
        if not event.runnable:
            accounting.enter(attempt, Stage.HELD)
        accounting.count_application(source, -1, now_ms)
        self.forget_departed(source)
        accounting.count_application(target, 1, now_ms)

    def _priority_changed(self, now_ms: int, event: PriorityChanged) -> None:
        attempt = self.attempts.get(event.application)
        if attempt is None:
            super()._priority_changed(now_ms, event)
        else:
            accounting.reprioritise(attempt, event.priority)

    def _user_limits_computed(self, now_ms: int, event: UserLimitsComputed) -> None:
        users = self.queue_of(event.queue).users
        if users.outdated:
            users.compute_again()

    def _applications_ordered(self, now_ms: int, event: ApplicationsOrdered) -> None:
        self.queue_of(event.queue).unsorted.clear()

    def _asks_changed(self, now_ms: int, event: AsksChanged) -> None:
        """New asks register an application as asking; an empty list after a move means: consider
        again."""
        attempt = self.attempts[event.application]
        before = list(attempt.asks.wanting)
        super()._asks_changed(now_ms, event)
        for request in event.requests:
            if request.location == ANYWHERE and request.label not in attempt.asked:
                attempt.asked = _asked((*attempt.asked, request.label))
        leaf = attempt.leaf
        source, attempt.moved_from = attempt.moved_from, None
        if source is not None:
            source.users.ask_no_more(attempt.user, attempt.id)
        wanting = attempt.asks.wanting
        if (wanting and not event.requests) or any(key not in before for key in wanting):
            leaf.users.ask(attempt.user, attempt.id)
        if leaf.policy == "fair" and leaf.size_based:
            accounting.measure(attempt)
        accounting.count_pending(attempt)
        self._asks_served(attempt, leaf)

    def _offers_counted(self, now_ms: int, event: OffersCounted) -> None:
        super()._offers_counted(now_ms, event)
        if event.default_misses is not None:
            order = (event.priority, event.request)
            attempt = self.attempts[event.application]
            attempt.default_misses = attempt.default_misses or {}
            attempt.default_misses[order] = event.default_misses
