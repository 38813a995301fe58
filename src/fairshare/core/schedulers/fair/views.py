"""The views of the Fair Scheduler's queues and applications, and an application's headroom."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from fairshare.core.model.applications import Application
from fairshare.core.model.resources import (
    NO_LIMIT,
    Resource,
    positive,
    scale,
    smallest,
    subtract,
    total,
)
from fairshare.core.schedulers import views
from fairshare.core.schedulers.fair.attempts import FairAttempt
from fairshare.core.schedulers.fair.limits import master_fits, master_limit
from fairshare.core.schedulers.fair.queues import FairQueue
from fairshare.core.schedulers.fair.reasons import run_limit
from fairshare.core.schedulers.fair.sharing import steady_shares
from fairshare.core.schedulers.fair.state import FairState
from fairshare.core.schedulers.protocol import Steps
from fairshare.core.schedulers.views import (
    ApplicationView,
    QueueView,
    VolatileFields,
    VolatileFieldsOf,
)


def headroom(
    *,
    free: Resource,
    refused: Resource,
    maximum: Resource,
    fair_share: Resource,
    used: Resource,
    both: bool,
) -> Resource:
    """The room that is left in the cluster and below the leaf's maximum
    (Hadoop: FSAppAttempt.getHeadroom).

    `free` is what the cluster has free, `refused` the part of it on nodes of the application's
    blacklist; `maximum`, `fair_share` and `used` are the leaf's. Memory is also limited to the rest
    of the fair share, with `both` (drf) vcores too. Further types are reported as 0. If nodes were
    shrunk below their use, the free amount may be negative.

    Example: 6144 MB free, a maximum of 5120 of which 2048 are used, a fair share of 4096: min(6144,
    3072, 2048) = 2048.
    """
    if any(refused):
        free = positive(subtract(free, refused))
    room = smallest(free, subtract(maximum, used))
    limited = smallest(room, positive(subtract(fair_share, used)))
    shared = 2 if both else 1
    return limited[:shared] + room[shared:2] + (0,) * (len(room) - 2)


class Sums(NamedTuple):
    """What the applications of a queue and of all below it have together."""

    applications: int
    runnable: int
    active: int
    """Runnable ones that have had a container."""
    pending: Resource
    pending_containers: int
    containers: int
    reserved: Resource
    reserved_containers: int


def sums_with(queue: FairQueue, below: Sequence[Sums], size: int) -> Sums:
    """The sums of a queue, whose children have these."""
    attempts = queue.attempts.values()
    keys = [key.anywhere for a in attempts for key in a.asks.wanting if key.anywhere is not None]
    reserved = [r.resource for a in attempts if a.reservations for r in a.reservations.values()]
    own = Sums(
        applications=len(attempts),
        runnable=sum(1 for a in attempts if a.runnable),
        active=sum(1 for a in attempts if a.runnable and a.peak_containers),
        pending=total((scale(ask.resource, ask.count) for ask in keys), size),
        pending_containers=sum(ask.count for ask in keys),
        containers=sum(len(a.containers) for a in attempts),
        reserved=total(reserved, size),
        reserved_containers=len(reserved),
    )
    if not below:
        return own
    parts = [own, *below]
    return Sums(
        applications=sum(part.applications for part in parts),
        runnable=sum(part.runnable for part in parts),
        active=sum(part.active for part in parts),
        pending=total((part.pending for part in parts), size),
        pending_containers=sum(part.pending_containers for part in parts),
        containers=sum(part.containers for part in parts),
        reserved=total((part.reserved for part in parts), size),
        reserved_containers=sum(part.reserved_containers for part in parts),
    )


def queue_views(
    state: FairState, max_container: Callable[[str], Resource]
) -> Steps[list[QueueView]]:
    """All queues, root first, parents before children, children by name; a step for each. A step
    looks at each application of its queue once, whatever the tree's depth."""
    steady = steady_shares(state)

    def visit(queue: FairQueue) -> Steps[tuple[list[QueueView], Sums]]:
        rows: list[QueueView] = []
        below: list[Sums] = []
        children = {name: queue.children[name] for name in sorted(queue.children)}
        for child in children.values():
            rows_of_child, sums = yield from visit(child)
            rows += rows_of_child
            below.append(sums)
        yield
        name = queue.name
        sums = sums_with(queue, below, len(state.none))
        share = steady.get(name, state.none)
        view = _queue_view(state, queue, tuple(children), sums, share, max_container(name))
        return [view, *rows], sums

    found, _ = yield from visit(state.root)
    return found


