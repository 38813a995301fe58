"""Changes of applications that go on: what may change in which state, and what follows of it.

What runs keeps its size; a time limit counts from the start of each attempt, also of those that
run.
"""

from collections.abc import Callable, Sequence

from fairshare.core.manager import groups
from fairshare.core.manager.lifecycle import Lifecycle
from fairshare.core.manager.lifetimes import Starts
from fairshare.core.model.applications import Application
from fairshare.core.model.events import (
    ApplicationUpdated,
    ContainerCompleted,
    ExitCode,
    GangResumed,
    ReservationDropped,
)
from fairshare.core.model.inputs import Changes
from fairshare.core.model.tasks import GROUP_REQUESTS
from fairshare.core.model.work import TaskGroup
from fairshare.core.schedulers.backfill import due_ms
from fairshare.core.schedulers.protocol import Refusal, Step

Check = Callable[[Sequence[TaskGroup]], None]

RESIZED = "Container released: the size of its gang's containers has changed"


def update(
    step: Step,
    lives: Lifecycle,
    starts: Starts,
    check: Check,
    application: Application,
    changes: Changes,
    *,
    administers: bool,
) -> None:
    """Change an application; raises Refusal, and then changes nothing. `check` raises it for groups
    of tasks that its queue can never run. `administers`: whether the user administers the queue."""
    changed = _changed_groups(lives, application, changes)
    if changes.time_limit_ms is not None and not administers:
        _check_lent(lives, application, changed)
    if changed:
        numbered = enumerate(application.tasks.groups)
        groups.check_groups([changed.get(number, one.spec) for number, one in numbered])
        check(tuple(changed.values()))
    if changes.after is not None or changes.begin_ms is not None:
        starts.check_change(step, application, changes.after, changes.begin_ms)
    if changes.priority is not None:
        lives.scheduler.set_priority(step, application, changes.priority)
    asks_again = (changes.sizes or changes.at_once is not None) and application.attempt.registered
    if asks_again:
        if changes.sizes:
            _give_back(step, lives, application, changed)
        lives.withdraw_tasks(step, application)
    if changes.says_more:
        step.emit(ApplicationUpdated(application.id, changes))
    if asks_again:
        for number in changed if changes.sizes else ():
            if groups.is_gang_paused(lives.state, application, number):
                step.emit(GangResumed(application.id, number))  # there may be room for this size
        lives.ask_for_tasks(step, application)
    if changes.after is not None or changes.begin_ms is not None:
        starts.change(step, application, changes.after, changes.begin_ms)


def _changed_groups(
    lives: Lifecycle, application: Application, changes: Changes
) -> dict[int, TaskGroup]:
    """The groups of tasks that change, by their numbers, as they will be. Raises Refusal."""
    if not changes.of_groups:
        return {}
    number, board = application.id, application.tasks
    if not board.groups:
        raise Refusal(
            "no-tasks",
            f"application {number} has no groups of tasks: its own master decides about sizes,"
            " limits and how many run",
        )
    if changes.group and changes.group not in [one.spec.name for one in board.groups]:
        names = ", ".join(one.spec.name for one in board.groups)
        raise Refusal(
            "unknown-group",
            f"application {number} has no group of tasks {changes.group}: it has {names}",
        )
    unknown = set(changes.sizes) - {*lives.state.types.names}
    if unknown:
        names = ", ".join(lives.state.types.names)
        raise Refusal(
            "unknown-resource",
            f"there is no resource type {', '.join(sorted(unknown))}; there are {names}",
        )
    changed = board.changed(changes, lives.state.types)
    nothing_waits = changes.sizes and not any(board.groups[place].waits for place in changed)
    if nothing_waits or not changed:
        what = f"group {changes.group} of application {number}" if changes.group else number
        raise Refusal(
            "nothing-waits" if nothing_waits else "tasks-over",
            f"all tasks of {what} run or have ended: containers keep the size that they have"
            if nothing_waits
            else f"all tasks of {what} have ended",
        )
    return changed


def _check_lent(lives: Lifecycle, application: Application, changed: dict[int, TaskGroup]) -> None:
    """Raise Refusal for tasks that would run on when what their node keeps for another application
    is needed: it may have been lent to them until then."""
    for number, spec in changed.items():
        progress, launched = application.tasks.groups[number], application.attempt.launched
        limit_ms = progress.spec.time_limit_ms
        for container in progress.running.values() if limit_ms is not None else ():
            node = lives.state.nodes.get(application.containers[container].node)
            reservation = None if node is None else node.reservation
            if node is None or reservation is None or reservation.application == application.id:
                continue
            until_ms = due_ms(lives.state.applications, node)
            since_ms = launched.get(container)
            if until_ms is None or since_ms is None or since_ms + (limit_ms or 0) > until_ms:
                continue
            if spec.time_limit_ms is None or since_ms + spec.time_limit_ms > until_ms:
                raise Refusal(
                    "room-is-kept",
                    f"{node.name} keeps room for application {reservation.application}, which can"
                    f" start when tasks have ended there: this limit can be"
                    f" {(until_ms - since_ms) // 1_000:,} s at most, unless an administrator"
                    " changes it",
                )


def _give_back(
    step: Step, lives: Lifecycle, application: Application, changed: dict[int, TaskGroup]
) -> None:
    """Give back what is reserved for groups, and what gangs hold while others are missing: it has
    the old size."""
    for node, reservation in tuple(application.attempt.reservations.items()):
        if reservation.request - GROUP_REQUESTS in changed:
            step.emit(ReservationDropped(node))
    for number in changed:
        gang = lives.state.gangs.get((application.id, number))
        for container in tuple(gang.held) if gang is not None else ():
            step.emit(ContainerCompleted(container, ExitCode.ABORTED, RESIZED))
