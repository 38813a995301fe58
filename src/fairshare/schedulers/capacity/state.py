"""Owns the Capacity Scheduler's state: what events change beyond the common.

Capacities, limits and orders follow from the state and are kept with it, in the same handlers.
Nothing here decides anything.
"""

from fairshare.model.events import (
    ApplicationAdmitted,
    ApplicationEnded,
    ApplicationMoved,
    ApplicationRejected,
    ApplicationSubmitted,
    AsksChanged,
    AttemptEnded,
    AttemptStarted,
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
    OffersCounted,
    PriorityChanged,
    QueueCreated,
    QueueDynamicChanged,
    QueueLimited,
    QueueRemoved,
    QueuesConfigured,
    SharesUpdated,
)
from fairshare.model.identifiers import ApplicationId, ContainerId, application_of
from fairshare.model.inputs import SubmitApplication
from fairshare.model.nodes import Node
from fairshare.model.queues import ROOT, parent_name
from fairshare.model.resources import Resource, ResourceTypes, add, largest, smallest, subtract
from fairshare.model.state import ClusterState
from fairshare.schedulers.capacity import accounting, capacities, configuration, naming, orders
from fairshare.schedulers.capacity.applications import CapacityApplication, Stage
from fairshare.schedulers.capacity.calculators import ResourceCalculator, calculator
from fairshare.schedulers.capacity.queues import CapacityQueue
from fairshare.schedulers.capacity.settings import CapacitySettings

USER_LIMIT = "user-limit"
"""The code of a refusal for a user's limit on applications."""


