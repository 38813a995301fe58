"""Owns what follows from reports of containers that started or ended, and what can be forgotten.

Decides by `step.emit` alone. A report of what is not known, or known already, changes nothing.
"""

from fairshare.model.events import (
    ApplicationsForgotten,
    ContainerCompleted,
    ContainerRunning,
    RoomFreed,
)
from fairshare.model.identifiers import application_of
from fairshare.model.inputs import ContainerExited, ContainerStarted, ForgetApplications
from fairshare.schedulers.protocol import State, Step


def started(step: Step, state: State, given: ContainerStarted) -> None:
    """A container runs."""
    application = state.applications.get(application_of(given.container))
    if application is None or given.container not in application.containers:
        return
    if given.container not in state.running:
        step.emit(ContainerRunning(given.container, given.holds_room))


def exited(step: Step, state: State, given: ContainerExited) -> None:
    """A container has ended; one that was over already holds its room no longer."""
    node = state.ending.get(given.container)
    if node is not None:
        step.emit(RoomFreed(given.container, node))
        return
    application = state.applications.get(application_of(given.container))
    if application is None or given.container not in application.containers:
        return
    step.emit(
        ContainerCompleted(
            given.container,
            given.exit_code,
            given.diagnostics,
            given.peak_memory_mb,
            given.cpu_ms,
            state.running.get(given.container) or False,
        )
    )


def forget(step: Step, state: State, given: ForgetApplications) -> None:
    """Those that are not over, or for which room was made on a node, stay until next time."""
    promised = {number for node in state.nodes.values() for number in node.promised}
    applications = state.applications
    forgotten = tuple(
        number
        for number in dict.fromkeys(given.applications)
        if number in applications and applications[number].over and number not in promised
    )
    if forgotten:
        step.emit(ApplicationsForgotten(forgotten))
