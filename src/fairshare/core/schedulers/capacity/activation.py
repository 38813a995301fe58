"""The activation of waiting applications: the pass that finds room for masters, and the release of
applications that max-parallel-apps held back.

Decides by `step.emit` alone (Hadoop: LeafQueue.activateApplications, CSMaxRunningAppsEnforcer).
"""

from bisect import bisect_right
from collections.abc import Iterator
from heapq import heapify, heappop, heapreplace, merge
from typing import TYPE_CHECKING

from fairshare.core.model.events import ApplicationAdmitted, NodeAdded, NodeRemoved
from fairshare.core.model.queues import ROOT
from fairshare.core.model.resources import Resource, add
from fairshare.core.schedulers.capacity import limits
from fairshare.core.schedulers.capacity.attempts import CapacityAttempt
from fairshare.core.schedulers.capacity.capacities import below
from fairshare.core.schedulers.capacity.cluster import CapacityCluster
from fairshare.core.schedulers.capacity.events import LimitsComputed, QueueLimited, UserNoted
from fairshare.core.schedulers.capacity.queues import CapacityQueue

if TYPE_CHECKING:
    from fairshare.core.schedulers.protocol import Step


def activate(state: CapacityCluster, step: "Step", leaf: CapacityQueue) -> None:
    """One pass over the waiting applications of a leaf.

    An application that does not fit is skipped, so that a smaller master further back may start. As
    in Hadoop the user limit computed for the first application that is tested against it holds for
    all others of the pass, whatever their users (quirk 2).
    """
    queue_limits: dict[str, Resource] = {}
    user_limits: dict[str, Resource] = {}
    # What did not fit does not fit later in the pass either, since masters are only added in it. So
    # of thousands that wait, and are nearly all alike, the first one is looked at.
    refused: set[tuple[str, Resource]] = set()
    heads = [(alike[0], kind) for kind, alike in leaf.waiting_kinds.items()]
    heapify(heads)
    while heads:
        entry, kind = heads[0]
        label, master, user = kind
        if (label, master) in refused:
            heappop(heads)
            continue
        share = leaf.shares[label]
        if label not in queue_limits:
            queue_limits[label] = limits.master_limit(state, leaf, label)
        fits = state.calculator.fits(add(share.master_used, master), queue_limits[label])
        if not fits and not _first_anyway(state, leaf, label):
            refused.add((label, master))
            continue
        if label not in user_limits:
            user_limits[label] = limits.user_master_limit(state, leaf, label, user)
        record = leaf.users.get(user)
        if record is None:  # a change of its priority made it wait
            step.emit(UserNoted(leaf.name, user))
        used = state.none if record is None else record.master_used.get(label, state.none)
        fits = state.calculator.fits(add(used, master), user_limits[label])
        if not fits and not _first_anyway(state, leaf, label):
            heappop(heads)
            continue
        step.emit(ApplicationAdmitted(int(entry[-1])))
        alike = leaf.waiting_kinds.get(kind, [])
        place = bisect_right(alike, entry)
        if place < len(alike):
            heapreplace(heads, (alike[place], kind))
        else:
            heappop(heads)


def _first_anyway(state: CapacityCluster, leaf: CapacityQueue, label: str) -> bool:
    """Whether a leaf has so few masters that one may start regardless of the limits."""
    if not leaf.active:
        return True
    used = leaf.shares[label].master_used
    return state.calculator.compare(state.total, used, state.none) <= 0


def activate_if_any_nodes(state: CapacityCluster, step: "Step", leaf: CapacityQueue) -> None:
    """The pass after an attempt was added: only when the cluster has resources
    (Hadoop: LeafQueue.addApplicationAttempt)."""
    if state.calculator.compare(state.total, state.total, state.none) > 0:
        activate(state, step, leaf)


def activate_everywhere(state: CapacityCluster, step: "Step") -> None:
    """The passes after the cluster or its configuration has changed."""
    activate_below(state, step, state.root)


def activate_for_node(state: CapacityCluster, step: "Step") -> None:
    """The passes after a node was added, removed or resized.

    Hadoop repeats the passes over all leaves when its node-label manager reports the node: once if
    the node was added or removed, twice if it was resized. By then users whose applications all
    wait have been recounted, so that a master may start that had no room in the pass before.
    """
    if not state.attempts:
        return  # there is nothing to activate, and no headroom to compute
    came_or_went = any(isinstance(event, NodeAdded | NodeRemoved) for event in step.events)
    for _ in range(1 if came_or_went else 2):
        before = _counts(state)
        activate_everywhere(state, step)
        after = _counts(state)
        if all(before.get(name) == count for name, count in after.items()):
            return
        step.emit(LimitsComputed(ROOT))
    activate_everywhere(state, step)


def _counts(state: CapacityCluster) -> dict[str, tuple[int, int]]:
    """For each leaf with waiting applications: the users that count for its masters' limit, and the
    number of waiting applications."""
    return {
        queue.name: (queue.users.active_count, len(queue.waiting))
        for queue in below(state.root)
        if queue.waiting
    }


def activate_below(state: CapacityCluster, step: "Step", top: CapacityQueue) -> None:
    """The passes after shares below a queue were recomputed."""
    for queue in below(top):
        if queue.leaf:
            activate(state, step, queue)
            if not queue.active:
                continue
            all_looked_at = all(attempt.looked_at for attempt in queue.active.values())
            if queue.users.outdated or not all_looked_at:
                step.emit(QueueLimited(queue.name, queue.limit))  # all have a headroom now


def wake_after_leaving(
    state: CapacityCluster, step: "Step", leaf: CapacityQueue, user: str
) -> None:
    """After a runnable attempt has left, admit applications that it kept waiting
    (Hadoop: CSMaxRunningAppsEnforcer.updateRunnabilityOnAppRemoval).

    At most as many are admitted as there are lists of candidates, empty ones included, so possibly
    more than the one that has left (quirk 3).
    """
    highest: CapacityQueue | None = None
    for queue in leaf.path:
        if queue.runnable == queue.maximum_parallel - 1:
            highest = queue
    lists = list(_held_below(highest)) if highest is not None else []
    if state.user_runnable.get(user, 0) == limits.user_parallel_limit(state, user) - 1:
        waiting = [
            attempt
            for queue in state.queues.values()
            for attempt in queue.held.values()
            if attempt.user == user
        ]
        lists.append(sorted(waiting, key=lambda a: a.start_order))
    _wake(state, step, lists, len(lists))


def wake_everywhere(state: CapacityCluster, step: "Step") -> None:
    """After a configuration change, reconsider all applications that are held back."""
    _wake(state, step, list(_held_below(state.root)), None)


def _held_below(queue: CapacityQueue) -> Iterator[list[CapacityAttempt]]:
    if queue.runnable >= queue.maximum_parallel:
        return
    if queue.leaf:
        yield list(queue.held.values())
        return
    for child in queue.children.values():
        yield from _held_below(child)


def _wake(
    state: CapacityCluster,
    step: "Step",
    lists: list[list[CapacityAttempt]],
    most: int | None,
) -> None:
    # A list is in the order in which its applications entered the leaf. After a move this is not
    # the order of their starts; as in Hadoop the list's first application decides when the list has
    # its turn.
    woken = 0
    for attempt in merge(*lists, key=lambda a: a.start_order):
        if most is not None and woken >= most:
            return
        if not attempt.held:
            continue
        leaf = attempt.leaf
        if limits.may_run(state, attempt.user, leaf):
            step.emit(ApplicationAdmitted(attempt.id, woken=True))
            woken += 1
            activate_if_any_nodes(state, step, leaf)
