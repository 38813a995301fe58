"""Owns the views of the Fair Scheduler's queues and applications. Changes nothing."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from fairshare.model.applications import Application
from fairshare.model.nodes import Reservation
from fairshare.model.resources import Resource, positive, subtract, total
from fairshare.schedulers.fair.applications import FairApplication
from fairshare.schedulers.fair.headroom import headroom
from fairshare.schedulers.fair.limits import master_fits, master_limit
from fairshare.schedulers.fair.queues import FairQueue
from fairshare.schedulers.fair.reasons import run_limit
from fairshare.schedulers.fair.settings import NO_LIMIT
from fairshare.schedulers.fair.sharing import steady_shares
from fairshare.schedulers.views import ApplicationView, QueueView, VolatileFields, VolatileFieldsOf

if TYPE_CHECKING:
    from fairshare.schedulers.fair.state import FairState


def queue_views(state: "FairState", max_container: Callable[[str], Resource]) -> list[QueueView]:
    """All queues, root first, parents before children, children by name."""
    found: list[QueueView | None] = []
    steady = steady_shares(state)

    def visit(queue: FairQueue) -> list[FairApplication]:
        place = len(found)
        found.append(None)  # its place, before those below
        below = list(queue.applications.values())
        for name in sorted(queue.children):
            below.extend(visit(queue.children[name]))
        found[place] = _queue_view(
            state, queue, below, steady[queue.name], max_container(queue.name)
        )
        return below

    visit(state.root)
    return [view for view in found if view is not None]


def _queue_view(
    state: "FairState",
    queue: FairQueue,
    below: list[FairApplication],
    steady: Resource,
    max_container: Resource,
) -> QueueView:
    size = len(state.none)
    reserved = [r for a in below for r in a.reservations.values()]
    active = sum(1 for a in below if a.runnable and a.peak_containers)
    return QueueView(
        name=queue.name,
        leaf=queue.leaf,
        dynamic=queue.dynamic,
        parent=queue.parent.name if queue.parent else "",
        children=tuple(sorted(queue.children)),
        policy=queue.policy.name,
        used=queue.used,
        reserved=_reserved(reserved, size),
        demand=queue.demand,
        pending=total((a.asks.pending for a in below), size),
        min_share=queue.min_share,
        max_share=queue.max_share,
        fair_share=queue.fair_share,
        steady_fair_share=steady,
        weight=queue.weight,
        running_applications=queue.running,
        pending_applications=sum(1 for a in below if not a.runnable),
        max_running_applications=None if queue.max_running == NO_LIMIT else queue.max_running,
        containers=sum(len(a.containers) for a in below),
        reserved_containers=len(reserved),
        preempted=queue.preempted,
        preemptable=queue.allow_preemption,
        master_used=queue.master_used if queue.leaf else None,
        master_limit=master_limit(queue, subtract(state.total, state.used)) if queue.leaf else None,
        max_master_share=queue.max_master_share,
        max_container=max_container,
        min_share_timeout_ms=queue.min_share_timeout_ms,
        fair_share_timeout_ms=queue.fair_share_timeout_ms,
        fair_share_threshold=queue.fair_share_threshold,
        active_applications=active if queue.leaf else None,
        waiting_applications=len(below) - active if queue.leaf else None,
    )


def _reserved(reservations: list[Reservation], size: int) -> Resource:
    """What is reserved in a queue; Hadoop counts only memory and vcores."""
    amount = total((reservation.resource for reservation in reservations), size)
    return amount[:2] + (0,) * (size - 2)


def application_view(state: "FairState", application: FairApplication) -> ApplicationView:
    """One application in its current state."""
    size = len(state.none)
    submission = application.submission
    return ApplicationView(
        id=application.id,
        name=submission.name,
        user=application.user,
        queue=application.queue,
        state=application.shown_state,
        priority=application.priority,
        attempt=application.attempt,
        runnable=application.runnable,
        submitted_ms=application.submitted_ms,
        started_ms=application.started_ms,
        finished_ms=application.finished_ms,
        containers=len(application.containers),
        used=application.used,
        reserved=total((r.resource for r in application.reservations.values()), size),
        pending=application.asks.pending,
        demand=application.demand,
        fair_share=application.fair_share,
        headroom=_headroom(state, application),
        to_preempt=len(application.to_preempt),
        preempted=application.preempted,
        diagnostics=application.diagnostics or waits_for(state, application),
    )


def volatile_fields(state: "FairState") -> VolatileFieldsOf:
    """A function that returns the standing of an application, valid until the state changes: it
    computes the values that several applications of a leaf share once."""
    rooms: dict[str, Resource] = {}
    held: dict[tuple[str, str], str] = {}

    def look(application: Application) -> VolatileFields:
        assert isinstance(application, FairApplication)
        leaf = application.leaf
        if leaf is None:
            room = state.none
            words = application.diagnostics or waits_for(state, application)
            return VolatileFields(application.demand, application.fair_share, room, words)
        name = leaf.name
        if application.refused_nodes:
            room = _headroom(state, application)
        elif name in rooms:
            room = rooms[name]
        else:
            room = rooms[name] = _headroom(state, application)
        words = application.diagnostics
        if not words and application.runnable:
            words = waits_for(state, application)
        elif not words:
            key = (name, application.user)
            words = held.get(key, "") or held.setdefault(key, waits_for(state, application))
        return VolatileFields(application.demand, application.fair_share, room, words)

    return look


def _headroom(state: "FairState", application: FairApplication) -> Resource:
    leaf = application.leaf
    if leaf is None:
        return state.none
    free = subtract(state.total, state.used)
    for node in application.refused_nodes:
        free = positive(subtract(free, node.available))
    return headroom(
        free=free,
        refused=state.none,
        maximum=leaf.max_share,
        fair_share=leaf.fair_share,
        used=leaf.used,
        both=leaf.policy.shared_types(2) == 2,
    )


def waits_for(state: "FairState", application: FairApplication) -> str:
    """The limit that holds an application back, in the words of Hadoop's diagnostics."""
    leaf = application.leaf
    if leaf is None:
        if application.attempt == 0 and not application.over:
            return f"No queue can be called {application.queue}: the application can only be killed"
        return ""
    limit = run_limit(state, application)
    if limit is not None:
        holder = f"user {limit.user}" if limit.user else f"queue {limit.queue}"
        return f"The {holder} has reached the maximum limit of runnable applications"
    if application.charged and not master_fits(application, subtract(state.total, state.used)):
        return f"Queue {leaf.name} exceeds maximum AM resource allowed"
    return ""
