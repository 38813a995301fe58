"""Owns what becomes of a node that was made smaller than what runs on it (YARN-999).

Without a timeout what runs there goes on, and nothing new fits. With one, containers are taken when
it is over until the rest fits: masters last, else the newest first (`SchedulerNode`'s
`getContainersToKill`). Knows no policy: whose containers they are does not matter.
"""

from fairshare.model.events import (
    ContainerAllocated,
    ContainerCompleted,
    ExitCode,
    NodeOvercommitted,
)
from fairshare.model.nodes import Node
from fairshare.model.resources import add
from fairshare.schedulers.protocol import Scheduler, Step

TAKEN = "Container preempted by scheduler: node {} became smaller than what runs there"


def limit(step: Step, scheduler: Scheduler, name: str, timeout_ms: int) -> None:
    """After a resize: containers may stay for `timeout_ms`, negative: for ever."""
    state = scheduler.state
    node = state.nodes[name]
    if timeout_ms < 0 or name in state.drains or not state.is_overcommitted(node):
        forget(step, scheduler, name)
    elif timeout_ms == 0:
        enforce(step, scheduler, name)
    elif state.overcommits.get(name) != step.now_ms + timeout_ms:
        step.emit(NodeOvercommitted(name, step.now_ms + timeout_ms))


def enforce(step: Step, scheduler: Scheduler, name: str) -> None:
    """The time is over: take containers until the rest fits."""
    forget(step, scheduler, name)
    node = scheduler.state.nodes.get(name)
    if node is None:
        return
    room = node.available
    for container in _in_order(node):
        if not scheduler.state.lacks(room):
            break
        room = add(room, container.resource)  # now, or when the node has reported its end
        if container.container in node.containers:
            reason = TAKEN.format(name)
            step.emit(ContainerCompleted(container.container, ExitCode.PREEMPTED, reason))


def forget(step: Step, scheduler: Scheduler, name: str) -> None:
    """What runs on a node may stay: it is gone, drained, or nobody limits the time any more."""
    if name in scheduler.state.overcommits:
        step.emit(NodeOvercommitted(name, None))


def _in_order(node: Node) -> list[ContainerAllocated]:
    def rank(one: ContainerAllocated) -> tuple[bool, int, int]:
        return one.master, -one.allocated_ms, -one.container

    return sorted((*node.containers.values(), *node.ending.values()), key=rank)
