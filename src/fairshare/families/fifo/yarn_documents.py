"""Owns the document of the FIFO scheduler (Hadoop: FifoSchedulerInfo)."""

from fairshare.families.yarn.documents import Document
from fairshare.families.yarn.queue_documents import TYPED
from fairshare.families.yarn.resources import shortest
from fairshare.schedulers.fifo.state import FifoState


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
