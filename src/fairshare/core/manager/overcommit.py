"""Owns the handling of a node whose total was reduced below what its containers use (YARN-999).

Without a timeout the containers continue, and no new one fits. With a timeout the manager preempts
containers when it expires until the rest fits: masters last, otherwise the newest first
(`SchedulerNode`'s `getContainersToKill`), regardless of applications and queues.
"""

from fairshare.core.model.events import (
    ContainerAllocated,
    ContainerCompleted,
    ExitCode,
    NodeOvercommitted,
)
from fairshare.core.model.nodes import Node
from fairshare.core.model.resources import add
from fairshare.core.schedulers.protocol import Scheduler, Step

TAKEN = "Container preempted by scheduler: node {} became smaller than what runs there"


def limit(step: Step, scheduler: Scheduler, name: str, timeout_ms: int) -> None:
    """After a resize, let the containers run for `timeout_ms` more; negative: without limit."""
    state = scheduler.state
    node = state.nodes[name]
    if timeout_ms < 0 or name in state.drains or not state.is_overcommitted(node):
        forget(step, scheduler, name)
    elif timeout_ms == 0:
        enforce(step, scheduler, name)
    elif state.overcommits.get(name) != step.now_ms + timeout_ms:
        step.emit(NodeOvercommitted(name, step.now_ms + timeout_ms))


def enforce(step: Step, scheduler: Scheduler, name: str) -> None:
    """The timeout has expired: preempt containers until the rest fits."""
    forget(step, scheduler, name)
    node = scheduler.state.nodes.get(name)
    if node is None:
        return
    room = node.available
    for container in _in_order(node):
        if not scheduler.state.lacks(room):
            break
        room = add(room, container.resource)  # freed now, or when the node reports its end
        if container.container in node.containers:
            reason = TAKEN.format(name)
            step.emit(ContainerCompleted(container.container, ExitCode.PREEMPTED, reason))


def forget(step: Step, scheduler: Scheduler, name: str) -> None:
    """Cancel the timeout of a node: it was removed, drained, or no longer has a time limit."""
    if name in scheduler.state.overcommits:
        step.emit(NodeOvercommitted(name, None))


def _in_order(node: Node) -> list[ContainerAllocated]:
    def rank(one: ContainerAllocated) -> tuple[bool, int, int]:
        return one.master, -one.allocated_ms, -one.container

    return sorted((*node.containers.values(), *node.ending.values()), key=rank)
