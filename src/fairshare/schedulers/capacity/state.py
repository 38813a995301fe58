"""Owns the Capacity Scheduler's state: what events about containers and applications change.

The same handlers update capacities, limits and orders, which follow from the state. Decides
nothing.
"""

import msgspec

from fairshare.model.asks import AskKey
from fairshare.model.events import (
    ApplicationAdmitted,
    ApplicationEnded,
    ApplicationMoved,
    ApplicationSubmitted,
    AsksChanged,
    AttemptEnded,
    AttemptStarted,
    ContainerAllocated,
    ContainerCompleted,
    ContainerMarked,
    ContainerReserved,
    ContainerSpared,
    ExitCode,
    Locality,
    MasterStarted,
    OffersCounted,
    PriorityChanged,
    ReservationMoved,
)
from fairshare.model.identifiers import application_of
from fairshare.model.nodes import Node
from fairshare.model.operations import Handlers
from fairshare.model.resources import Resource, add, subtract
from fairshare.model.work import ANYWHERE
from fairshare.schedulers.capacity import accounting, containers, labels, limits, orders
from fairshare.schedulers.capacity.applications import CapacityApplication, Stage
from fairshare.schedulers.capacity.cluster import CapacityCluster
from fairshare.schedulers.capacity.events import (
    ApplicationsOrdered,
    HeadroomComputed,
    UserLimitsComputed,
    UserNoted,
)
from fairshare.schedulers.capacity.queues import CapacityQueue

_ANYWHERE, _PREEMPTED = Locality.OFF_SWITCH, ExitCode.PREEMPTED  # looking them up costs time


