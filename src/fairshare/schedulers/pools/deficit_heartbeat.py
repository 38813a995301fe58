"""Owns what 0.19 and 0.20 do when a node is ready: the job that is owed most goes first.

One map at most, then one reduce at most, or only one of both (spec/mapreduce.md 7).
"""

from collections.abc import Callable
from heapq import heapify, heappop

from fairshare.model.nodes import Node
from fairshare.schedulers.pools.grants import Offer
from fairshare.schedulers.pools.jobs import Job
from fairshare.schedulers.pools.limits import first_come
from fairshare.schedulers.pools.locality import nearest
from fairshare.schedulers.pools.settings import MAP, REDUCE
from fairshare.schedulers.pools.state import PoolsState
from fairshare.schedulers.protocol import Step

Key = Callable[[Job], tuple[int, ...]]


def run(state: PoolsState, step: Step, node: Node) -> None:
    """Serve one heartbeat."""
    wanted = [sum(job.slots[kind].wanted for job in state.jobs.values()) for kind in (MAP, REDUCE)]
    offer = Offer(state, step, node, (wanted[MAP], wanted[REDUCE]))
    for kind in (MAP, REDUCE):
        if offer.may_take(kind) and _serve(offer, kind) and not state.settings.assigns_multiple:
            return


def most_owed(place: int, kind: int) -> Key:
    """The order of deficits: who has less than its guarantee, then who is owed most (7.2)."""

    def key(job: Job) -> tuple[int, ...]:
        slots = job.slots[kind]
        needy = job.used[place] < slots.min
        return not needy, -slots.deficit, job.submitted_ms, job.id

    return key


def _serve(offer: Offer, kind: int) -> bool:
    """One task for the first job that has one for this node."""
    state = offer.state
    place = state.places[kind]
    key = first_come if state.settings.fifo else most_owed(place, kind)
    line = [
        (key(job), job.id)
        for job in state.jobs.values()
        if job.running and job.slots[kind].needed > 0
    ]
    heapify(line)
    while line:
        job = state.jobs[heappop(line)[1]]
        found = nearest(job, place, offer.node)
        if found is not None:
            offer.grant(job, *found)
            return True
    return False
