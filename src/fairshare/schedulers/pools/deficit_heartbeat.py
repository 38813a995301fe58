"""Owns the heartbeats of 0.19 and 0.20: the job with the largest deficit is served first.

At most one map, then at most one reduce, or only one of both (Hadoop: FairScheduler.assignTasks).
"""

from fairshare.model.nodes import Node
from fairshare.schedulers.ordering import Entry
from fairshare.schedulers.pools.grants import Offer
from fairshare.schedulers.pools.jobs import Job
from fairshare.schedulers.pools.locality import nearest
from fairshare.schedulers.pools.service_orders import Entrant, Line, OwedOrders
from fairshare.schedulers.pools.settings import MAP, REDUCE
from fairshare.schedulers.pools.state import PoolsState
from fairshare.schedulers.protocol import Step


def run(state: PoolsState, step: Step, node: Node) -> None:
    """Serve one heartbeat."""
    lines = _lines(state)
    offer = Offer(state, step, node, lines.wanted)
    for kind in (MAP, REDUCE):
        served = offer.may_take(kind) and _serve(offer, lines.of_kind[kind], kind)
        if served and not state.settings.assigns_multiple:
            return


def _lines(state: PoolsState) -> OwedOrders:
    if not isinstance(state.lines, OwedOrders):
        state.lines = OwedOrders(state)
    return state.lines


def _serve(offer: Offer, line: Line, kind: int) -> bool:
    """Grant one task to the first job that has one for this node. A job without one leaves the
    order temporarily, during which it does not change."""
    place = offer.state.places[kind]
    aside: list[tuple[Entrant, Entry]] = []
    while (entrant := line.first()) is not None:
        job = entrant.member
        assert isinstance(job, Job)
        assert entrant.entry is not None
        found = nearest(job, place, offer.node)
        if found is not None:
            offer.grant(job, *found)
            break
        aside.append((entrant, entrant.entry))
        line.leave(entrant)
    for passed_over, entry in aside:
        line.enter_again(passed_over, entry)
    return entrant is not None
