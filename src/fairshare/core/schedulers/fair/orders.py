"""The maintenance of the orders in which siblings are served.

`state.py` calls this when an event has changed what an order depends on.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fairshare.core.model.resources import Resource, shared
from fairshare.core.schedulers.fair.attempts import FairAttempt
from fairshare.core.schedulers.fair.policies import Remembering
from fairshare.core.schedulers.fair.queues import FairQueue

if TYPE_CHECKING:
    from fairshare.core.schedulers.ordering import Order


def reorder(queue: FairQueue, cluster: Resource, *, remembers: bool) -> None:
    """Recompute the keys of a queue's children (the cluster, policy, settings or charges have
    changed)."""
    follow(queue, cluster, remembers=remembers)
    queue.order.refresh()


def follow(queue: FairQueue, cluster: Resource, *, remembers: bool) -> None:
    """Use the key of a queue's policy. `remembers`: what was used in the past counts, too."""
    policy = queue.policy
    queue.order.follow(Remembering(policy) if remembers else policy, cluster)


def renumber(queue: FairQueue) -> None:
    """Rank a queue's children by name, which breaks ties."""
    children = [queue.children[name] for name in sorted(queue.children)]
    queue.order.renumber(children)


def rank(attempt: FairAttempt) -> None:
    """Give an application its rank in its leaf, by start."""
    leaf = attempt.leaf
    order: Order[FairAttempt] = leaf.order
    last = next((a for a in reversed(order.members) if a is not None), None)
    if last is None or last.start_order < attempt.start_order:
        if len(order.members) > 2 * len(leaf.attempts) + 64:
            order.renumber([a for a in order.members if a is not None])
        order.append(attempt)
        return
    entry = attempt.entry
    attempts = [a for a in order.members if a is not None] + [attempt]
    order.renumber(sorted(attempts, key=lambda a: a.start_order))
    attempt.entry = entry


def reconsider(attempt: FairAttempt, *, moved: bool = True) -> None:
    """Add an application to its leaf's order, move it there, or remove it, according to its state.

    Without `moved` its use, demand and weight are as before, and so is its key.
    """
    leaf = attempt.leaf
    wanting = attempt.asks.wanting
    runnable = attempt.runnable
    if not runnable or len(wanting) != len(attempt.counted_sizes):
        count_sizes(attempt)
    if wanting and runnable and attempt.demand != attempt.used:
        if attempt.entry is not None:
            if moved:
                leaf.order.changed(attempt)
            return
        leaf.order.moved(attempt)
        if not attempt.asking:
            attempt.asking = True
            _more_asking(leaf, 1)
    elif attempt.asking:
        leaf.order.leave(attempt)
        attempt.asking = False
        _more_asking(leaf, -1)


def _more_asking(queue: FairQueue, change: int) -> None:
    queue.asking += change
    parent = queue.parent
    if parent is None:
        return
    if change > 0 and queue.asking == 1:
        parent.order.moved(queue)
        _more_asking(parent, 1)
    elif change < 0 and queue.asking == 0:
        parent.order.leave(queue)
        _more_asking(parent, -1)


def move_all(path: Iterable[FairQueue]) -> None:
    """Move queues whose use has changed to their new positions."""
    for queue in path:
        if queue.parent is not None and queue.entry is not None:
            queue.parent.order.changed(queue)


def count_sizes(attempt: FairAttempt) -> None:
    """Update the queues' table of pending sizes for one application."""
    sizes: list[Resource] = []
    leaf = attempt.leaf
    if attempt.runnable:
        for key in attempt.asks.wanting:
            assert key.anywhere is not None
            sizes.append(key.anywhere.resource)
            for place in key.places.values():
                if place.resource != key.anywhere.resource:
                    sizes.append(place.resource)
    counted = tuple(sizes)
    if counted != attempt.counted_sizes:
        for size in counted:
            leaf.count_size(size, 1)
        for size in attempt.counted_sizes:
            leaf.count_size(size, -1)
        attempt.counted_sizes = shared(counted)
