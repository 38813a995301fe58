"""The data of the Capacity Scheduler's state: nodes, partitions, queues, the settings in force, and
what follows from them at a look.

Only events change it: `state.py` has their handlers.
"""

from collections.abc import Iterable

from fairshare.core.model.applications import Application
from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.nodes import Node
from fairshare.core.model.queues import ROOT
from fairshare.core.model.resources import Resource, ResourceTypes, add, smallest
from fairshare.core.model.state import ClusterState
from fairshare.core.schedulers.capacity.attempts import CapacityAttempt
from fairshare.core.schedulers.capacity.calculators import ResourceCalculator, calculator
from fairshare.core.schedulers.capacity.queues import CapacityQueue
from fairshare.core.schedulers.capacity.settings import CapacitySettings
from fairshare.core.schedulers.capacity.users import Users


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
        self.fulfilling = False  # while a container is granted for a reservation
        self.counts_asks = False  # while one is granted whose asks are counted afterwards
        self.to_recompute: list[Users] = []  # leaves whose limits may have changed in this input

    @property
    def root(self) -> CapacityQueue:
        return self.queues[ROOT]

    def total_of(self, label: str) -> Resource:
        """The total resources of a partition's nodes."""
        return self.totals.get(label, self.none)

    def label_of(self, node: Node) -> str:
        """The partition that a node belongs to."""
        return self.partition_of.get(node.name, "") if self.partition_of else ""

    @property
    def partitions(self) -> dict[str, bool]:
        """The cluster's partitions: by name, whether each is exclusive."""
        return {**self.settings.labels, **self.added_labels}

    @property
    def lends(self) -> bool:
        """Whether some partition is shared
        (Hadoop: SchedulingMode.IGNORE_PARTITION_EXCLUSIVITY)."""
        return len(self.labels) > 1 and not all(self.partitions.values())

    def shares_with_all(self, label: str) -> bool:
        """Whether asks for the default partition may use a partition's idle resources
        (Hadoop: SchedulingMode.IGNORE_PARTITION_EXCLUSIVITY)."""
        return not self.partitions.get(label, True)

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

    def largest_container(self, now_ms: int, queue: CapacityQueue | None) -> Resource:
        """The maximum size of a container now, for each type separately
        (Hadoop: ClusterNodeTracker.getMaxAllowedAllocation)."""
        settings = self.settings
        most = settings.maximum_allocation
        up_ms = now_ms - (self.started_ms or 0)
        if self.nodes and up_ms > settings.maximum_override_delay_ms:
            most = smallest(most, self.largest_node())
        return most if queue is None else smallest(most, queue.maximum_allocation)

    def normalise(self, now_ms: int, ask: Resource) -> Resource:
        """The size that is granted for an ask: rounded up, at most the largest container of the
        cluster. As in Hadoop this may be more than the queue's own maximum, by which asks are
        refused as they were sent."""
        least = self.settings.minimum_allocation
        most = self.largest_container(now_ms, None)
        return self.calculator.normalise(ask, least, most, least)

    @property
    def counts_memory_alone(self) -> bool:
        """With the memory calculator."""
        return not self.settings.dominant

    def made_below(self, queue: CapacityQueue) -> CapacityQueue:
        """The queue below which shares are recomputed when children are added or removed
        (Hadoop: ParentQueue.addDynamicChildQueue)."""
        if self.settings.legacy_queue_mode or queue.parent is None:
            return queue
        return queue.parent

    def room(self, node: Node) -> Resource:
        """What is free on a node, including what lazy preemption would kill for others
        (Hadoop: PreemptionManager)."""
        free = node.available
        for record in node.marked.values():
            free = add(free, record.resource)
        return free

    def count_totals(self) -> None:
        """Sum up the total resources of each partition's nodes."""
        if len(self.labels) == 1:
            self.totals = {"": self.total}
            return
        self.totals = dict.fromkeys(self.labels, self.none)
        for node in self.nodes.values():
            label = self.label_of(node)
            self.totals[label] = add(self.totals[label], node.total)
