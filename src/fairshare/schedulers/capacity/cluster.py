"""Owns the part of the Capacity Scheduler's state that does not concern applications: nodes,
partitions, queues, the settings in force, and values derived from them.

Only events change it; `state.py` has what containers and applications change.
"""

from collections.abc import Iterable

from fairshare.model.applications import Application
from fairshare.model.events import (
    ConfigurationLoaded,
    LabelsChanged,
    NodeAdded,
    NodeRemoved,
    NodesLabelled,
    NodeTotalChanged,
    QueueCreated,
    QueueDynamicChanged,
    QueueRemoved,
    QueuesConfigured,
    SharesUpdated,
)
from fairshare.model.identifiers import ContainerId, application_of
from fairshare.model.nodes import Node
from fairshare.model.operations import Handlers
from fairshare.model.queues import ROOT, parent_name
from fairshare.model.resources import Resource, ResourceTypes, add, smallest
from fairshare.model.state import ClusterState
from fairshare.schedulers.capacity import (
    capacities,
    configuration,
    management,
    orders,
    partitions,
)
from fairshare.schedulers.capacity.attempts import CapacityAttempt
from fairshare.schedulers.capacity.calculators import ResourceCalculator, calculator
from fairshare.schedulers.capacity.containers import FIRST_PORT
from fairshare.schedulers.capacity.events import (
    LimitsComputed,
    QueueEntitled,
    QueueExpiring,
    QueueLimited,
)
from fairshare.schedulers.capacity.queues import CapacityQueue
from fairshare.schedulers.capacity.settings import CapacitySettings
from fairshare.schedulers.capacity.users import Users
from fairshare.schedulers.hash_order import in_hash_order, table_size, text_code