def _queue_view(
    state: FairState,
    queue: FairQueue,
    children: tuple[str, ...],
    sums: Sums,
    steady: Resource,
    max_container: Resource,
) -> QueueView:
    return QueueView(
        name=queue.name,
        leaf=queue.leaf,
        dynamic=queue.dynamic,
        parent=queue.parent.name if queue.parent else "",
        children=children,
        policy=queue.policy.name,
        used=queue.used,
        # Hadoop counts only memory and vcores.
        reserved=sums.reserved[:2] + (0,) * (len(sums.reserved) - 2),
        demand=queue.demand,
        pending=sums.pending,
        min_share=queue.min_share,
        max_share=queue.max_share,
        fair_share=queue.fair_share,
        steady_fair_share=steady,
        weight=queue.weight,
        running_applications=queue.running,
        pending_applications=sums.applications - sums.runnable,
        max_running_applications=None if queue.max_running == NO_LIMIT else queue.max_running,
        containers=sums.containers,
        reserved_containers=sums.reserved_containers,
        preempted=queue.preempted,
        preemptable=queue.allow_preemption,
        master_used=queue.master_used if queue.leaf else None,
        master_limit=master_limit(queue, subtract(state.total, state.used)) if queue.leaf else None,
        max_master_share=queue.max_master_share,
        max_container=max_container,
        min_share_timeout_ms=queue.min_share_timeout_ms,
        fair_share_timeout_ms=queue.fair_share_timeout_ms,
        fair_share_threshold=queue.fair_share_threshold,
        active_applications=sums.active if queue.leaf else None,
        waiting_applications=sums.applications - sums.active if queue.leaf else None,
    )


def application_view(state: FairState, application: Application) -> ApplicationView:
    """One application in its current state."""
    attempt = application.attempt
    return views.application_view(
        application,
        attempt,
        volatile_fields(state)(application),
        used=attempt.used,
        reserved=total((r.resource for r in attempt.reservations.values()), len(state.none)),
    )


def volatile_fields(state: FairState) -> VolatileFieldsOf:
    """A function that returns the standing of an application, valid until the state changes: it
    computes the values that several applications of a leaf share once."""
    rooms: dict[str, Resource] = {}
    held: dict[tuple[str, str], str] = {}

    def look(application: Application) -> VolatileFields:
        attempt = state.attempts.get(application.id)
        if attempt is None:
            words = application.diagnostics or waits_for(state, application)
            return VolatileFields(state.none, state.none, state.none, words)
        name = attempt.leaf.name
        if attempt.refused_nodes:
            room = _headroom(state, attempt)
        elif name in rooms:
            room = rooms[name]
        else:
            room = rooms[name] = _headroom(state, attempt)
        words = application.diagnostics
        if not words and attempt.runnable:
            words = waits_for(state, application)
        elif not words:
            key = (name, application.user)
            words = held.get(key, "") or held.setdefault(key, waits_for(state, application))
        return VolatileFields(attempt.demand, attempt.fair_share, room, words)

    return look


def _headroom(state: FairState, attempt: FairAttempt) -> Resource:
    leaf = attempt.leaf
    free = subtract(state.total, state.used)
    for node in attempt.refused_nodes:
        free = positive(subtract(free, node.available))
    return headroom(
        free=free,
        refused=state.none,
        maximum=leaf.max_share,
        fair_share=leaf.fair_share,
        used=leaf.used,
        both=leaf.policy.shared_types(2) == 2,
    )


def waits_for(state: FairState, application: Application) -> str:
    """The limit that holds an application back, in the words of Hadoop's diagnostics."""
    attempt = state.attempts.get(application.id)
    if attempt is None:
        if not application.over and application.attempt.number == 0:
            return f"No queue can be called {application.queue}: the application can only be killed"
        return ""
    limit = run_limit(state, attempt)
    if limit is not None:
        holder = f"user {limit.user}" if limit.user else f"queue {limit.queue}"
        return f"The {holder} has reached the maximum limit of runnable applications"
    if attempt.charged and not master_fits(attempt, subtract(state.total, state.used)):
        return f"Queue {attempt.leaf.name} exceeds maximum AM resource allowed"
    return ""
