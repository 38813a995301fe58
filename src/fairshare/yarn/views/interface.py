"""`YarnInterface`: all that YARN's REST interface says differently for each scheduler.

`yarn/rest`, `yarn/rpc` and the projections ask the interface of the scheduler's family. The
defaults are those for a scheduler that YARN does not know, such as the Fair Scheduler of MapReduce;
a family overrides what Hadoop says of its scheduler.

State is read only. `state` is always that of the family's own scheduler.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import ClassVar, Final, Protocol

from msgspec import UNSET, UnsetType

from fairshare.core.model.applications import Application
from fairshare.core.model.events import Event
from fairshare.core.model.nodes import Node
from fairshare.core.model.resources import Resource, smallest
from fairshare.core.record import Record
from fairshare.core.schedulers.calculators import single
from fairshare.core.schedulers.pools.state import PoolsState
from fairshare.core.schedulers.protocol import State, Steps
from fairshare.yarn.views.context import MasterLimit, YarnContext
from fairshare.yarn.views.documents import Document, ResourceUsages, Written, percent
from fairshare.yarn.views.queues import QueueReports, reports_of_views, scheduler_document

WAITS: Final = "Application is added to the scheduler and is not yet activated."


class NodeLabels(Protocol):
    """The labels of a cluster and of its nodes; the label of the default partition is empty."""

    @property
    def nodes_report(self) -> bool:
        """Whether nodes report their labels themselves (`configuration-type` distributed)."""

    def labels(self) -> Mapping[str, bool]:
        """All labels, sorted: whether each is exclusive."""

    def of_node(self, node: Node) -> str:
        """The label of a registered node."""

    def assigned(self) -> Mapping[str, str]:
        """The labels that administrators have assigned, by the name of the node, registered or
        not."""

    def total_of(self, label: str) -> Resource:
        """The resources of the nodes with a label."""


class YarnInterface:
    """What YARN's REST interface shows of one scheduler. An object has no state of its own."""

    title: ClassVar[str] = ""
    """`schedulerType` of the overview; empty: the scheduler's name."""

    class_name: ClassVar[str] = ""
    """The simple name of Hadoop's class in messages; empty: the scheduler's name."""

    changes_priorities: ClassVar[bool] = True
    """False: a request to change an application's priority is accepted and ignored."""

    has_activities: ClassVar[bool] = False
    """Whether the paths below `/scheduler/activities` record what the scheduler does."""

    counts_users: ClassVar[bool] = False
    """Whether `/jmx` has a bean for each user of a queue, as Hadoop's scheduler of this name."""
    counts_partitions: ClassVar[bool] = False
    """Whether metrics are those of the default partition, beside sums over all partitions. Then
    `totalMB` includes reservations."""

    negotiates_preemption: ClassVar[bool] = False
    """Whether masters may give back other containers than those that are to be preempted: they
    receive YARN's negotiable contract, once; else the strict one, until the containers have ended.
    """

    master_limit_events: ClassVar[Sequence[type[Event]]] = ()
    """The kinds of events after which the limits for masters are to be asked for again."""

    # The scheduler and its queues.

    def counts_vcores(self, state: State) -> bool:
        """Whether containers are granted by vcores too, as masters are informed: by default by
        memory alone."""
        return False

    def document(self, context: YarnContext) -> Document:
        """The content of `schedulerInfo`. By default all queues, with the fields of
        `QueueView` in the names of the Fair Scheduler's document."""
        return scheduler_document(context)

    def document_in_steps(self, context: YarnContext, written: Written) -> Steps[Document]:
        """The same with a pause after each queue, where there may be a thousand of them. Queues are
        shown as they are when their turn comes, as in Hadoop, which locks one queue at a time.
        `written` takes the document of each queue. By default it is made in one step."""
        yield from ()
        return self.document(context)

    def allocation_limits(self, state: State) -> tuple[Resource, Resource]:
        """The smallest and the largest container. By default nothing, and the whole cluster."""
        return state.none, state.total

    def configured_maximum(self, state: State) -> Resource:
        """The largest master that may be requested. By default the whole cluster."""
        return state.total

    def maximum_priority(self, state: State) -> int:
        """The largest priority of applications; 0 where the scheduler has no such limit."""
        return 0

    def default_partition(self, state: State) -> tuple[Resource, Resource]:
        """The resources of the default partition, and what is occupied of them, with reservations
        where metrics count them. By default the whole cluster and all containers."""
        return state.total, state.used

    def tested_master_limits(
        self, record: Record, state: State
    ) -> Mapping[str, MasterLimit | None]:
        """The limits for masters that a record made the scheduler test, by leaf; None: the leaf has
        gone. `state` already has the record's events. By default none."""
        return {}

    def queue_reports(self, context: YarnContext) -> QueueReports:
        """What clients of YARN's RPC see of the queues now."""
        return reports_of_views(context)

    # Nodes.

    def node_label(self, state: State, node: Node) -> str:
        """The label of a registered node; empty: it has none."""
        return ""

    def node_labels(self, state: State) -> NodeLabels | None:
        """The labels of the cluster; None where they are disabled or unsupported."""
        return None

    # Names of queues.

    def queue_by_last_part(self, state: State, name: str) -> str:
        """The full name of the only queue whose last part is `name`; empty where callers must name
        queues in full, which is the default."""
        return ""

    def queue_of_access(self, state: State, name: str) -> str:
        """The queue whose access lists answer for `name`; empty: there is none."""
        return name if name in state.queues else ""

    def queue_of_filter(self, state: State, name: str) -> str | None:
        """The full name of the queue to whose applications a list is restricted; None: no
        application is in it. Empty: `matches_filter` decides for each application.

        Raises InputError for a name that is refused.
        """
        return name if name == "root" or name.startswith("root.") else None

    def matches_filter(self, application: Application, name: str) -> bool:
        """Whether a list restricted to `name` has an application, where `queue_of_filter` returns
        an empty name."""
        return True

    # Applications.

    def shown_queue(self, application: Application) -> str:
        """The name of an application's queue."""
        return application.queue

    def shown_priority(self, application: Application) -> int:
        """The priority of an application."""
        return application.priority

    def usage_percentages(self, state: State, application: Application) -> tuple[float, float]:
        """The memory of an application's containers as percentages of its queue's part of the
        cluster, and of the cluster. By default a queue has the whole cluster. 0 once the
        application has left the queue.

        All divisions are rounded to 32 bits, as Hadoop's are: 5120 MB in a cluster of 40960 MB are
        12.5.
        """
        if not counts_use(state, application):
            return 0.0, 0.0
        ratio = percent(single(application.used[0] / state.total[0]))
        return ratio, ratio

    def application_usages(
        self, state: State, application: Application, *, reserved: bool
    ) -> ResourceUsages | UnsetType:
        """The use of an application by partition; UNSET where the scheduler has no partitions.
        `reserved`: it once had a reservation."""
        return UNSET

    def why_waits(self, state: State, application: Application) -> str:
        """Why an attempt waits for its master's container, in Hadoop's words; by default empty."""
        return ""

    def waiting_key(self, state: State, application: Application) -> Hashable:
        """A value with which `why_waits` changes: as long as the state is the same, equal keys give
        equal texts. By default the text itself; override it where a key costs less."""
        return self.why_waits(state, application)

    def refusal(self, application: Application, name: str, code: str, queue: str) -> str:
        """Why a submission was refused. `name` is that of the application, which Hadoop's messages
        have, `code` and `queue` those of the refusal. By default the scheduler's own words."""
        return application.diagnostics


def counts_use(state: State, application: Application) -> bool:
    """Whether an application's use is a percentage above 0."""
    return bool(
        application.active
        and state.total[0]
        and application.queue in state.queues
        and any(application.used)
    )


def within_largest_node(state: State, least: Resource, most: Resource) -> tuple[Resource, Resource]:
    """Configured limits of a container; the largest one is never larger than the largest node."""
    return least, smallest(most, state.largest_total()) if state.nodes else most


class PoolsYarn(YarnInterface):
    """The pool scheduler: what YARN shows of any scheduler that it does not know."""

    def configured_maximum(self, state: State) -> Resource:
        """A job's master occupies no slots: it may have any size."""
        assert isinstance(state, PoolsState)
        return state.settings.maximum_allocation