class CapacityCluster(ClusterState[CapacityQueue, CapacityAttempt]):
    """The cluster as the Capacity Scheduler sees it.

    `labels` are the partitions, the default one (`""`) first. `user_runnable` counts the attempts
    of each user that max-parallel-apps lets run. `selected_ms` is when a container was first
    selected for preemption. `departed` has the leaves that a reload removed, or made parents, while
    they had applications: nothing is assigned below them any more, and each is dropped with its
    last application (Hadoop: CapacitySchedulerConfigValidator.validateQueueHierarchy).
    """

    def __init__(self, types: ResourceTypes) -> None:
        super().__init__(types)
        self.settings = CapacitySettings(types=types)
        self.calculator: ResourceCalculator = calculator(False, len(types.names))
        self.labels: tuple[str, ...] = ("",)
        self.totals: dict[str, Resource] = {"": types.none}
        self.added_labels: dict[str, bool] = {}  # by administrators: whether each is exclusive
        self.assigned_labels: dict[str, str] = {}  # by administrators: the partitions of nodes
        self.partition_of: dict[str, str] = {}  # of each node outside the default one
        self.started_ms: int | None = None
        self.starts = 0
        self.user_runnable: dict[str, int] = {}
        self.selected_ms: dict[ContainerId, int] = {}
        self.resized = False  # and no capacity has been computed since
        self.most_on_node: dict[str, int] = {}  # containers at once, since it joined
        self.departed: dict[str, CapacityQueue] = {}
        self.arrivals = 0  # nodes added so far
        self.most_nodes = 0  # at once
        self.ports: dict[str, int] = {}  # of the nodes
        self.reserved_ms: dict[str, int] = {}  # the start of a node's reservation
        self._fulfilling = False
        self._granting = False  # while a container without a reservation is granted
        self._to_place = False  # its queues' orders must still be updated
        self.stirred: list[Users] = []  # leaves whose limits may have changed in this input

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
        }

    @property
    def root(self) -> CapacityQueue:
        """The root queue."""
        return self.queues[ROOT]

    def total_of(self, label: str) -> Resource:
        """The total resources of a partition's nodes."""
        return self.totals.get(label, self.none)

    def label_of(self, node: Node) -> str:
        """The partition that a node belongs to."""
        return self.partition_of.get(node.name, "") if self.partition_of else ""

    def drop_reservation(self, node: Node) -> None:
        """Drop a node's reservation; only as a consequence of an event."""
        self._drop_reservation(node)

    @property
    def lends(self) -> bool:
        """Whether some partition is shared
        (Hadoop: SchedulingMode.IGNORE_PARTITION_EXCLUSIVITY)."""
        return len(self.labels) > 1 and not all(partitions.of_cluster(self).values())

    def shares_with_all(self, label: str) -> bool:
        """Whether asks for the default partition may use a partition's idle resources
        (Hadoop: SchedulingMode.IGNORE_PARTITION_EXCLUSIVITY)."""
        return not partitions.of_cluster(self).get(label, True)

    def new_queue(self, name: str, leaf: bool, dynamic: bool) -> CapacityQueue:
        """Create a queue with the settings in force and add it to its parent."""
        parent = self.queues.get(parent_name(name))
        queue = CapacityQueue(name, leaf, dynamic, parent, self.none)
        queue.users.leaf, queue.users.stirred = queue, self.stirred
        configuration.configure(self, queue, first=True)
        if parent is not None:
            parent.children[name] = queue
        return queue

    def new_attempt(self, application: Application, number: int) -> CapacityAttempt:
        """An attempt in the leaf of its application."""
        return CapacityAttempt(application, number, self.queue_of(application.queue))

    def ancestry(self, queue: str) -> tuple[CapacityQueue, ...]:
        """A queue and its ancestors."""
        return self.queue_of(queue).path

    def queue_of(self, name: str) -> CapacityQueue:
        """The leaf that holds the applications of this queue name, departed or not."""
        departed = self.departed.get(name) if self.departed else None
        return self.queues[name] if departed is None else departed

    def all_queues(self) -> Iterable[CapacityQueue]:
        """The queues of the configuration, the departed leaves, and their ancestors."""
        above = (queue for leaf in self.departed.values() for queue in leaf.path)
        return dict.fromkeys((*self.queues.values(), *above))

    def forget_departed(self, leaf: CapacityQueue) -> None:
        """An application has left: drop its leaf if that has departed and is empty now."""
        if self.departed.get(leaf.name) is leaf and not leaf.number_of_applications:
            del self.departed[leaf.name]

    # Sizes of containers.

    def largest_container(self, now_ms: int, queue: CapacityQueue | None) -> Resource:
        """The maximum size of a container now, for each type separately
        (Hadoop: ClusterNodeTracker.getMaxAllowedAllocation)."""
        settings = self.settings
        most = settings.maximum_allocation
        up_ms = now_ms - (self.started_ms or 0)
        if self.nodes and up_ms > settings.maximum_override_delay_ms:
            most = smallest(most, self.largest_node())
        return most if queue is None else smallest(most, queue.maximum_allocation)

    def normalise(self, now_ms: int, queue: CapacityQueue | None, ask: Resource) -> Resource:
        """The size that is granted for an ask."""
        least = self.settings.minimum_allocation
        most = self.largest_container(now_ms, queue)
        return self.calculator.normalise(ask, least, most, least)

    @property
    def counts_memory_alone(self) -> bool:
        """With the memory calculator."""
        return not self.settings.dominant

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
            if label and label not in partitions.of_cluster(self):
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
            self._order_children(queue)
        self._recompute()

    def _order_children(self, queue: CapacityQueue) -> None:
        """Order the children as in the file, then those that it does not name.

        As in Hadoop a reload uses the order of a hash map instead, which decides between children
        with the same used capacity. Leaves of the older auto-creation keep the order of their
        creation: their parent does not reread its children.
        """
        if queue.ranked and management.makes_leaves(queue):
            return
        if queue.ranked:
            size = table_size(len(queue.children), concurrent=False)
            names = in_hash_order(queue.children, text_code, size)
            queue.children = {name: queue.children[name] for name in names}
            return
        names = [f"{queue.name}.{short}" for short in queue.settings.children or ()]
        named = [name for name in names if name in queue.children]
        others = [name for name in queue.children if name not in named]
        queue.children = {name: queue.children[name] for name in (*named, *others)}

    def _recompute(self, top: CapacityQueue | None = None) -> None:
        self.resized = False
        if ROOT in self.queues:
            capacities.recompute(self, top or self.root)

    def _limits_computed(self, now_ms: int, event: LimitsComputed) -> None:
        self._recompute(self.queues[event.queue])

    def made_below(self, queue: CapacityQueue) -> CapacityQueue:
        """The queue below which shares are recomputed when children are added or removed
        (Hadoop: ParentQueue.addDynamicChildQueue)."""
        if self.settings.legacy_queue_mode or queue.parent is None:
            return queue
        return queue.parent

    def settle(self) -> None:
        """At the end of an input, recompute what follows from a new size of an empty cluster, and
        the limits of leaves whose masters receive a headroom."""
        if self.resized:
            self._recompute()
        for users in self.stirred:
            users.stirs = False
            if users.masters and users.counted != users.version:
                users.compute_again()
        self.stirred.clear()

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

    def room(self, node: Node) -> Resource:
        """What is free on a node, including what lazy preemption would kill for others
        (Hadoop: PreemptionManager)."""
        free = node.available
        for record in node.marked.values():
            free = add(free, record.resource)
        return free

    def _node_added(self, now_ms: int, event: NodeAdded) -> None:
        super()._node_added(now_ms, event)
        self.most_on_node[event.node] = 0
        self.ports[event.node] = FIRST_PORT + self.arrivals
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
        self._charge_anew(node)
        self._drop_reservation(node)  # as in Hadoop, whatever the new size
        super()._node_total_changed(now_ms, event)
        self._total_changed()

    def _charge_anew(self, node: Node) -> None:
        """As in Hadoop each user of a container on the node gets a record, if it had none:
        Hadoop subtracts the container's use and adds it again, as if the node had changed its
        partition."""
        for record in node.containers.values():
            attempt = self.attempts[application_of(record.container)]
            attempt.leaf.users.get_or_add(attempt.user)

    def _total_changed(self) -> None:
        self.count_totals()
        if self.applications:
            self._recompute()
        else:
            self.resized = True

    def count_totals(self) -> None:
        """Sum up the total resources of each partition's nodes."""
        if len(self.labels) == 1:
            self.totals = {"": self.total}
            return
        self.totals = dict.fromkeys(self.labels, self.none)
        for node in self.nodes.values():
            label = self.label_of(node)
            self.totals[label] = add(self.totals[label], node.total)
