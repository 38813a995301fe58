"""What YARN's REST interface shows of the FIFO scheduler (Hadoop: FifoSchedulerInfo)."""

from fairshare.core.model.applications import Application
from fairshare.core.model.queues import ROOT
from fairshare.core.model.resources import Resource
from fairshare.core.schedulers.fifo import FifoState
from fairshare.core.schedulers.protocol import State
from fairshare.yarn.views.context import YarnContext
from fairshare.yarn.views.documents import Document, shortest
from fairshare.yarn.views.interface import YarnInterface, within_largest_node
from fairshare.yarn.views.queues import TYPED


class FifoSchedulerInfo(Document, rename=TYPED):
    """The FIFO scheduler: one queue, which has everything. Capacities are 0 to 1."""

    type_: str
    capacity: float
    usedCapacity: float
    qstate: str
    minQueueMemoryCapacity: int
    maxQueueMemoryCapacity: int
    numNodes: int
    usedNodeCapacity: int
    availNodeCapacity: int
    totalNodeCapacity: int
    numContainers: int


def fifo_scheduler(state: FifoState) -> FifoSchedulerInfo:
    """The queue and the nodes in their present state."""
    used, offered = state.used[0], state.total[0]
    held = sum(node.used[0] for node in state.nodes.values())
    return FifoSchedulerInfo(
        type_="fifoScheduler",
        capacity=1.0,
        usedCapacity=shortest(used / offered) if offered else 0.0,
        qstate="RUNNING",
        minQueueMemoryCapacity=state.settings.minimum_allocation[0],
        maxQueueMemoryCapacity=state.settings.maximum_allocation[0],
        numNodes=len(state.nodes),
        usedNodeCapacity=held,
        availNodeCapacity=offered - held,
        totalNodeCapacity=offered,
        numContainers=sum(node.occupants for node in state.nodes.values()),
    )


_ONLY_QUEUE = "default"


class FifoYarn(YarnInterface):
    """Hadoop's FIFO scheduler: one queue, which takes any name."""

    title = "Fifo Scheduler"
    class_name = "FifoScheduler"
    changes_priorities = False

    def document(self, context: YarnContext) -> Document:
        """The queue's capacity and the nodes."""
        return fifo_scheduler(_own(context.scheduler.state))

    def allocation_limits(self, state: State) -> tuple[Resource, Resource]:
        """As configured, and at most the largest node."""
        settings = _own(state).settings
        return within_largest_node(state, settings.minimum_allocation, settings.maximum_allocation)

    def configured_maximum(self, state: State) -> Resource:
        """`yarn.scheduler.maximum-allocation-*`."""
        return _own(state).settings.maximum_allocation

    def queue_of_access(self, state: State, name: str) -> str:
        """Any name is that of the one queue."""
        return ROOT

    def queue_of_filter(self, state: State, name: str) -> str:
        """Filters compare the name that an application shows."""
        return ""

    def matches_filter(self, application: Application, name: str) -> bool:
        """By the requested name; `default` has all that are active."""
        if name == _ONLY_QUEUE and application.active:
            return True
        return self.shown_queue(application) == name

    def shown_queue(self, application: Application) -> str:
        """The requested name."""
        return application.submission.queue


def _own(state: State) -> FifoState:
    assert isinstance(state, FifoState)
    return state
