"""Owns the handling of reports that containers started or ended, and the removal of applications
that are over.

Changes the state only through `step.emit`. A report of an unknown container, or a repeated report,
changes nothing.
"""

from fairshare.model.events import (
    ApplicationsForgotten,
    ContainerCompleted,
    ContainerRunning,
    RoomFreed,
)
from fairshare.model.identifiers import APPLICATION_SHIFT, application_of
from fairshare.model.inputs import ContainerExited, ContainerStarted, ForgetApplications
from fairshare.schedulers.protocol import State, Step


def started(state: State, step: Step, given: ContainerStarted) -> None:
    """An engine reports that a container runs."""
    container = given.container
    application = state.applications.get(application_of(container))
    if application is None or container not in application.attempt.containers:
        return
    if container not in state.running:
        step.emit(ContainerRunning(container, given.holds_room, given.gpus))


def exited(state: State, step: Step, given: ContainerExited) -> None:
    """An engine reports that a container ended; if it was completed before, its room is freed."""
    container = given.container
    node = state.ending.get(container) if state.ending else None
    if node is not None:
        step.emit(RoomFreed(container, node))
        return
    application = state.applications.get(container >> APPLICATION_SHIFT)
    if application is None or container not in application.attempt.containers:
        return
    step.emit(
        ContainerCompleted(
            container,
            given.exit_code,
            given.diagnostics,
            given.peak_memory_mb,
            given.cpu_ms,
            state.running.get(container) or False,
            given.cannot_start,
        )
    )


def forget(state: State, step: Step, given: ForgetApplications) -> None:
    """Forget applications that are over. An application for which a node still keeps preempted
    room stays until a later call."""
    promised = {number for node in state.nodes.values() for number in node.promised}
    applications = state.applications
    forgotten = tuple(
        number
        for number in dict.fromkeys(given.applications)
        if number in applications and applications[number].over and number not in promised
    )
    if forgotten:
        step.emit(ApplicationsForgotten(forgotten))
