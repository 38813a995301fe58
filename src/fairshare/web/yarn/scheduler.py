"""Owns the path of the scheduler: each kind has its own document (spec/rest.md 1.8.4)."""

from starlette.requests import Request

from fairshare.families.yarn.documents import Document
from fairshare.families.yarn.resources import shortest
from fairshare.schedulers.capacity.state import CapacityState
from fairshare.schedulers.fair.state import FairState
from fairshare.schedulers.fifo.state import FifoState
from fairshare.web.yarn.answering import Answer, YarnRoute
from fairshare.web.yarn.callers import Caller
from fairshare.web.yarn.capacity_documents import capacity_scheduler
from fairshare.web.yarn.capacity_queue_documents import CapacitySchedulerInfo
from fairshare.web.yarn.errors import not_found
from fairshare.web.yarn.fair_documents import FairSchedulerInfo, fair_scheduler
from fairshare.web.yarn.gateway import Gateway, gateway_of


class FifoSchedulerInfo(Document, rename={"type_": "type"}):
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


class SchedulerInfo(Document):
    """What the scheduler is, in its own form."""

    schedulerInfo: FairSchedulerInfo | FifoSchedulerInfo | CapacitySchedulerInfo


async def show_scheduler(request: Request, caller: Caller) -> Answer:
    """GET /scheduler."""
    return Answer(SchedulerInfo(document_of(gateway_of(request))), "scheduler")


def document_of(
    gateway: Gateway,
) -> FairSchedulerInfo | FifoSchedulerInfo | CapacitySchedulerInfo:
    """The scheduler's own document; raises Refused (404) for one that YARN does not have."""
    state = gateway.scheduler.state
    if isinstance(state, FairState):
        return fair_scheduler(gateway, state)
    if isinstance(state, CapacityState):
        return capacity_scheduler(gateway, state)
    if isinstance(state, FifoState):
        return _fifo(state)
    raise not_found("Unknown scheduler configured")


def _fifo(state: FifoState) -> FifoSchedulerInfo:
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


ROUTES = [YarnRoute("/scheduler", get=show_scheduler)]