class CapacityState(ClusterState[CapacityQueue, CapacityApplication]):
    """The cluster as the Capacity Scheduler sees it.

    `labels` are the partitions, the default one (`""`) first. `user_runnable` counts the attempts
    of each user that max-parallel-apps lets run. `selected_ms` says when a container was first
    selected for preemption.
    """

    def __init__(self, types: ResourceTypes) -> None:
        super().__init__(types)
        self.settings = CapacitySettings(types=types)
        self.calculator: ResourceCalculator = calculator(False, len(types.names))
        self.labels: tuple[str, ...] = ("",)
        self.totals: dict[str, Resource] = {"": types.none}
        self.started_ms: int | None = None
        self.starts = 0
        self.user_runnable: dict[str, int] = {}
        self.selected_ms: dict[ContainerId, int] = {}
        self.most_on_node: dict[str, int] = {}  # containers at once, since it joined
        self.reserved_ms: dict[str, int] = {}  # since when a node is reserved
        self._largest_node: Resource | None = None
        self._fulfilling = False
        self.handlers.update(
            {
                QueuesConfigured: self._queues_configured,
                QueueLimited: self._queue_limited,
                ContainerMarked: self._container_marked,
                SharesUpdated: lambda now_ms, event: None,
            }
        )

    @property
    def root(self) -> CapacityQueue:
        """The queue above all others."""
        return self.queues[ROOT]

    def total_of(self, label: str) -> Resource:
        """What the nodes of a partition offer."""
        return self.totals.get(label, self.none)

    def label_of(self, node: Node) -> str:
        """The partition that a node belongs to."""
        if len(self.labels) == 1:
            return ""
        label = self.settings.label_of_node.get(node.name, node.attributes.get("partition", ""))
        return label if label in self.totals else ""

    def new_queue(self, name: str, leaf: bool, dynamic: bool) -> CapacityQueue:
        """A queue with the settings in force, and its place in the tree."""
        parent = self.queues.get(parent_name(name))
        queue = CapacityQueue(name, leaf, dynamic, parent, self.none)
        configuration.configure(self, queue, first=True)
        if parent is not None:
            parent.children[name] = queue
        return queue

    def new_application(
        self,
        number: ApplicationId,
        submission: SubmitApplication,
        queue: str,
        priority: int,
        now_ms: int,
    ) -> CapacityApplication:
        """An application without an attempt."""
        return CapacityApplication(number, submission, queue, priority, now_ms, len(self.none))

    def ancestry(self, queue: str) -> tuple[CapacityQueue, ...]:
        """A queue and all above it."""
        return self.queues[queue].path

    # Sizes of containers.

    def largest_container(self, now_ms: int, queue: CapacityQueue | None) -> Resource:
        """The most that a container may have now, in each type by itself (1.7, 1.8)."""
        settings = self.settings
        most = settings.maximum_allocation
        up_ms = now_ms - (self.started_ms or 0)
        if self.nodes and up_ms > settings.maximum_override_delay_ms:
            most = smallest(most, self.largest_node())
        return most if queue is None else smallest(most, queue.maximum_allocation)

    def largest_node(self) -> Resource:
        """The most that a node offers, in each type by itself."""
        if self._largest_node is None:
            biggest = self.none
            for node in self.nodes.values():
                biggest = largest(biggest, node.total)
            self._largest_node = biggest
        return self._largest_node

    def normalise(self, now_ms: int, queue: CapacityQueue | None, ask: Resource) -> Resource:
        """The size that is granted for an ask."""
        least = self.settings.minimum_allocation
        most = self.largest_container(now_ms, queue)
        return self.calculator.normalise(ask, least, most, least)

    # Configuration, nodes, queues.

    def _configuration_loaded(self, now_ms: int, event: ConfigurationLoaded) -> None:
        first = self.started_ms is None
        self.settings = configuration.decode(event.settings)
        if first:
            self.started_ms = now_ms
            self.calculator = calculator(self.settings.dominant, len(self.none))
        self.labels = ("", *self.settings.labels)
        self._count_totals()
        super()._configuration_loaded(now_ms, event)

    def _queues_configured(self, now_ms: int, event: QueuesConfigured) -> None:
        for queue in self._parents_first(self.root):
            policy = queue.policy
            configuration.configure(self, queue)
            if queue.leaf and queue.policy != policy:
                orders.sort_applications(queue)
            self._order_children(queue)
        self._recompute()

    def _parents_first(self, queue: CapacityQueue) -> list[CapacityQueue]:
        found = [queue]
        for child in queue.children.values():
            found += self._parents_first(child)
        return found

    def _order_children(self, queue: CapacityQueue) -> None:
        """Children in the order of the file, then those that it does not name."""
        names = [f"{queue.name}.{short}" for short in queue.settings.children or ()]
        named = [name for name in names if name in queue.children]
        others = [name for name in queue.children if name not in named]
        queue.children = {name: queue.children[name] for name in (*named, *others)}

    def _recompute(self) -> None:
        if ROOT not in self.queues:
            return
        capacities.recompute(self)
        for queue in self.queues.values():
            queue.users.count_only_pending()
            for application in queue.active.values():
                application.look_at()

    def _queue_created(self, now_ms: int, event: QueueCreated) -> None:
        super()._queue_created(now_ms, event)
        queue = self.queues[event.queue]
        queue.created_ms = queue.idle_since_ms = now_ms
        if queue.parent is not None:
            queue.parent.idle_since_ms = now_ms
        if event.dynamic:
            self._recompute()

    def _queue_removed(self, now_ms: int, event: QueueRemoved) -> None:
        queue = self.queues[event.queue]
        parent = queue.parent
        assert parent is not None
        for label, share in queue.shares.items():
            if share.entry is not None:
                orders.remove(parent.shares[label].order, share.entry)
        del parent.children[event.queue]
        super()._queue_removed(now_ms, event)
        if queue.dynamic:
            self._recompute()

    def _queue_dynamic_changed(self, now_ms: int, event: QueueDynamicChanged) -> None:
        super()._queue_dynamic_changed(now_ms, event)
        configuration.configure(self, self.queues[event.queue])

    def _queue_limited(self, now_ms: int, event: QueueLimited) -> None:
        """Told anew though nothing differs: the cluster was looked at, and all with it (10)."""
        queue = self.queues[event.queue]
        if queue.limit == event.limit:
            for application in queue.active.values():
                application.look_at()
        queue.limit = event.limit

    def _node_added(self, now_ms: int, event: NodeAdded) -> None:
        super()._node_added(now_ms, event)
        self.most_on_node[event.node] = 0
        self._total_changed()

    def _node_removed(self, now_ms: int, event: NodeRemoved) -> None:
        super()._node_removed(now_ms, event)
        del self.most_on_node[event.node]
        self._total_changed()

    def _node_total_changed(self, now_ms: int, event: NodeTotalChanged) -> None:
        super()._node_total_changed(now_ms, event)
        self._total_changed()

    def _total_changed(self) -> None:
        self._largest_node = None
        self._count_totals()
        self._recompute()

    def _count_totals(self) -> None:
        if len(self.labels) == 1:
            self.totals = {"": self.total}
            return
        self.totals = dict.fromkeys(self.labels, self.none)
        for node in self.nodes.values():
            label = self.label_of(node)
            self.totals[label] = add(self.totals[label], node.total)

    # Containers and reservations.

    def _container_allocated(self, now_ms: int, event: ContainerAllocated) -> None:
        application = self.applications[event.application]
        next_container = application.next_container
        self._fulfilling = event.reserved
        super()._container_allocated(now_ms, event)
        self._fulfilling = False
        application.look_at()
        key = application.asks.keys[(event.priority, event.request)]
        if event.reserved or event.locality == Locality.OFF_SWITCH:
            key.opportunities += 1
        elif event.locality == Locality.NODE_LOCAL or self.settings.rack_locality_full_reset:
            key.opportunities = 0
        else:
            key.opportunities += 1
        if event.reserved:  # it has had its number since the reservation
            application.next_container = next_container
        else:
            accounting.measure(application)
        self._asks_served(application)

    def _asks_served(self, application: CapacityApplication) -> None:
        accounting.count_pending(application)
        leaf = application.leaf
        assert leaf is not None
        if not application.asks.wanting:
            leaf.users.ask_no_more(application.user, application.id)
        orders.place_application(application)

    def _use(self, application: CapacityApplication, node: Node, resource: Resource) -> None:
        super()._use(application, node, resource)
        application.most_containers = max(application.most_containers, len(application.containers))
        self.most_on_node[node.name] = max(self.most_on_node[node.name], len(node.containers))
        leaf = application.leaf
        if leaf is not None and not self._fulfilling:
            accounting.charge(self, leaf, application.user, self.label_of(node), resource)

    def _container_completed(self, now_ms: int, event: ContainerCompleted) -> None:
        application = self.applications[application_of(event.container)]
        record = application.containers[event.container]
        node = self.nodes[record.node]
        if event.container in node.marked and application.leaf is not None:
            gone = subtract(self.none, record.resource)
            accounting.change_killable(application.leaf, self.label_of(node), gone)
        super()._container_completed(now_ms, event)
        application.to_preempt.pop(event.container, None)
        self.selected_ms.pop(event.container, None)
        leaf = application.leaf
        if leaf is None:
            return
        accounting.measure(application)
        orders.place_application(application)
        if event.exit_code == ExitCode.PREEMPTED:
            for queue in leaf.path:
                queue.preempted += 1

    def _container_reserved(self, now_ms: int, event: ContainerReserved) -> None:
        application = self.applications[event.application]
        leaf = application.leaf
        assert leaf is not None
        application.look_at()
        order = (event.priority, event.request)
        application.asks.keys[order].opportunities += 1
        standing = application.reservations.get(event.node)
        if standing is not None and (standing.priority, standing.request) == order:
            application.re_reservations[order] = application.re_reservations.get(order, 0) + 1
            return
        super()._container_reserved(now_ms, event)
        self.reserved_ms[event.node] = now_ms
        label = self.label_of(self.nodes[event.node])
        application.reserved_numbers[event.node] = application.next_container
        application.next_container += 1
        application.reserved = add(application.reserved, event.resource)
        application.re_reservations[order] = 0
        accounting.reserve(leaf, label, event.resource)
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
        application.reserved = add(application.reserved, released)
        application.re_reservations[(reservation.priority, reservation.request)] = 0
        accounting.reserve(leaf, label, released)
        if not self._fulfilling:
            application.reserved_numbers.pop(node.name, None)
            accounting.charge(self, leaf, application.user, label, released)
            accounting.measure(application)
            orders.place_application(application)

    def _container_marked(self, now_ms: int, event: ContainerMarked) -> None:
        """Chosen for preemption; chosen again, and due at once: it may be killed for others."""
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

    # Applications.

    def _application_submitted(self, now_ms: int, event: ApplicationSubmitted) -> None:
        super()._application_submitted(now_ms, event)
        accounting.count_application(self.queues[event.queue], 1, now_ms)

    def _application_rejected(self, now_ms: int, event: ApplicationRejected) -> None:
        """As in Hadoop, who was refused for a limit of users stays known to the leaf."""
        super()._application_rejected(now_ms, event)
        if event.code == USER_LIMIT and not self.settings.mappings_override:
            leaf = naming.find(self, event.submission.queue)
            if leaf is not None and leaf.leaf:
                leaf.users.get_or_add(event.submission.user)

    def _application_ended(self, now_ms: int, event: ApplicationEnded) -> None:
        super()._application_ended(now_ms, event)
        leaf = self.queues.get(self.applications[event.application].queue)
        if leaf is not None:
            accounting.count_application(leaf, -1, now_ms)

    def _attempt_started(self, now_ms: int, event: AttemptStarted) -> None:
        super()._attempt_started(now_ms, event)
        application = self.applications[event.application]
        leaf = self.queues[application.queue]
        application.leaf = leaf
        application.priority = application.first_priority
        application.runnable = False
        application.label = leaf.default_label
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
            self._count_runnable(application.user, 1)

    def _count_runnable(self, user: str, change: int) -> None:
        left = self.user_runnable.get(user, 0) + change
        if left:
            self.user_runnable[user] = left
        else:
            self.user_runnable.pop(user, None)

    def _application_admitted(self, now_ms: int, event: ApplicationAdmitted) -> None:
        """One stage on: from held back to waiting, from waiting to active."""
        application = self.applications[event.application]
        if application.stage == Stage.HELD:
            assert application.leaf is not None
            del application.leaf.held[application.id]
            self._enter(application, may_run=True)
            return
        super()._application_admitted(now_ms, event)
        accounting.activate(application)

    def _attempt_ended(self, now_ms: int, event: AttemptEnded) -> None:
        application = self.applications[event.application]
        leaf = application.leaf
        assert leaf is not None
        super()._attempt_ended(now_ms, event)
        self._asks_served(application)
        self._leave(application)
        application.leaf = None

    def _leave(self, application: CapacityApplication) -> None:
        if application.stage != Stage.HELD:
            self._count_runnable(application.user, -1)
        accounting.leave(application)

    def _application_moved(self, now_ms: int, event: ApplicationMoved) -> None:
        application = self.applications[event.application]
        source = application.leaf
        assert source is not None
        target = self.queues[event.queue]
        user = application.user
        for record in application.containers.values():
            label = self.label_of(self.nodes[record.node])
            accounting.charge(self, source, user, label, subtract(self.none, record.resource))
            accounting.charge(self, target, user, label, record.resource)
        for reservation in application.reservations.values():
            label = self.label_of(self.nodes[reservation.node])
            released = subtract(self.none, reservation.resource)
            accounting.charge(self, source, user, label, released)
            accounting.charge(self, target, user, label, reservation.resource)
        self._leave(application)
        super()._application_moved(now_ms, event)
        application.runnable = False
        accounting.move_pending(application, target, target.default_label)
        source.users.ask_no_more(user, application.id)
        application.leaf = target
        application.label = target.default_label
        self._enter(application, may_run=event.runnable)
        accounting.count_application(source, -1, now_ms)
        accounting.count_application(target, 1, now_ms)

    def _priority_changed(self, now_ms: int, event: PriorityChanged) -> None:
        application = self.applications[event.application]
        waiting = application.waiting_entry is not None
        if waiting:
            orders.stop_waiting(application)
        super()._priority_changed(now_ms, event)
        if waiting:
            orders.wait(application)
        orders.place_application(application)

    def _asks_changed(self, now_ms: int, event: AsksChanged) -> None:
        """New asks register an application as asking; no asks at all: it was moved, look again."""
        application = self.applications[event.application]
        before = list(application.asks.wanting)
        super()._asks_changed(now_ms, event)
        leaf = application.leaf
        if leaf is None:
            return
        wanting = application.asks.wanting
        if (wanting and not event.requests) or any(key not in before for key in wanting):
            leaf.users.ask(application.user, application.id)
        if leaf.policy == "fair" and leaf.size_based:
            accounting.measure(application)
        self._asks_served(application)

    def _offers_counted(self, now_ms: int, event: OffersCounted) -> None:
        super()._offers_counted(now_ms, event)
        self.applications[event.application].look_at()