class CapacityState(CapacityCluster):
    """The cluster as the Capacity Scheduler sees it."""

    def event_handlers(self) -> Handlers:
        """The handlers of the base class, and those of containers and users."""
        return {
            **super().event_handlers(),
            ContainerMarked: self._container_marked,
            ReservationMoved: self._reservation_moved,
            ContainerSpared: self._container_spared,
            HeadroomComputed: self._headroom_told,
            UserNoted: self._user_noted,
            UserLimitsComputed: self._user_limits_computed,
            ApplicationsOrdered: self._applications_ordered,
        }

    # Containers and reservations.

    def _container_allocated(self, now_ms: int, event: ContainerAllocated) -> None:
        application = self.applications[event.application]
        key = application.asks.keys[(event.priority, event.request)]
        leaf = application.leaf
        assert leaf is not None
        if event.reserved:
            self._reservation_fulfilled(now_ms, event, application, key)
            accounting.count_pending(application)
        else:
            self._consider(application)
            ask = key.anywhere
            self._granting = True  # keys are moved once, after the asks are reduced too
            super()._container_allocated(now_ms, event)
            self._granting = False
            if self._to_place and ask is not None:
                self._to_place = False
                accounting.ask_less(application, leaf, ask.resource)
            else:
                accounting.count_pending(application)
            if leaf.policy == "fair":
                accounting.measure(application)
        near = event.locality is not _ANYWHERE and not event.reserved
        if near and event.locality == Locality.RACK_LOCAL:
            near = self.settings.rack_locality_full_reset
        key.opportunities = 0 if near else key.opportunities + 1
        self._asks_served(application, leaf)

    def _reservation_fulfilled(
        self, now_ms: int, event: ContainerAllocated, application: CapacityApplication, key: AskKey
    ) -> None:
        """The container counts as used, and has its number, since the reservation."""
        next_container = application.next_container
        node = self.nodes[event.node]
        wanted = key.size_at(node.host, node.rack, event.locality)
        self._fulfilling = True
        super()._container_allocated(now_ms, event)
        self._fulfilling = False
        application.next_container = next_container
        application.drift = add(application.drift, subtract(wanted, event.resource))

    def _asks_served(self, application: CapacityApplication, leaf: CapacityQueue) -> None:
        wanting = bool(application.asks.wanting)
        if not wanting:
            leaf.users.ask_no_more(application.user, application.id)
        if leaf.policy == "fair":
            if application.id in leaf.unsorted:  # this is applied when the leaf is next examined
                accounting.measure(application)
            orders.place_application(application)
        elif wanting == application.rests or application.entry is None:
            orders.place_application(application)

    def _consider(self, application: CapacityApplication) -> None:
        """A heartbeat considers an application: its user's limit is computed
        (Hadoop: CapacityHeadroomProvider.getHeadroom)."""
        leaf = application.leaf
        if leaf is None:
            return
        leaf.unsorted.clear()
        users = leaf.users
        record = users.users.get(application.user)
        if record is None:
            users.miss(application.user, application.reserved)
            return
        if users.counted != users.version:
            users.compute_again()
        loses = (leaf.held or record.pending_applications < 0) and users.may_lose(record.name)
        if loses and limits.is_above(self, leaf, application):
            users.miss(application.user, application.reserved)
        seen = application.seen
        if seen is None or seen[0] is not leaf or seen[1] is not record:
            orders.look_at(application)

    def _headroom_told(self, now_ms: int, event: HeadroomComputed) -> None:
        self._consider(self.applications[event.application])

    def _use(self, application: CapacityApplication, node: Node, resource: Resource) -> None:
        leaf = application.leaf
        if leaf is None or self._fulfilling:
            super()._use(application, node, resource)
            return
        label = self.partition_of.get(node.name, "") if self.partition_of else ""
        later = self._to_place = self._granting and not label
        if len(resource) == 2:
            accounting.use(self, leaf, application, node, label, resource, later)
        else:
            super()._use(application, node, resource)
            accounting.charge(self, leaf, application.user, label, resource, place_later=later)

    def _leaving(
        self, application: CapacityApplication, node: Node, event: ContainerCompleted
    ) -> None:
        containers.will_shrink(self, application, node)

    def _container_completed(self, now_ms: int, event: ContainerCompleted) -> None:
        application = self.applications[application_of(event.container)]
        record = application.containers[event.container]
        node = self.nodes[record.node]
        if event.container in node.marked and application.leaf is not None:
            gone = subtract(self.none, record.resource)
            accounting.change_killable(application.leaf, self.label_of(node), gone)
        super()._container_completed(now_ms, event)
        if application.to_preempt:
            application.to_preempt.pop(event.container, None)
        if self.selected_ms:
            self.selected_ms.pop(event.container, None)
        leaf = application.leaf
        if leaf is None:
            return
        if leaf.policy == "fair":
            accounting.measure(application)
            orders.place_application(application)
        if event.exit_code == _PREEMPTED:
            for queue in leaf.path:
                queue.preempted += 1

    def _container_reserved(self, now_ms: int, event: ContainerReserved) -> None:
        application = self.applications[event.application]
        leaf = application.leaf
        assert leaf is not None
        order = (event.priority, event.request)
        application.asks.keys[order].opportunities += 1
        standing = application.reservations.get(event.node)
        if standing is not None and (standing.priority, standing.request) == order:
            application.re_reservations[order] = application.re_reservations.get(order, 0) + 1
            return
        self._consider(application)
        super()._container_reserved(now_ms, event)
        self.reserved_ms[event.node] = now_ms
        label = self.label_of(self.nodes[event.node])
        application.reserved_numbers[event.node] = application.next_container
        application.next_container += 1
        application.re_reservations[order] = 0
        accounting.reserve(application, leaf, label, event.resource)
        accounting.charge(self, leaf, application.user, label, event.resource)
        accounting.measure(application)
        orders.place_application(application)

    def _drop_reservation(self, node: Node) -> None:
        reservation = node.reservation
        super()._drop_reservation(node)
        if reservation is None:
            return
        self.reserved_ms.pop(node.name, None)
        application = self.applications[reservation.application]
        leaf = application.leaf
        assert leaf is not None
        label = self.label_of(node)
        released = subtract(self.none, reservation.resource)
        application.re_reservations[(reservation.priority, reservation.request)] = 0
        accounting.reserve(application, leaf, label, released)
        if not self._fulfilling:
            application.reserved_numbers.pop(node.name, None)
            accounting.charge(self, leaf, application.user, label, released)
            accounting.measure(application)
            orders.place_application(application)

    def _reservation_moved(self, now_ms: int, event: ReservationMoved) -> None:
        """Move a reservation to a node of the same partition; the use of queues and users stays the
        same."""
        node, target = self.nodes[event.node], self.nodes[event.target]
        reservation = node.reservation
        assert reservation is not None
        application = self.applications[reservation.application]
        node.reservation = None
        target.reservation = msgspec.structs.replace(reservation, node=event.target)
        del application.reservations[event.node]
        application.reservations[event.target] = target.reservation
        number = application.reserved_numbers.pop(event.node)
        application.reserved_numbers[event.target] = number
        self.reserved_ms[event.target] = self.reserved_ms.pop(event.node)

    def _container_marked(self, now_ms: int, event: ContainerMarked) -> None:
        """Mark a container as selected for preemption; selected again and due, it may be killed for
        others."""
        victim = self.applications[application_of(event.container)]
        record = victim.containers[event.container]
        if event.container in self.selected_ms and event.kill_at_ms <= now_ms:
            del self.selected_ms[event.container]
            node = self.nodes[record.node]
            node.marked[event.container] = record
            if victim.leaf is not None:
                label = self.label_of(node)
                accounting.change_killable(victim.leaf, label, record.resource)
            return
        victim.to_preempt[event.container] = None
        self.selected_ms[event.container] = now_ms

    def _container_spared(self, now_ms: int, event: ContainerSpared) -> None:
        """The container's room is not needed any more: reset it to unselected
        (Hadoop: CapacityScheduler.markContainerForNonKillable)."""
        victim = self.applications[application_of(event.container)]
        node = self.nodes[victim.containers[event.container].node]
        self.selected_ms.pop(event.container, None)
        victim.to_preempt.pop(event.container, None)
        record = node.marked.pop(event.container, None)
        if record is not None and victim.leaf is not None:
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
        self.applications[event.application].tell()

    def _attempt_started(self, now_ms: int, event: AttemptStarted) -> None:
        super()._attempt_started(now_ms, event)
        application = self.applications[event.application]
        leaf = self.queue_of(application.queue)
        application.leaf = leaf
        application.priority = application.first_priority
        application.runnable = False
        application.label = ""
        if application.managed:
            application.label = labels.resolve(self, leaf, application.submission, master=True)
        self.starts += 1
        application.start_order = self.starts
        master = application.submission.master
        application.master_resource = (
            self.settings.minimum_allocation
            if master is None
            else self.normalise(now_ms, leaf, master)
        )
        self._enter(application, may_run=event.runnable)

    def _enter(self, application: CapacityApplication, *, may_run: bool) -> None:
        accounting.enter(application, Stage.WAITING if may_run else Stage.HELD)
        if may_run:
            self._count_runnable(application, 1)

    def _count_runnable(self, application: CapacityApplication, change: int) -> None:
        assert application.leaf is not None
        accounting.count_runnable(application.leaf, change)
        user = application.user
        left = self.user_runnable.get(user, 0) + change
        if left:
            self.user_runnable[user] = left
        else:
            self.user_runnable.pop(user, None)

    def _application_admitted(self, now_ms: int, event: ApplicationAdmitted) -> None:
        """Advance an application by one stage: to the waiting list (`woken`), or from waiting to
        active."""
        application = self.applications[event.application]
        if application.stage == Stage.NOWHERE:  # during a move
            accounting.enter(application, Stage.WAITING)
            return
        if event.woken or application.stage == Stage.HELD:
            accounting.wake(application)
            self._count_runnable(application, 1)
            application.runnable = False
            return
        super()._application_admitted(now_ms, event)
        application.runnable = not application.held
        accounting.activate(application)

    def _attempt_ended(self, now_ms: int, event: AttemptEnded) -> None:
        application = self.applications[event.application]
        leaf = application.leaf
        assert leaf is not None
        super()._attempt_ended(now_ms, event)
        accounting.count_pending(application)
        if not application.held:
            self._count_runnable(application, -1)
        accounting.leave(application, comes_back=bool(application.containers))
        application.leaf = None
        application.drift = self.none
        application.tell()

    def _application_moved(self, now_ms: int, event: ApplicationMoved) -> None:
        application = self.applications[event.application]
        source = application.leaf
        assert source is not None
        target = self.queues[event.queue]
        accounting.move_use(self, application, source, target)
        accounting.leave(application)
        super()._application_moved(now_ms, event)
        application.runnable = False
        accounting.move_pending(application, target)
        application.moved_from = source  # it counts as asking there until it asks in the target
        application.leaf = target
        if self.settings.labels_enabled:  # as in Hadoop, whose check of the labels removes this one
            application.asked.pop("", None)
        if not event.runnable:
            accounting.enter(application, Stage.HELD)
        accounting.count_application(source, -1, now_ms)
        self.forget_departed(source)
        accounting.count_application(target, 1, now_ms)

    def _priority_changed(self, now_ms: int, event: PriorityChanged) -> None:
        accounting.reprioritise(self.applications[event.application], event.priority)

    def _user_limits_computed(self, now_ms: int, event: UserLimitsComputed) -> None:
        self.queue_of(event.queue).users.compute_again()

    def _applications_ordered(self, now_ms: int, event: ApplicationsOrdered) -> None:
        self.queue_of(event.queue).unsorted.clear()

    def _asks_changed(self, now_ms: int, event: AsksChanged) -> None:
        """New asks register an application as asking; an empty list after a move means: consider
        again."""
        application = self.applications[event.application]
        before = list(application.asks.wanting)
        super()._asks_changed(now_ms, event)
        for request in event.requests:
            if request.location == ANYWHERE:
                application.asked.setdefault(request.label)
        leaf = application.leaf
        if leaf is None:
            return
        source, application.moved_from = application.moved_from, None
        if source is not None:
            source.users.ask_no_more(application.user, application.id)
        wanting = application.asks.wanting
        if (wanting and not event.requests) or any(key not in before for key in wanting):
            leaf.users.ask(application.user, application.id)
        if leaf.policy == "fair" and leaf.size_based:
            accounting.measure(application)
        accounting.count_pending(application)
        self._asks_served(application, leaf)

    def _offers_counted(self, now_ms: int, event: OffersCounted) -> None:
        super()._offers_counted(now_ms, event)
        if event.default_misses is not None:
            order = (event.priority, event.request)
            self.applications[event.application].default_misses[order] = event.default_misses
