"""Owns how containers and reservations count for queues, users and orders.

`state.py` calls it from the event handlers. Decides nothing (Hadoop: LeafQueue.allocateResource,
UsersManager).
"""

from typing import TYPE_CHECKING

from fairshare.model.nodes import Node
from fairshare.model.resources import Resource, add, subtract
from fairshare.schedulers.capacity import containers, orders
from fairshare.schedulers.capacity.applications import CapacityApplication, Stage
from fairshare.schedulers.capacity.queues import DRAINING, STOPPED, CapacityQueue

if TYPE_CHECKING:
    from fairshare.schedulers.capacity.cluster import CapacityCluster
    from fairshare.schedulers.capacity.state import CapacityState


def charge(
    state: "CapacityCluster",
    leaf: CapacityQueue,
    user: str,
    label: str,
    amount: Resource,
    *,
    place_later: bool = False,
) -> None:
    """Add an amount (negative: subtract) to the use of a leaf, its ancestors and a user on a
    partition.

    The queues' keys are moved at once, unless the caller does it later (`place_later`).
    """
    for queue in leaf.path:
        share = queue.shares[label]
        if len(amount) == 2:  # written out, as in `ClusterState._use`
            a, b = share.used
            share.used = (a + amount[0], b + amount[1])
        else:
            share.used = add(share.used, amount)
        if share.entry is not None and not place_later:
            orders.place_child(queue, label)
    leaf.users.charge(user, label, amount, state.calculator, state.total_of(label))


def use(
    state: "CapacityCluster",
    leaf: CapacityQueue,
    application: CapacityApplication,
    node: Node,
    label: str,
    amount: Resource,
    place_later: bool,
) -> None:
    """`charge` and `ClusterState._use` combined for a container of two resource types.

    The hottest code of this package: every container passes here twice.
    """
    memory, vcores = amount
    a, b = application.used
    application.used = (a + memory, b + vcores)
    a, b = node.available
    node.available = (a - memory, b - vcores)
    for queue in leaf.path:
        a, b = queue.used
        queue.used = (a + memory, b + vcores)
        share = queue.shares[label]
        a, b = share.used
        share.used = (a + memory, b + vcores)
        if share.entry is not None and not place_later:
            orders.place_child(queue, label)
    leaf.users.charge(application.user, label, amount, state.calculator, state.totals[label])


def ask_less(application: CapacityApplication, leaf: CapacityQueue, size: Resource) -> None:
    """Reduce the asks by one container of a size, and move the queues to where their use puts
    them."""
    if application.labelled or len(size) != 2:
        count_pending(application)
        for queue in leaf.path:
            orders.place_child(queue, "")
        return
    memory, vcores = size
    a, b = application.pending
    application.pending = application.counted[""] = (a - memory, b - vcores)
    for queue in leaf.path:
        share = queue.shares[""]
        a, b = share.pending
        share.pending = (a - memory, b - vcores)
        if queue.parent is not None:
            orders.place_child(queue, "")


def move_use(
    state: "CapacityState",
    application: CapacityApplication,
    source: CapacityQueue,
    target: CapacityQueue,
) -> None:
    """Move what an application uses and has reserved from one leaf to another."""
    user = application.user
    for number in containers.of_application(state, application):  # sums depend on the order
        record = application.containers[number]
        label = state.label_of(state.nodes[record.node])
        released = subtract(state.none, record.resource)
        charge(state, source, user, label, released)
        charge(state, target, user, label, record.resource)
        if record.container in state.nodes[record.node].marked:
            change_killable(source, label, released)
            change_killable(target, label, record.resource)
    for reserved in containers.reserved(state, application):
        reservation = application.reservations[reserved]
        label = state.label_of(state.nodes[reserved])
        released = subtract(state.none, reservation.resource)
        charge(state, source, user, label, released)
        charge(state, target, user, label, reservation.resource)
        if not label:
            count_reserved(source, released)
            count_reserved(target, reservation.resource)


def reserve(
    application: CapacityApplication, leaf: CapacityQueue, label: str, amount: Resource
) -> None:
    """Add an amount (negative: subtract) to an application's reservations on a partition."""
    application.reserved = add(application.reserved, amount)
    if label:
        before = application.reserved_apart.get(label, leaf.users.none)
        application.reserved_apart[label] = add(before, amount)
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


def count_pending(application: CapacityApplication) -> None:
    """Update the queues' pending resources to an application's asks."""
    leaf = application.leaf
    if leaf is None:
        return
    pending = application.asks.pending
    if pending == application.pending and not application.labelled:
        return
    application.pending = pending
    if not application.labelled:
        for key in application.asks.wanting:
            if key.label:
                break
        else:
            _count(leaf, application, "", pending)
            return
    application.labelled = True
    for label in (*application.counted, *(key.label for key in application.asks.wanting)):
        _count(leaf, application, label, application.asks.pending_on(label))


def _count(
    leaf: CapacityQueue, application: CapacityApplication, label: str, pending: Resource
) -> None:
    before = application.counted.get(label, leaf.users.none)
    if pending != before:
        _add_pending(leaf, label, subtract(pending, before))
        application.counted[label] = pending


