"""The views of the Capacity Scheduler's queues and applications, and the counts below each
queue."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from fairshare.core.model.applications import Application
from fairshare.core.model.resources import Resource, add, largest, smallest, subtract, total
from fairshare.core.schedulers import views
from fairshare.core.schedulers.capacity import limits, orders
from fairshare.core.schedulers.capacity.attempts import CapacityAttempt, Stage
from fairshare.core.schedulers.capacity.queues import CapacityQueue
from fairshare.core.schedulers.capacity.state import CapacityState
from fairshare.core.schedulers.capacity.users import User
from fairshare.core.schedulers.protocol import Steps
from fairshare.core.schedulers.views import (
    ApplicationView,
    CapacityView,
    PartitionView,
    QueueView,
    UserView,
    VolatileFields,
    VolatileFieldsOf,
)


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
    own = Counts(active, waiting, for_masters, held, containers, reserved, pending)
    return Counts(*map(sum, zip(own, *below, strict=True))) if below else own


def queue_views(state: CapacityState, now_ms: int) -> Steps[list[QueueView]]:
    """All queues, root first, parents before children, children in the order of the file; a step
    for each. A step looks at each application of its queue once, whatever the tree's depth."""

    def visit(queue: CapacityQueue) -> Steps[tuple[list[QueueView], Counts]]:
        rows: list[QueueView] = []
        below: list[Counts] = []
        children = dict(queue.children)
        for child in children.values():
            rows_of_child, counts = yield from visit(child)
            rows += rows_of_child
            below.append(counts)
        yield
        counts = counts_with(queue, below)
        return [_queue_view(state, queue, tuple(children), counts, now_ms), *rows], counts

    found, _ = yield from visit(state.root)
    return found


def _queue_view(
    state: CapacityState,
    queue: CapacityQueue,
    children: tuple[str, ...],
    counts: Counts,
    now_ms: int,
) -> QueueView:
    size = len(state.none)
    share = queue.share
    used = total((part.used for part in queue.shares.values()), size)
    pending = total((part.pending for part in queue.shares.values()), size)
    reserved = total((part.reserved for part in queue.shares.values()), size)

    return QueueView(
        name=queue.name,
        leaf=queue.leaf,
        dynamic=queue.dynamic,
        parent=queue.parent.name if queue.parent else "",
        children=children,
        policy=queue.policy,
        used=used,
        reserved=reserved,
        demand=add(used, pending),
        pending=pending,
        min_share=share.effective_minimum,
        max_share=share.effective_maximum,
        fair_share=share.effective_minimum,
        steady_fair_share=share.effective_minimum,
        weight=share.weight,
        running_applications=counts.active,
        pending_applications=counts.for_masters,
        max_running_applications=queue.maximum_applications if queue.leaf else None,
        containers=counts.containers,
        reserved_containers=counts.reserved_containers,
        preempted=queue.preempted,
        preemptable=queue.preemptable,
        master_used=share.master_used,
        master_limit=limits.master_limit(state, queue, "") if queue.leaf else None,
        max_master_share=share.master_share if queue.leaf else None,
        max_container=state.largest_container(now_ms, queue),
        capacity=_capacity_view(state, queue, counts.held),
    )


def _capacity_view(state: CapacityState, queue: CapacityQueue, held: int) -> CapacityView:
    share = queue.share
    leaf = queue.leaf
    return CapacityView(
        state=queue.state,
        mode=queue.mode,
        priority=queue.priority,
        capacity=share.capacity * 100,
        max_capacity=share.maximum_capacity * 100,
        absolute_capacity=share.absolute_capacity * 100,
        absolute_max_capacity=share.absolute_maximum * 100,
        used_capacity=share.used_capacity * 100,
        absolute_used_capacity=share.absolute_used * 100,
        weight=share.weight,
        normalized_weight=share.normalized_weight,
        effective_min=share.effective_minimum,
        effective_max=share.effective_maximum,
        max_allocation=queue.maximum_allocation,
        max_parallel_applications=queue.maximum_parallel,
        non_runnable_applications=held,
        intra_queue_preemptable=queue.intra_preemptable,
        max_lifetime_s=queue.maximum_lifetime_s,
        default_lifetime_s=queue.default_lifetime_s,
        max_applications_per_user=queue.maximum_per_user if leaf else None,
        user_limit_percent=queue.user_limit_percent if leaf else None,
        user_limit_factor=queue.user_limit_factor if leaf else None,
        active_users=queue.users.active_count if leaf else None,
        pending_after_user_limits=pending_after_user_limits(state, queue, "") if leaf else None,
        user_master_limit=limits.user_master_limit(state, queue, "", None) if leaf else None,
        default_priority=queue.default_priority if leaf else None,
        users=tuple(_user_view(state, queue, user) for user in queue.users.users.values()),
        partitions=tuple(_partition_view(state, queue, label) for label in state.labels),
        accessible_labels=tuple(sorted(queue.accessible)),
        default_label=queue.default_label,
    )


