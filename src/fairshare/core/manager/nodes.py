"""How the manager handles nodes that join, are lost, resized or drained, and the safe mode.

From its next heartbeat on, the total of a drained node is what its containers use, as of Hadoop's
decommissioning nodes (`AbstractYarnScheduler.nodeUpdate`), so that shares are computed from
resources that can be allocated.
"""

from typing import Protocol

from fairshare.core.manager.lifecycle import Lifecycle
from fairshare.core.model.events import (
    ContainerCompleted,
    ExitCode,
    NodeAdded,
    NodeDrained,
    NodeOvercommitted,
    NodeRemoved,
    NodeTotalChanged,
    NodeUndrained,
    PreemptedRoomChanged,
    RequestRefused,
    ReservationDropped,
    SafeModeChanged,
)
from fairshare.core.model.inputs import (
    DecommissionNode,
    DrainNode,
    NodeJoined,
    NodeLost,
    NodeResized,
    SetSafeMode,
    UndrainNode,
)
from fairshare.core.model.nodes import Node
from fairshare.core.model.resources import add
from fairshare.core.schedulers.protocol import Refusal, Scheduler, Step
from fairshare.wording import no_node

TAKEN = "Container preempted by scheduler: node {} became smaller than what runs there"


# A node whose total was reduced below what its containers use (YARN-999). Without a timeout the
# containers continue, and no new one fits. With a timeout the manager preempts containers when it
# expires until the rest fits: masters last, otherwise the newest first (`SchedulerNode`'s
# `getContainersToKill`), regardless of applications and queues.


def limit_overcommit(scheduler: Scheduler, step: Step, name: str, timeout_ms: int) -> None:
    """After a resize, let the containers run for `timeout_ms` more; negative: without limit."""
    state = scheduler.state
    node = state.nodes[name]
    if timeout_ms < 0 or name in state.drains or not state.lacks(node.available):
        forget_overcommit(scheduler, step, name)
    elif timeout_ms == 0:
        enforce_overcommit(scheduler, step, name)
    elif state.overcommits.get(name) != step.now_ms + timeout_ms:
        step.emit(NodeOvercommitted(name, step.now_ms + timeout_ms))


def enforce_overcommit(scheduler: Scheduler, step: Step, name: str) -> None:
    """The timeout has expired: preempt containers until the rest fits."""
    forget_overcommit(scheduler, step, name)
    node = scheduler.state.nodes.get(name)
    if node is None:
        return
    room = node.available
    containers = [*node.containers.values(), *node.ending.values()]
    containers.sort(key=lambda one: (one.master, -one.allocated_ms, -one.container))
    for container in containers:
        if not scheduler.state.lacks(room):
            break
        room = add(room, container.resource)  # freed now, or when the node reports its end
        if container.container in node.containers:
            reason = TAKEN.format(name)
            step.emit(ContainerCompleted(container.container, ExitCode.PREEMPTED, reason))


def forget_overcommit(scheduler: Scheduler, step: Step, name: str) -> None:
    """Cancel the timeout of a node: it was removed, drained, or no longer has a time limit."""
    if name in scheduler.state.overcommits:
        step.emit(NodeOvercommitted(name, None))


def join(scheduler: Scheduler, step: Step, report: NodeJoined) -> None:
    """Add a node, or resize it if it is known.

    A decommissioned node is ignored until an administrator undrains it.
    """
    state = scheduler.state
    drain = state.drains.get(report.node)
    node = state.nodes.get(report.node)
    if node is not None:
        _resize(scheduler, step, node, report.total)
        return
    if drain is not None and drain.deadline_ms is not None:
        return
    step.emit(NodeAdded(report.node, report.total, report.rack, report.attributes, report.host))
    if drain is not None:
        step.emit(NodeDrained(report.node, report.total))
        step.emit(NodeTotalChanged(report.node, state.none))
    scheduler.node_changed(step)


def lose(scheduler: Scheduler, lives: Lifecycle, step: Step, report: NodeLost) -> None:
    """Remove a node and complete its containers as aborted. Raises Refusal."""
    node = scheduler.state.nodes.get(report.node)
    if node is None:
        raise _unknown(report.node)
    for container in scheduler.in_order_of_end(node):
        step.emit(
            ContainerCompleted(container, ExitCode.ABORTED, "Container released on a *lost* node")
        )
    forget_overcommit(scheduler, step, report.node)
    step.emit(NodeRemoved(report.node))
    scheduler.node_changed(step)


