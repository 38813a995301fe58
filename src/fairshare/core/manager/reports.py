"""The handling of reports that containers started or ended, and the removal of applications that
are over.

Changes the state only through `step.emit`. A report of an unknown container, or a repeated report,
changes nothing.
"""

from fairshare.core.model.applications import Application
from fairshare.core.model.events import (
    ApplicationsForgotten,
    ContainerCompleted,
    ContainerRunning,
    ExitCode,
    NodeFailing,
    NodeRecovered,
    NodeTried,
    RoomFreed,
    TaskPaused,
    TasksResumed,
)
from fairshare.core.model.identifiers import APPLICATION_SHIFT, application_of
from fairshare.core.model.inputs import (
    ContainerExited,
    ContainerStarted,
    ForgetApplications,
    NodeDue,
)
from fairshare.core.model.nodes import pause_ms
from fairshare.core.model.tasks import Assignment, may_fail_again
from fairshare.core.schedulers.protocol import State, Step

_PAUSES_END_MS = 250  # and at multiples of it: those of a million tasks would be as many inputs

_OUT_OF_MEMORY = ExitCode.KILLED_EXCEEDING_MEMORY


def started(state: State, step: Step, report: ContainerStarted) -> None:
    """An engine reports that a container runs."""
    container = report.container
    application = state.applications.get(application_of(container))
    if application is None or container not in application.attempt.containers:
        return
    if container not in state.running:
        step.emit(ContainerRunning(container, report.holds_room, report.gpus))
    if state.failing:
        node_name = application.attempt.containers[container].node
        if node_name in state.failing:
            step.emit(NodeRecovered(node_name))


def exited(state: State, step: Step, report: ContainerExited) -> None:
    """An engine reports that a container ended; if it was completed before, its room is freed."""
    container = report.container
    if state.ending:
        node = state.ending.get(container)
        if node is not None:
            step.emit(RoomFreed(container, node))
            return
    application = state.applications.get(container >> APPLICATION_SHIFT)
    if application is None:
        return
    attempt = application.attempt
    record = attempt.containers.get(container)
    if record is None:
        return
    assignment = launched_ms = None
    at_limit = False
    if report.exit_code:
        launched_ms = attempt.launched.get(container)
        assignment = application.tasks.assigned.get(container)
        if assignment is not None and (report.timed_out or report.exit_code == _OUT_OF_MEMORY):
            group = application.tasks.groups[assignment.group].spec
            at_limit = group.max_attempts is None and group.command.end_signal is None
    step.emit(
        ContainerCompleted(
            container,
            report.exit_code,
            report.diagnostics,
            report.peak_memory_mb,
            report.cpu_ms,
            state.running.get(container) or False,
            report.cannot_start,
            at_limit,
            report.timed_out,
        )
    )
    if report.node_failed:
        _pause_node(state, step, record.node, report.diagnostics)
    elif assignment is not None and launched_ms is not None and may_fail_again(report.exit_code):
        _pause_task(step, application, assignment, launched_ms)


def _pause_node(state: State, step: Step, name: str, reason: str) -> None:
    """Let a node that could not start a container wait, longer each time. What else fails there
    during the pause was tried with it."""
    before = state.failing.get(name)
    if before is not None and before.until_ms is not None:
        return
    failures = 0 if before is None else before.failures
    step.emit(NodeFailing(name, failures + 1, step.now_ms + pause_ms(failures), reason))


def _pause_task(
    step: Step, application: Application, assignment: Assignment, launched_ms: int
) -> None:
    """Let a task wait whose container ended sooner than its next pause: so the starts of a task are
    a second, two, four ... apart, and one that ran for longer is tried again at once."""
    progress, task = application.tasks.groups[assignment.group], assignment.task
    if not progress.waiting or progress.waiting[-1] != task:
        return  # it has failed for good
    until_ms = launched_ms + pause_ms(progress.pauses.get(task, 0))
    if until_ms > step.now_ms:
        until_ms = -(-until_ms // _PAUSES_END_MS) * _PAUSES_END_MS
        step.emit(TaskPaused(application.id, assignment.group, task, until_ms))


def tasks_due(step: Step, application: Application) -> bool:
    """Let the tasks of an application whose pauses are over ask again; whether there are any."""
    next_ms = application.tasks.next_resume_ms
    if application.over or next_ms is None or next_ms > step.now_ms:
        return False
    step.emit(TasksResumed(application.id))
    return True


def node_due(state: State, step: Step, due: NodeDue) -> None:
    """Try a node again whose pause is over."""
    known = state.failing.get(due.node)
    if known is not None and known.until_ms is not None and known.until_ms <= step.now_ms:
        step.emit(NodeTried(due.node))


def forget(state: State, step: Step, request: ForgetApplications) -> None:
    """Forget applications that are over. An application for which a node still keeps preempted
    room stays until a later call."""
    promised = {number for node in state.nodes.values() for number in node.promised}
    applications = state.applications
    forgotten = tuple(
        number
        for number in dict.fromkeys(request.applications)
        if number in applications and applications[number].over and number not in promised
    )
    if forgotten:
        step.emit(ApplicationsForgotten(forgotten))
