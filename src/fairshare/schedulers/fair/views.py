"""Owns what the Fair Scheduler shows of its queues and applications. Changes nothing."""

from typing import TYPE_CHECKING

from fairshare.model.resources import Resource, positive, smallest, subtract, total
from fairshare.schedulers.fair.applications import FairApplication
from fairshare.schedulers.fair.limits import master_limit
from fairshare.schedulers.fair.queues import FairQueue
from fairshare.schedulers.fair.settings import NO_LIMIT
from fairshare.schedulers.views import ApplicationView, QueueView

if TYPE_CHECKING:
    from fairshare.schedulers.fair.state import FairState


def queue_views(state: "FairState") -> list[QueueView]:
    """All queues, root first, parents before children, children by name."""
    found: list[QueueView] = []

    def visit(queue: FairQueue) -> list[FairApplication]:
        place = len(found)
        found.append(None)  # type: ignore[arg-type]
        below = list(queue.applications.values())
        for name in sorted(queue.children):
            below.extend(visit(queue.children[name]))
        found[place] = _queue_view(state, queue, below)
        return below

    visit(state.root)
    return found


def _queue_view(state: "FairState", queue: FairQueue, below: list[FairApplication]) -> QueueView:
    size = len(state.none)
    reserved = [r for a in below for r in a.reservations.values()]
    return QueueView(
        name=queue.name,
        leaf=queue.leaf,
        dynamic=queue.dynamic,
        parent=queue.parent.name if queue.parent else "",
        children=tuple(sorted(queue.children)),
        policy=queue.policy.name,
        used=queue.used,
        reserved=total((r.resource for r in reserved), size),
        demand=queue.demand,
        pending=total((a.asks.pending for a in below), size),
        min_share=queue.min_share,
        max_share=queue.max_share,
        fair_share=queue.fair_share,
        steady_fair_share=queue.steady_fair_share,
        weight=queue.weight,
        running_applications=queue.running,
        pending_applications=sum(1 for a in below if not a.runnable),
        max_running_applications=None if queue.max_running == NO_LIMIT else queue.max_running,
        containers=sum(len(a.containers) for a in below),
        reserved_containers=len(reserved),
        preempted=queue.preempted,
        preemptable=queue.allow_preemption,
        master_used=queue.master_used if queue.leaf else None,
        master_limit=master_limit(state, queue) if queue.leaf else None,
        max_master_share=queue.max_master_share,
        max_container=queue.max_container,
        min_share_timeout_ms=queue.min_share_timeout_ms,
        fair_share_timeout_ms=queue.fair_share_timeout_ms,
        fair_share_threshold=queue.fair_share_threshold,
    )


def application_view(state: "FairState", application: FairApplication) -> ApplicationView:
    """One application as it stands."""
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
        headroom=headroom(state, application),
        to_preempt=len(application.to_preempt),
        preempted=application.preempted,
        diagnostics=application.diagnostics,
    )


def headroom(state: "FairState", application: FairApplication) -> Resource:
    """What the application could still get, as its master is told (spec/fair.md 9.8).

    Free in the cluster without refused nodes, and free below the leaf's maximum; memory (under drf
    vcores too) also within what is left of the leaf's fair share. Further types are not told: 0.
    """
    leaf = application.leaf
    if leaf is None:
        return state.none
    free = subtract(state.total, state.used)
    for node in state.nodes.values():
        if node.name in application.blacklist or node.rack in application.blacklist:
            free = subtract(free, positive(node.available))
    below_maximum = subtract(leaf.max_share, leaf.used)
    room = smallest(positive(free), below_maximum)
    share = positive(subtract(leaf.fair_share, leaf.used))
    limited = smallest(room, share)
    shared = 2 if leaf.policy.name == "drf" else 1
    told = limited[:shared] + room[shared:2]
    return told + (0,) * (len(room) - 2)
