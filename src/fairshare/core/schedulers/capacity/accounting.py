"""How containers and reservations count for queues, users and orders.

`state.py` calls it from the event handlers (Hadoop: LeafQueue.allocateResource, UsersManager).
"""

from fairshare.core.model.nodes import Node
from fairshare.core.model.resources import Resource, add, subtract
from fairshare.core.model.state import ClusterState
from fairshare.core.schedulers.capacity import containers, orders
from fairshare.core.schedulers.capacity.attempts import CapacityAttempt, Stage
from fairshare.core.schedulers.capacity.cluster import CapacityCluster
from fairshare.core.schedulers.capacity.queues import DRAINING, STOPPED, CapacityQueue


def charge(
    state: CapacityCluster, leaf: CapacityQueue, user: str, label: str, amount: Resource
) -> None:
    """Add an amount (negative: subtract) to the use of a leaf, its ancestors and a user on a
    partition."""
    for queue in leaf.path:
        share = queue.shares[label]
        if len(amount) == 2:  # written out, as in `ClusterState._use`
            a, b = share.used
            share.used = (a + amount[0], b + amount[1])
        else:
            share.used = add(share.used, amount)
        if share.entry is not None:
            orders.place(queue, share, label)
    leaf.users.charge(user, label, amount, state.calculator, state.total_of(label))


def use(state: CapacityCluster, attempt: CapacityAttempt, node: Node, resource: Resource) -> None:
    """A container begins to use its resource, and its asks are fewer by one; with a negative one it
    ends.

    The hottest code of this package, and therefore written out for two resource types and the
    default partition: every container passes here twice.
    """
    if state.fulfilling or len(resource) != 2 or node.name in state.partition_of:
        _use_apart(state, attempt, node, resource)
        return
    memory, vcores = resource
    leaf = attempt.leaf
    a, b = attempt.used
    attempt.used = (a + memory, b + vcores)
    a, b = node.available
    node.available = (a - memory, b - vcores)
    if memory > 0 and not state.counts_asks:
        a, b = attempt.pending
        attempt.pending = (a - memory, b - vcores)
        if attempt.labelled:
            attempt.counted[""] = attempt.pending
        for queue in leaf.path:
            a, b = queue.used
            queue.used = (a + memory, b + vcores)
            share = queue.share
            a, b = share.used
            share.used = (a + memory, b + vcores)
            a, b = share.pending
            share.pending = left = (a - memory, b - vcores)
            if share.entry is not None:
                if left == (0, 0):
                    orders.place(queue, share, "")
                else:
                    queue.path[1].share.stale[queue] = None
    else:
        for queue in leaf.path:
            a, b = queue.used
            queue.used = (a + memory, b + vcores)
            share = queue.share
            a, b = share.used
            share.used = (a + memory, b + vcores)
            if share.entry is not None:
                queue.path[1].share.stale[queue] = None
    leaf.users.charge_container(attempt.user, memory, vcores, state)
    if leaf.policy == "fair":
        _measure_use(attempt, resource)


def _use_apart(
    state: CapacityCluster, attempt: CapacityAttempt, node: Node, resource: Resource
) -> None:
    """Any other container. One that fulfils a reservation counts for queues and users since
    then."""
    ClusterState._use(state, attempt, node, resource)
    if state.fulfilling:
        return
    charge(state, attempt.leaf, attempt.user, state.label_of(node), resource)
    state.counts_asks = resource[0] > 0
    if attempt.leaf.policy == "fair":
        _measure_use(attempt, resource)


def _measure_use(attempt: CapacityAttempt, amount: Resource) -> None:
    measure(attempt)
    if amount[0] < 0:  # else it moves when its asks have been counted
        orders.place_application(attempt)


def move_use(
    state: CapacityCluster,
    attempt: CapacityAttempt,
    source: CapacityQueue,
    target: CapacityQueue,
) -> None:
    """Move what an application uses and has reserved from one leaf to another."""
    user = attempt.user
    for number in containers.of_application(state, attempt):  # sums depend on the order
        record = attempt.containers[number]
        label = state.label_of(state.nodes[record.node])
        released = subtract(state.none, record.resource)
        charge(state, source, user, label, released)
        charge(state, target, user, label, record.resource)
        if record.container in state.nodes[record.node].marked:
            change_killable(source, label, released)
            change_killable(target, label, record.resource)
    for reserved in containers.reserved(state, attempt):
        reservation = attempt.reservations[reserved]
        label = state.label_of(state.nodes[reserved])
        released = subtract(state.none, reservation.resource)
        charge(state, source, user, label, released)
        charge(state, target, user, label, reservation.resource)
        if not label:
            count_reserved(source, released)
            count_reserved(target, reservation.resource)