def _partition_view(state: CapacityState, queue: CapacityQueue, label: str) -> PartitionView:
    share = queue.shares[label]
    return PartitionView(
        label=label,
        configured=queue.has_part(label),
        capacity=share.capacity * 100,
        max_capacity=share.maximum_capacity * 100,
        absolute_capacity=share.absolute_capacity * 100,
        absolute_max_capacity=share.absolute_maximum * 100,
        used_capacity=share.used_capacity * 100,
        absolute_used_capacity=share.absolute_used * 100,
        weight=share.weight,
        normalized_weight=share.normalized_weight,
        effective_min=share.effective_minimum,
        effective_max=share.effective_maximum,
        used=share.used,
        reserved=share.reserved,
        pending=share.pending,
        master_used=share.master_used,
        max_master_share=share.master_share,
        master_limit=limits.master_limit(state, queue, label) if queue.leaf else None,
        user_master_limit=(
            limits.user_master_limit(state, queue, label, None) if queue.leaf else None
        ),
    )


def _user_view(state: CapacityState, leaf: CapacityQueue, user: User) -> UserView:
    return UserView(
        name=user.name,
        used=user.used.get("", state.none),
        master_used=user.master_used.get("", state.none),
        max_resource=limits.user_limit_now(state, leaf, user.name, ""),
        master_limit=limits.user_master_limit(state, leaf, "", user.name),
        weight=user.weight,
        active=user.active,
        running_applications=user.active_applications,
        pending_applications=user.pending_applications,
    )


def pending_after_user_limits(
    state: CapacityState, leaf: CapacityQueue, label: str, *, without_reserved: bool = False
) -> Resource:
    """The asks of a leaf's active applications, those of each user limited to its headroom
    (Hadoop: LeafQueue.getTotalPendingResourcesConsideringUserLimit)."""
    rooms: dict[str, Resource] = {}
    counted = state.none
    for attempt in orders.active_in_order(leaf):
        user = attempt.user
        if user not in rooms:
            record = leaf.users.get(user)
            used = state.none if record is None else record.used.get(label, state.none)
            limit = limits.user_limit_now(state, leaf, user, label, kept=True)
            rooms[user] = largest(subtract(limit, used), state.none)
        pending = attempt.asks.pending_on(label)
        if without_reserved:
            pending = subtract(pending, attempt.reserved_on(label))
        part = smallest(rooms[user], largest(pending, state.none))
        counted = add(counted, part)
        rooms[user] = subtract(rooms[user], part)
    return counted


def application_view(state: CapacityState, application: Application) -> ApplicationView:
    """One application in its current state."""
    attempt, competing = application.attempt, state.attempts.get(application.id)
    return views.application_view(
        application,
        attempt,
        volatile_fields(state)(application),
        used=attempt.used if competing is None else add(attempt.used, competing.drift),
        reserved=state.none if competing is None else competing.reserved,
        missed=_missed(
            tuple([(order[0], key.opportunities) for order, key in attempt.asks.keys.items()])
        ),
    )


@lru_cache(1_024)
def _missed(opportunities: tuple[tuple[int, int], ...]) -> dict[int, int]:
    """By priority; shared by all that have missed the same, and not to be changed."""
    return dict(opportunities)


def volatile_fields(state: CapacityState) -> VolatileFieldsOf:
    """A function that returns the standing of an application."""

    def look(application: Application) -> VolatileFields:
        attempt = state.attempts.get(application.id)
        if application.over:
            return VolatileFields(state.none, state.none, state.none, application.diagnostics)
        return VolatileFields(
            demand=add(application.used, application.attempt.asks.pending),
            fair_share=state.none,
            headroom=state.none if attempt is None else limits.headroom(state, attempt),
            diagnostics=application.diagnostics or _waits_for(state, attempt),
        )

    return look


def _waits_for(state: CapacityState, attempt: CapacityAttempt | None) -> str:
    """What holds an attempt back, in the words of Hadoop's diagnostics
    (Hadoop: CSAMContainerLaunchDiagnosticsConstants)."""
    if attempt is None or attempt.stage == Stage.NOWHERE:
        return ""
    if attempt.held:
        return "Application is not runnable: a limit of max-parallel-apps has been reached"
    if attempt.stage == Stage.WAITING:
        why = _masters_limit(state, attempt)
        return f"Application is added to the scheduler and is not yet activated. {why}"
    if attempt.managed and attempt.master is None:
        return "Application is Activated, waiting for resources to be assigned for AM."
    return ""


def _masters_limit(state: CapacityState, attempt: CapacityAttempt) -> str:
    if not any(state.total):
        return "Skipping AM assignment as cluster resource is empty."
    leaf, label = attempt.leaf, attempt.label
    used = add(leaf.shares[label].master_used, attempt.master_resource)
    if not state.calculator.fits(used, limits.master_limit(state, leaf, label)):
        return "Queue's AM resource limit exceeded."
    return "User's AM resource limit exceeded."
