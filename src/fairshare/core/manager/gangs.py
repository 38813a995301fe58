"""Owns gangs: groups of tasks that start together or not at all.

A gang requests its containers as any group does, and the scheduler decides on each of them as on
any other: nothing is reserved for a gang beyond its queue's turn. What it gets is held, unlaunched,
until nothing is missing. A gang that holds some for longer than its timeout gives them back, so
that two gangs which hold each other's containers cannot wait for ever, and asks again after a
pause, or as soon as there is room for the whole of it. A gang that is larger than the empty cluster
pauses at once.

The pause is the timeout, doubled with each further one, at most 8 times the timeout: 60 s, 120 s,
240 s, 480 s, 480 s with the default.
"""

from collections.abc import Iterator

from fairshare.core.model.applications import Application
from fairshare.core.model.events import (
    ContainerAllocated,
    ContainerCompleted,
    ContainerHeld,
    ContainerLaunched,
    ExitCode,
    GangPaused,
    GangRestarted,
)
from fairshare.core.model.nodes import Node
from fairshare.core.model.resources import Resource, count_fitting
from fairshare.core.model.tasks import GroupProgress
from fairshare.core.schedulers.protocol import State, Step

LONGEST_PAUSE = 8
"""The longest pause, in timeouts."""

INCOMPLETE = "Container released: its gang did not get all of its {} containers within {:g} s"
BROKEN = "Container killed: a task of its gang did not succeed, and all of them start again"
NOT_NEEDED = "no task is left"


def hold(step: Step, state: State, event: ContainerAllocated, number: int) -> None:
    """Keep a container until the gang is complete; with the last one, launch them all."""
    progress = state.applications[event.application].tasks.groups[number]
    key = event.application, number
    gang = state.gangs.get(key)
    held = 0 if gang is None else len(gang.held)
    if held >= len(progress.waiting) or (gang is not None and gang.paused):
        step.emit(ContainerCompleted(event.container, ExitCode.ABORTED, NOT_NEEDED))
        return
    due_ms = None if gang is None else gang.due_ms
    if due_ms is None:
        due_ms = step.now_ms + progress.spec.gang_timeout_ms
    step.emit(ContainerHeld(event.container, number, due_ms))
    if held + 1 < len(progress.waiting):
        return
    tasks, limit_ms = tuple(progress.waiting), progress.spec.time_limit_ms
    for container, task in zip(tuple(state.gangs[key].held), tasks, strict=True):
        step.emit(ContainerLaunched(container, None, number, task, limit_ms))


def held(state: State, application: Application, number: int) -> int:
    """How many containers a group holds unlaunched."""
    gang = state.gangs.get((application.id, number))
    return 0 if gang is None else len(gang.held)


def is_paused(state: State, application: Application, number: int) -> bool:
    """Whether a gang gave up, and does not ask now."""
    gang = state.gangs.get((application.id, number))
    return gang is not None and gang.paused


def give_up(step: Step, state: State, application: Application, number: int) -> None:
    """Give all held containers back, and pause."""
    spec = application.tasks.groups[number].spec
    containers = tuple(state.gangs[application.id, number].held)
    pause(step, state, application, number)
    words = INCOMPLETE.format(spec.count, spec.gang_timeout_ms / 1_000)
    for container in containers:
        step.emit(ContainerCompleted(container, ExitCode.ABORTED, words))


def pause(
    step: Step, state: State, application: Application, number: int, most: int | None = None
) -> None:
    """Let a gang wait before it asks (again). `most`: see GangPaused."""
    gang = state.gangs.get((application.id, number))
    timeouts = 1 if gang is None else min(2**gang.pauses, LONGEST_PAUSE)
    pause_ms = timeouts * application.tasks.groups[number].spec.gang_timeout_ms
    step.emit(GangPaused(application.id, number, step.now_ms + pause_ms, most))


def restart_broken(step: Step, application: Application) -> None:
    """Stop what is left of gangs of which a task did not succeed, so that all tasks wait."""
    for number, progress in enumerate(application.tasks.groups):
        if not progress.spec.gang or not progress.broken:
            continue
        for container in tuple(progress.running.values()):
            step.emit(ContainerCompleted(container, ExitCode.ABORTED, BROKEN))
        if progress.results:
            step.emit(GangRestarted(application.id, number))


def has_room(
    state: State, application: Application, progress: GroupProgress, size: Resource, label: str
) -> bool:
    """Whether all containers of a gang fit into what is free now: nodes without a reservation."""
    missing = len(progress.waiting)
    for node in _accepted(state, application, progress, label):
        if node.reservation is None and node.name not in state.drains:
            missing -= _fitting(state, size, state.room(node))
            if missing <= 0:
                return True
    return False


def most(
    state: State, application: Application, progress: GroupProgress, size: Resource, label: str
) -> int:
    """How many containers of a gang fit into all nodes that it accepts while they are empty;
    counted until they are enough."""
    count = 0
    for node in _accepted(state, application, progress, label):
        count += _fitting(state, size, state.offered(node))
        if count >= len(progress.waiting):
            break
    return count


def _fitting(state: State, size: Resource, room: Resource) -> int:
    return (
        count_fitting(size[:1], room[:1])
        if state.counts_memory_alone
        else count_fitting(size, room)
    )


def _accepted(
    state: State, application: Application, progress: GroupProgress, label: str
) -> Iterator[Node]:
    """The nodes of a partition that the application and its group admit."""
    refused, spec = application.attempt.blacklist, progress.spec
    for node in state.nodes.values():
        if state.label_of(node) != label or node.host in refused or node.rack in refused:
            continue
        if spec.relax or node.host in spec.hosts or node.rack in spec.racks:
            yield node