def reserve(attempt: CapacityAttempt, leaf: CapacityQueue, label: str, amount: Resource) -> None:
    """Add an amount (negative: subtract) to an application's reservations on a partition."""
    attempt.reserved = add(attempt.reserved, amount)
    if label:
        before = attempt.reserved_apart.get(label, leaf.users.none)
        attempt.reserved_apart = attempt.reserved_apart or {}
        attempt.reserved_apart[label] = add(before, amount)
    for queue in leaf.path:
        share = queue.shares[label]
        share.reserved = add(share.reserved, amount)
    if not label:
        count_reserved(leaf, amount)


def count_reserved(leaf: CapacityQueue, amount: Resource) -> None:
    """Add to what a leaf's applications have reserved on the default partition."""
    for queue in leaf.path:
        queue.reserved_now = add(queue.reserved_now, amount)


def change_killable(leaf: CapacityQueue, label: str, amount: Resource) -> None:
    """Add to what lazy preemption may kill in favour of other queues
    (Hadoop: PreemptionManager)."""
    for queue in leaf.path:
        share = queue.shares[label]
        share.killable = add(share.killable, amount)


def count_pending(attempt: CapacityAttempt) -> None:
    """Update the queues' pending resources to an application's asks."""
    leaf = attempt.leaf
    before, attempt.pending = attempt.pending, attempt.asks.pending
    if not attempt.labelled:
        if not any(key.label for key in attempt.asks.wanting):
            if attempt.pending != before:
                _add_pending(leaf, "", subtract(attempt.pending, before))
            return
        attempt.labelled = True
        attempt.counted = {"": before}
    for label in (*attempt.counted, *(key.label for key in attempt.asks.wanting)):
        pending = attempt.asks.pending_on(label)
        counted = attempt.counted.get(label, leaf.users.none)
        if pending != counted:
            _add_pending(leaf, label, subtract(pending, counted))
            attempt.counted[label] = pending


def _add_pending(leaf: CapacityQueue, label: str, amount: Resource) -> None:
    for queue in leaf.path:
        share = queue.shares[label]
        if len(amount) == 2:
            a, b = share.pending
            share.pending = (a + amount[0], b + amount[1])
        else:
            share.pending = add(share.pending, amount)
        orders.place(queue, share, label)


def move_pending(attempt: CapacityAttempt, target: CapacityQueue) -> None:
    """Move an application's asks to another leaf, each on its partition."""
    leaf = attempt.leaf
    by_label = attempt.counted if attempt.labelled else {"": attempt.pending}
    for label, counted in by_label.items():
        _add_pending(leaf, label, subtract(leaf.users.none, counted))
        _add_pending(target, label, counted)


def measure(attempt: CapacityAttempt) -> None:
    """Update the fair order's record of an application's containers; other orders do not use it
    (Hadoop: FairOrderingPolicy)."""
    leaf = attempt.leaf
    if leaf.policy == "fair":
        if attempt.id not in leaf.unsorted:
            leaf.unsorted[attempt.id] = (attempt.size, attempt.demand)
        attempt.size = attempt.used[0] + attempt.drift[0]
        attempt.demand = attempt.size + attempt.asks.pending[0]


def enter(attempt: CapacityAttempt, stage: Stage) -> None:
    """Add an attempt to its leaf: held back, or waiting for room for its master."""
    leaf = attempt.leaf
    leaf.users.get_or_add(attempt.user)
    attempt.stage = stage
    if stage == Stage.HELD:
        attempt.held = True
        leaf.held[attempt.id] = attempt
        return
    leaf.runnable += 1
    leaf.users.tally(attempt.user, pending=1, active=0)
    orders.wait(attempt)