def resize(scheduler: Scheduler, step: Step, report: NodeResized) -> None:
    """Change a node's total; for a drained node, the total after it is undrained. Raises
    Refusal."""
    node = scheduler.state.nodes.get(report.node)
    if node is None:
        raise _unknown(report.node)
    if not _resize(scheduler, step, node, report.total):
        scheduler.node_changed(step)
    limit_overcommit(scheduler, step, report.node, report.overcommit_timeout_ms)


def _resize(scheduler: Scheduler, step: Step, node: Node, total: tuple[int, ...]) -> bool:
    drain = scheduler.state.drains.get(node.name)
    if drain is not None:
        if drain.total != total:
            step.emit(NodeDrained(node.name, total, drain.deadline_ms))
        return True
    if node.total == total:
        return False
    step.emit(NodeTotalChanged(node.name, total))
    scheduler.node_changed(step)
    return True


def drain(scheduler: Scheduler, step: Step, request: DrainNode | DecommissionNode) -> None:
    """Stop the allocation of containers on a node; a decommissioned node also leaves the cluster
    when it is empty, or at its deadline. Raises Refusal."""
    _check_administrator(scheduler, request)
    state = scheduler.state
    node = state.nodes.get(request.node)
    if node is None:
        raise _unknown(request.node)
    deadline_ms = None
    if isinstance(request, DecommissionNode):
        deadline_ms = step.now_ms + max(0, request.timeout_ms)
    before = state.drains.get(request.node)
    if before is not None:
        if before.deadline_ms != deadline_ms:
            step.emit(NodeDrained(request.node, before.total, deadline_ms))
        return
    forget_overcommit(scheduler, step, request.node)
    step.emit(NodeDrained(request.node, node.total, deadline_ms))
    if node.reservation is not None:
        step.emit(ReservationDropped(request.node))
    for application in tuple(node.promised):
        step.emit(PreemptedRoomChanged(request.node, application, state.none))
    scheduler.node_changed(step)


def undrain(scheduler: Scheduler, step: Step, request: UndrainNode) -> None:
    """Allow containers on a node again; a node that has left is allowed to join again. Raises
    Refusal."""
    _check_administrator(scheduler, request)
    state = scheduler.state
    drain = state.drains.get(request.node)
    if drain is None:
        if request.node not in state.nodes:
            raise _unknown(request.node)
        return
    step.emit(NodeUndrained(request.node))
    node = state.nodes.get(request.node)
    if node is not None:
        if node.total != drain.total:
            step.emit(NodeTotalChanged(request.node, drain.total))
        scheduler.node_changed(step)


def shrink(scheduler: Scheduler, step: Step, name: str) -> None:
    """Reduce the total of a drained node to what its containers use."""
    node = scheduler.state.nodes.get(name)
    if node is not None and node.total != node.used:
        step.emit(NodeTotalChanged(name, node.used))
        scheduler.node_changed(step)


def set_safe_mode(scheduler: Scheduler, step: Step, request: SetSafeMode) -> None:
    """Switch the safe mode, in which no application is admitted and no container allocated.
    Raises Refusal."""
    _check_administrator(scheduler, request)
    if scheduler.state.safe_mode != request.on:
        step.emit(SafeModeChanged(request.on, request.user))


def refuse_in_safe_mode(scheduler: Scheduler, step: Step) -> bool:
    """Refuse a submission while the cluster is in safe mode; the application is not recorded.

    Returns whether the submission was refused.
    """
    if not scheduler.state.safe_mode:
        return False
    step.emit(
        RequestRefused(
            0,
            "safe-mode",
            "the cluster is in safe mode and admits nothing: try again when an administrator has"
            " ended it",
        )
    )
    return True


class _Order(Protocol):
    @property
    def user(self) -> str: ...
    @property
    def groups(self) -> tuple[str, ...]: ...


def _check_administrator(scheduler: Scheduler, request: _Order) -> None:
    user = request.user
    if user and not scheduler.may_administer("", user, request.groups):
        raise Refusal("access-denied", f"User {user} does not administer the cluster")


def _unknown(node: str) -> Refusal:
    return Refusal("unknown-node", no_node(node))