def _add_pending(leaf: CapacityQueue, label: str, amount: Resource) -> None:
    for queue in leaf.path:
        share = queue.shares[label]
        if len(amount) == 2:
            a, b = share.pending
            share.pending = (a + amount[0], b + amount[1])
        else:
            share.pending = add(share.pending, amount)
        if queue.parent is not None:
            orders.place_child(queue, label)


def move_pending(application: CapacityApplication, target: CapacityQueue) -> None:
    """Move an application's asks to another leaf, each on its partition."""
    leaf = application.leaf
    assert leaf is not None
    for label, counted in application.counted.items():
        _add_pending(leaf, label, subtract(leaf.users.none, counted))
        _add_pending(target, label, counted)


def measure(application: CapacityApplication) -> None:
    """Update the fair order's record of an application's containers; other orders do not use it
    (Hadoop: FairOrderingPolicy)."""
    leaf = application.leaf
    if leaf is not None and leaf.policy == "fair":
        if application.id not in leaf.unsorted:
            leaf.unsorted[application.id] = (application.size, application.demand)
        application.size = application.used[0] + application.drift[0]
        application.demand = application.size + application.asks.pending[0]


def enter(application: CapacityApplication, stage: Stage) -> None:
    """Add an attempt to its leaf: held back, or waiting for room for its master."""
    leaf = application.leaf
    assert leaf is not None
    leaf.users.get_or_add(application.user)
    application.stage = stage
    if stage == Stage.HELD:
        application.held = True
        leaf.held[application.id] = application
        return
    leaf.runnable += 1
    leaf.users.tally(application.user, pending=1, active=0)
    orders.wait(application)


def wake(application: CapacityApplication) -> None:
    """A held application may run now: it waits for room for its master.

    As in Hadoop this includes one that is active already, which a change of its priority makes
    possible: then its master counts twice.
    """
    leaf = application.leaf
    assert leaf is not None
    del leaf.held[application.id]
    application.held = False
    leaf.runnable += 1
    leaf.users.tally(application.user, pending=1, active=0)
    if application.stage == Stage.HELD:
        application.stage = Stage.WAITING
    if application.waiting_entry is None:
        orders.wait(application)


def reprioritise(application: CapacityApplication, priority: int) -> None:
    """Move an application to the position in its list that follows from another priority.

    As in Hadoop, one that is held back enters the list of waiting applications and may thus get its
    master although max-parallel-apps does not let it run
    (Hadoop: CapacityScheduler.updateApplicationPriority).
    """
    leaf = application.leaf
    if leaf is None:
        application.priority = priority
        return
    waits = application.waiting_entry is not None  # perhaps for a second master: see `wake`
    orders.stop_waiting(application)
    orders.forget_change(leaf, application)
    application.priority = priority
    if application.stage == Stage.HELD:
        application.stage = Stage.WAITING
    if waits or application.stage == Stage.WAITING:
        orders.wait(application)
    orders.place_application(application)


def count_runnable(leaf: CapacityQueue, change: int) -> None:
    """Add to the runnable attempts of a leaf's ancestors. As in Hadoop a move does not count."""
    for queue in leaf.path[1:]:
        queue.runnable += change


def activate(application: CapacityApplication) -> None:
    """There is room for an application's master: it competes for containers from now on."""
    leaf = application.leaf
    assert leaf is not None
    orders.stop_waiting(application)
    application.stage = Stage.ACTIVE
    leaf.users.tally(application.user, pending=-1, active=1)
    leaf.active[application.id] = application
    _charge_master(application, application.master_resource)
    orders.place_application(application)


def _charge_master(application: CapacityApplication, amount: Resource) -> None:
    leaf = application.leaf
    assert leaf is not None
    label = application.label
    share = leaf.shares[label]
    share.master_used = add(share.master_used, amount)
    user = leaf.users.get_or_add(application.user)
    user.master_used[label] = add(user.master_used.get(label, leaf.users.none), amount)


def move_master(application: CapacityApplication, label: str) -> None:
    """The node of an application's master moved to another partition, where the master counts
    now."""
    nothing = (0,) * len(application.master_resource)
    active = application.stage == Stage.ACTIVE
    if active:
        _charge_master(application, subtract(nothing, application.master_resource))
    application.label = label
    if active:
        _charge_master(application, application.master_resource)


def leave(application: CapacityApplication, *, comes_back: bool = False) -> None:
    """Remove an attempt from its leaf, whatever its stage.

    `comes_back`: its containers continue, so the leaf keeps the record of its user and their use.
    """
    leaf = application.leaf
    assert leaf is not None
    users = leaf.users
    stage = application.stage
    if stage == Stage.ACTIVE:
        orders.take_out(leaf, application)
        del leaf.active[application.id]
        nothing = (0,) * len(application.master_resource)
        _charge_master(application, subtract(nothing, application.master_resource))
        user = users.tally(application.user, pending=0, active=-1)
    else:
        user = users.tally(application.user, pending=-1, active=0)
    orders.stop_waiting(application)
    if application.held:
        del leaf.held[application.id]
    else:
        leaf.runnable -= 1
    application.stage = Stage.NOWHERE
    application.held = False
    orders.forget_change(leaf, application)
    if user.applications == 0 and not comes_back:
        users.remove(application.user)


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
