"""Demand and fair shares: Hadoop's update pass, limited to what has changed.

Demand is aggregated up the tree, shares are divided down it (Hadoop: ComputeFairShares). Steady
shares do not depend on which queues are active.
"""

import math
from typing import TYPE_CHECKING

from fairshare.core.model.resources import Resource, add, smallest, subtract
from fairshare.core.schedulers.calculators import single
from fairshare.core.schedulers.fair import orders
from fairshare.core.schedulers.fair.queues import FairQueue
from fairshare.core.schedulers.shares import Claim, fair_shares

if TYPE_CHECKING:
    from fairshare.core.schedulers.fair.state import FairState


def update_due(state: "FairState") -> bool:
    """Whether an update would change anything."""
    return bool(state.changed or state.stale_demand or state.shares_stale)


def update(state: "FairState") -> None:
    """Update demand, then fair shares, then the orders that depend on them."""
    _update_demand(state)
    root = state.root
    if root.fair_share != state.total:
        root.fair_share = state.total
        root.shares_stale = True
    if state.shares_stale:
        _share_below(root)
    state.changed.clear()
    state.stale_demand.clear()
    state.shares_stale = False
    settle_steady_shares(state)


def _update_demand(state: "FairState") -> None:
    by_size = state.settings.size_based_weight
    for number in state.changed:
        attempt = state.attempts.get(number)
        if attempt is None:
            continue
        leaf = attempt.leaf
        demand = attempt.asks.pending
        if any(attempt.used):  # else one object does for both
            demand = add(attempt.used, demand)
        if demand != attempt.demand:
            leaf.demand_sum = add(leaf.demand_sum, subtract(demand, attempt.demand))
            attempt.demand = demand
            state.stale_demand[leaf.name] = None
        if by_size:
            # Size-based weight: log2(1 + memory demand), in 32 bits.
            weight = single(math.log1p(attempt.demand[0]) / math.log(2))
            if attempt.runnable:
                attempt.leaf.division.weigh(attempt, weight)
            else:
                attempt.weight = weight
            leaf.shares_stale = state.shares_stale = True
        orders.reconsider(attempt)
    stale = sorted(
        (state.queues[name] for name in state.stale_demand if name in state.queues),
        key=lambda queue: -len(queue.path),
    )
    seen = {queue.name for queue in stale}
    for queue in stale:  # grows: an ancestor is inserted behind all deeper queues
        demand = smallest(queue.max_share, queue.demand_sum)
        if not queue.leaf:  # Hadoop's parents report only memory and vcores
            demand = demand[:2] + (0,) * (len(demand) - 2)
        if demand == queue.demand:
            continue
        parent = queue.parent
        if parent is not None:
            parent.demand_sum = add(parent.demand_sum, subtract(demand, queue.demand))
            if parent.name not in seen:
                seen.add(parent.name)
                place = len(stale)
                while place and len(stale[place - 1].path) < len(parent.path):
                    place -= 1
                stale.insert(place, parent)
        queue.demand = demand
        if queue.entry is not None and parent is not None:
            parent.order.changed(queue)


def _share_below(queue: FairQueue) -> None:
    """Divide a queue's share if its inputs changed, and continue below."""
    if queue.shares_stale:
        queue.shares_stale = False
        if queue.leaf:
            _share_among_applications(queue)
            return
        children = list(queue.children.values())
        shares = [child.fair_share for child in children]
        for index in range(queue.policy.shared_types(len(queue.fair_share))):
            claims = [
                Claim(c.weight, c.min_share[index], c.max_share[index], c.running > 0)
                for c in children
            ]
            divided = fair_shares(queue.fair_share[index], claims)
            shares = [_with(s, index, d) for s, d in zip(shares, divided, strict=True)]
        for child, share in zip(children, shares, strict=True):
            if share != child.fair_share:
                child.fair_share = share
                child.shares_stale = True
    for child in queue.children.values():
        if child.shares_stale or not child.leaf:
            _share_below(child)


def _share_among_applications(leaf: FairQueue) -> None:
    if not leaf.division.weights:  # none is runnable
        return
    attempts = leaf.attempts.values()
    types = leaf.policy.shared_types(len(leaf.fair_share))
    leaf.division.divide(leaf.fair_share, types, attempts)
    if not types:  # fifo: the others keep what they had
        first = min((a for a in attempts if a.runnable), key=lambda attempt: attempt.start_order)
        first.own_share = leaf.fair_share


def _with(resource: Resource, index: int, amount: int) -> Resource:
    return (*resource[:index], amount, *resource[index + 1 :])


def settle_steady_shares(state: "FairState") -> None:
    """Compute the steady shares if they are due (Hadoop: FSParentQueue.recomputeSteadyShares)."""
    if state.steady_stale:
        for name, share in _steady_shares_below(state.root, state.total).items():
            state.queues[name].steady_fair_share = share
        state.steady_stale = False


def steady_shares(state: "FairState") -> dict[str, Resource]:
    """The steady share of each queue, by its name, also while new ones are due. Changes nothing."""
    if state.steady_stale:
        return _steady_shares_below(state.root, state.total)
    return {name: queue.steady_fair_share for name, queue in state.queues.items()}


def _steady_shares_below(root: FairQueue, total: Resource) -> dict[str, Resource]:
    """The steady shares of a queue and of all below it, by name."""
    steady = {root.name: total}
    parents = [root]
    for queue in parents:  # grows
        share = steady[queue.name]
        children = list(queue.children.values())
        shares = [child.steady_fair_share for child in children]
        for index in range(queue.policy.shared_types(len(total))):
            claims = [Claim(c.weight, c.min_share[index], c.max_share[index]) for c in children]
            divided = fair_shares(share[index], claims)
            shares = [_with(s, index, d) for s, d in zip(shares, divided, strict=True)]
        steady.update(zip((child.name for child in children), shares, strict=True))
        parents.extend(child for child in children if not child.leaf)
    return steady
