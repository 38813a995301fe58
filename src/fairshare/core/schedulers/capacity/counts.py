"""Owns what is counted of the applications below each queue, for views and documents. Changes
nothing.
"""

from collections.abc import Sequence
from typing import NamedTuple

from fairshare.core.schedulers.capacity.attempts import Stage
from fairshare.core.schedulers.capacity.queues import CapacityQueue


class Counts(NamedTuple):
    """What the applications of a queue and of all queues below it come to together.

    `active` ones are served; `waiting` ones are held back by a limit of masters; `for_masters` are
    those that wait for room for a master, an active one for its second master, too; `held` ones are
    held back by max-parallel-apps.
    """

    active: int
    waiting: int
    for_masters: int
    held: int
    containers: int
    reserved_containers: int
    pending_containers: int


def counts_with(queue: CapacityQueue, below: Sequence[Counts]) -> Counts:
    """The counts of a queue, whose children have these."""
    own = _counts_of(queue)
    return Counts(*map(sum, zip(own, *below, strict=True))) if below else own


def _counts_of(queue: CapacityQueue) -> Counts:
    """The counts of a queue's own applications."""
    active = waiting = for_masters = held = containers = reserved = pending = 0
    for attempt in queue.attempts.values():
        if attempt.stage == Stage.ACTIVE:
            active += 1
        elif attempt.stage == Stage.WAITING:
            waiting += 1
        for_masters += attempt.waiting_entry is not None
        held += attempt.held
        containers += len(attempt.containers)
        reserved += len(attempt.reservations)
        for key in attempt.asks.wanting:
            if key.anywhere is not None:
                pending += key.anywhere.count
    return Counts(active, waiting, for_masters, held, containers, reserved, pending)