def wake(attempt: CapacityAttempt) -> None:
    """A held application may run now: it waits for room for its master.

    As in Hadoop this includes one that is active already, which a change of its priority makes
    possible: then its master counts twice.
    """
    leaf = attempt.leaf
    del leaf.held[attempt.id]
    attempt.held = False
    leaf.runnable += 1
    leaf.users.tally(attempt.user, pending=1, active=0)
    if attempt.stage == Stage.HELD:
        attempt.stage = Stage.WAITING
    if attempt.waiting_entry is None:
        orders.wait(attempt)


def reprioritise(attempt: CapacityAttempt, priority: int) -> None:
    """Move an application to the position in its list that follows from another priority.

    As in Hadoop, one that is held back enters the list of waiting applications and may thus get its
    master although max-parallel-apps does not let it run
    (Hadoop: CapacityScheduler.updateApplicationPriority).
    """
    leaf = attempt.leaf
    waits = attempt.waiting_entry is not None  # perhaps for a second master: see `wake`
    orders.stop_waiting(attempt)
    orders.forget_change(leaf, attempt)
    attempt.application.priority = priority
    if attempt.stage == Stage.HELD:
        attempt.stage = Stage.WAITING
    if waits or attempt.stage == Stage.WAITING:
        orders.wait(attempt)
    orders.place_application(attempt)


def count_runnable(leaf: CapacityQueue, change: int) -> None:
    """Add to the runnable attempts of a leaf's ancestors. As in Hadoop a move does not count."""
    for queue in leaf.path[1:]:
        queue.runnable += change


def activate(attempt: CapacityAttempt) -> None:
    """There is room for an application's master: it competes for containers from now on."""
    leaf = attempt.leaf
    orders.stop_waiting(attempt)
    attempt.stage = Stage.ACTIVE
    leaf.users.tally(attempt.user, pending=-1, active=1)
    leaf.active[attempt.id] = attempt
    _charge_master(attempt, attempt.master_resource)
    orders.place_application(attempt)


def _charge_master(attempt: CapacityAttempt, amount: Resource) -> None:
    leaf = attempt.leaf
    label = attempt.label
    share = leaf.shares[label]
    share.master_used = add(share.master_used, amount)
    user = leaf.users.get_or_add(attempt.user)
    user.master_used[label] = add(user.master_used.get(label, leaf.users.none), amount)


def move_master(attempt: CapacityAttempt, label: str) -> None:
    """The node of an application's master moved to another partition, where the master counts
    now."""
    nothing = (0,) * len(attempt.master_resource)
    active = attempt.stage == Stage.ACTIVE
    if active:
        _charge_master(attempt, subtract(nothing, attempt.master_resource))
    orders.relabel(attempt, label)
    if active:
        _charge_master(attempt, attempt.master_resource)


def leave(attempt: CapacityAttempt, *, comes_back: bool = False) -> None:
    """Remove an attempt from its leaf, whatever its stage.

    `comes_back`: its containers continue, so the leaf keeps the record of its user and their use.
    """
    leaf = attempt.leaf
    users = leaf.users
    stage = attempt.stage
    if stage == Stage.ACTIVE:
        orders.take_out(leaf, attempt)
        del leaf.active[attempt.id]
        nothing = (0,) * len(attempt.master_resource)
        _charge_master(attempt, subtract(nothing, attempt.master_resource))
        user = users.tally(attempt.user, pending=0, active=-1)
    else:
        user = users.tally(attempt.user, pending=-1, active=0)
    orders.stop_waiting(attempt)
    if attempt.held:
        del leaf.held[attempt.id]
    else:
        leaf.runnable -= 1
    attempt.stage = Stage.NOWHERE
    attempt.held = False
    orders.forget_change(leaf, attempt)
    if user.applications == 0 and not comes_back:
        users.remove(attempt.user)


def count_application(leaf: CapacityQueue, change: int, now_ms: int) -> None:
    """Add to the number of applications of a leaf and its ancestors.

    A draining queue is stopped when its last application ends
    (Hadoop: AbstractCSQueue.appFinished).
    """
    for queue in leaf.path:
        queue.number_of_applications += change
        if change > 0 and queue is leaf:
            queue.idle_since_ms = now_ms
        if change > 0 and queue.state == STOPPED:  # only applications recovered after a restart
            queue.state = DRAINING
        if queue.state == DRAINING and queue.number_of_applications == 0:
            queue.state = STOPPED
