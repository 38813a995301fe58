"""What the manager does as the master of task groups: validation of groups, the container requests
that are due, and gangs, whose tasks start together.
"""

from collections.abc import Callable, Iterator, Sequence

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
from fairshare.core.model.tasks import GROUP_REQUESTS, GroupProgress, TaskBoard, TaskState
from fairshare.core.model.work import ANYWHERE, ContainerRequest, ResourceRequest, TaskGroup
from fairshare.core.schedulers.protocol import Refusal, State, Step
from fairshare.core.schedulers.reasons import Bound
from fairshare.documents.bounds import GANG_RESTARTS
from fairshare.documents.indexes import ranges_text
from fairshare.wording import counted

MOST_RANGES = 50
"""The most ranges of failed tasks that diagnostics list."""


def check_groups(new: Sequence[TaskGroup], known: Sequence[TaskGroup] = ()) -> None:
    """Raise Refusal if a group is invalid: it has no tasks, a name that another group has, or
    waits for a group that does not exist or, through others, for itself."""
    names = {group.name for group in known}
    for group in new:
        if not group.name:
            raise Refusal("invalid-tasks", "a group of tasks needs a name")
        if group.name in names:
            raise Refusal("invalid-tasks", f"two groups of tasks are called {group.name}")
        if group.count < 1:
            raise Refusal("invalid-tasks", f"group {group.name} has no tasks: give count 1 or more")
        if group.attempts < 1:
            raise Refusal(
                "invalid-tasks", f"group {group.name} has max_attempts below 1: give 1 or more"
            )
        if not 0.0 <= group.slow_start <= 1.0:
            raise Refusal(
                "invalid-tasks",
                f"group {group.name} has a slow_start that is not within 0.0 to 1.0",
            )
        if group.time_limit_ms is not None and group.time_limit_ms < 1:
            raise Refusal(
                "invalid-tasks",
                f"group {group.name} has a time limit below 1 ms: give a longer one, or none",
            )
        if group.gang_restart not in GANG_RESTARTS:
            words = " or ".join(GANG_RESTARTS)
            raise Refusal("invalid-tasks", f"group {group.name}: write {words} for gang_restart")
        if group.gang_timeout_ms < 1:
            raise Refusal(
                "invalid-tasks",
                f"group {group.name} has a gang timeout below 1 ms: give a longer one",
            )
        _check_pace(group)
        names.add(group.name)
    waits = False
    for group in new:
        for name in group.after:
            waits = True
            if name not in names:
                raise Refusal(
                    "invalid-tasks", f"group {group.name} waits for {name}, which does not exist"
                )
    if waits:
        _check_circles(new)


def _check_pace(group: TaskGroup) -> None:
    """Raise Refusal if the group limits its tasks in a way that contradicts the rest of it."""
    if group.at_once is not None and group.at_once < 1:
        raise Refusal("invalid-tasks", f"group {group.name} has at_once below 1: give 1 or more")
    if group.gang and group.at_once is not None and group.at_once < group.count:
        raise Refusal(
            "invalid-tasks",
            f"group {group.name}: {counted(group.count, 'task')} of a gang start together, and"
            f" at_once allows {group.at_once}",
        )
    if group.array is not None and group.array.lines and len(group.array.lines) != group.count:
        raise Refusal("invalid-tasks", f"group {group.name} has more or fewer lines than tasks")
    if group.gang and group.keep_going:
        raise Refusal(
            "invalid-tasks",
            f"group {group.name}: keep_going lets tasks end apart, and those of a gang do not",
        )


def asks_anywhere(
    tasks: Sequence[TaskGroup], normalise: Callable[[Resource], Resource]
) -> Iterator[ResourceRequest]:
    """One request per group, for all of its tasks at once and without a preferred place; made when
    they are read, since most queues grant any."""
    for group in tasks:
        size = normalise(group.resource)
        yield ResourceRequest(group.priority, GROUP_REQUESTS, ANYWHERE, group.count, size)


def _check_circles(new: Sequence[TaskGroup]) -> None:
    """Raise Refusal if the new groups wait for each other in a cycle (O(n) in groups and waits).

    Earlier groups cannot be part of one: they were accepted before the new ones existed.
    """
    left = {group.name: set(group.after) for group in new}
    waiting: dict[str, list[str]] = {}
    for name, needs in left.items():
        needs.intersection_update(left)
        for need in needs:
            waiting.setdefault(need, []).append(name)
    free = [name for name, needs in left.items() if not needs]
    while free:
        done = free.pop()
        del left[done]
        for name in waiting.get(done, ()):
            left[name].discard(done)
            if not left[name]:
                free.append(name)
    if left:
        circle = ", ".join(sorted(left))
        raise Refusal("invalid-tasks", f"these groups wait for each other: {circle}")


def check_killable(application: Application, number: int, task: int) -> None:
    """Raise Refusal if a task does not exist, is over, or cannot end without others."""
    board = application.tasks
    if not (0 <= number < len(board.groups) and 0 <= task < board.groups[number].spec.count):
        raise Refusal("unknown-task", f"application {application.id} has no such task")
    progress = board.groups[number]
    spec, state = progress.spec, progress.state(task)
    named = f"task {spec.name}/{spec.index_of(task)} of application {application.id}"
    if spec.gang:
        raise Refusal(
            "part-of-gang",
            f"{named} is part of a gang, whose tasks start and end together: kill the application",
        )
    if state not in (TaskState.WAITING, TaskState.RUNNING):
        raise Refusal("task-over", f"{named} is already {state}")


def due_requests(application: Application) -> list[ContainerRequest]:
    """Requests for the groups that are ready and for which no containers were requested yet."""
    board = application.tasks
    return [
        request(number, progress, progress.due)
        for number, progress in enumerate(board.groups)
        if not progress.started and progress.waiting and board.ready(progress)
    ]


def losses(board: TaskBoard) -> str:
    """Which tasks have failed permanently or were killed, and which groups could not start because
    of them."""
    sentences = []
    for progress in board.groups:
        spec = progress.spec
        for verb, tasks in (
            ("failed", progress.lost_tasks),
            ("were killed" if len(progress.killed) > 1 else "was killed", progress.killed),
        ):
            if tasks:
                which = ranges_text(sorted(map(spec.index_of, tasks)), MOST_RANGES)
                of = f"{len(tasks):,} of {counted(spec.count, 'task')} of group {spec.name}"
                sentences.append(f"{of} {verb}: {which}.")
        if progress.waiting and not progress.lost:
            sentences.append(f"Group {spec.name} did not start.")
    return " ".join(sentences)


def request(number: int, progress: GroupProgress, count: int) -> ContainerRequest:
    """A request for `count` containers for tasks of one group."""
    spec = progress.spec
    return ContainerRequest(
        count,
        spec.resource,
        GROUP_REQUESTS + number,
        label=spec.label,
        priority=spec.priority,
        hosts=spec.hosts,
        racks=spec.racks,
        relax=spec.relax,
    )


LONGEST_PAUSE = 8
"""The longest pause, in timeouts."""

INCOMPLETE = "Container released: its gang did not get all of its {} containers within {:g} s"
BROKEN = "Container killed: a task of its gang did not succeed, and all of them start again"
NOT_NEEDED = "no task is left"


# A gang is a group of tasks that start together or not at all.
#
# A gang requests its containers as any group does, and the scheduler decides on each of them as on
# any other: nothing is reserved for a gang beyond its queue's turn. What it gets is held,
# unlaunched, until nothing is missing. A gang that holds some for longer than its timeout gives
# them back, so that two gangs which hold each other's containers cannot wait for ever, and asks
# again after a pause, or as soon as there is room for the whole of it. A gang that is larger than
# the empty cluster, or than a limit of its queues or its user, pauses at once.
#
# The pause is the timeout, doubled with each further one, at most 8 times the timeout: 60 s, 120 s,
# 240 s, 480 s, 480 s with the default.


def hold_for_gang(step: Step, state: State, event: ContainerAllocated, number: int) -> None:
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


def held_by_gang(state: State, application: Application, number: int) -> int:
    """How many containers a group holds unlaunched."""
    gang = state.gangs.get((application.id, number))
    return 0 if gang is None else len(gang.held)


def is_gang_paused(state: State, application: Application, number: int) -> bool:
    """Whether a gang gave up, and does not ask now."""
    gang = state.gangs.get((application.id, number))
    return gang is not None and gang.paused


def give_up_gang(step: Step, state: State, application: Application, number: int) -> None:
    """Give all held containers back, and pause."""
    spec = application.tasks.groups[number].spec
    containers = tuple(state.gangs[application.id, number].held)
    pause_gang(step, state, application, number)
    words = INCOMPLETE.format(spec.count, spec.gang_timeout_ms / 1_000)
    for container in containers:
        step.emit(ContainerCompleted(container, ExitCode.ABORTED, words))


def pause_gang(
    step: Step, state: State, application: Application, number: int, most: int | None = None
) -> None:
    """Let a gang wait before it asks (again). `most`: see GangPaused."""
    gang = state.gangs.get((application.id, number))
    timeouts = 1 if gang is None else min(2**gang.pauses, LONGEST_PAUSE)
    pause_ms = timeouts * application.tasks.groups[number].spec.gang_timeout_ms
    step.emit(GangPaused(application.id, number, step.now_ms + pause_ms, most))


def restart_broken_gangs(step: Step, application: Application) -> None:
    """Stop what is left of gangs of which a task did not succeed, so that all tasks wait."""
    for number, progress in enumerate(application.tasks.groups):
        if not progress.spec.gang or not progress.broken:
            continue
        for container in tuple(progress.running.values()):
            step.emit(ContainerCompleted(container, ExitCode.ABORTED, BROKEN))
        if progress.results:
            step.emit(GangRestarted(application.id, number))


def gang_has_room(
    state: State,
    application: Application,
    progress: GroupProgress,
    size: Resource,
    label: str,
    bounds: Sequence[Bound],
) -> bool:
    """Whether all containers of a gang fit into what is free now, and not reserved, and into what
    the limits of its queues and its user leave."""
    missing = len(progress.waiting)
    if any(bound.now < missing for bound in bounds):
        return False
    for node in _accepted(state, application, progress, label):
        if node.name not in state.drains:
            missing -= _fitting(state, size, node.for_others(state.room(node)))
            if missing <= 0:
                return True
    return False


def most_of_gang(
    state: State,
    application: Application,
    progress: GroupProgress,
    size: Resource,
    label: str,
    bounds: Sequence[Bound],
) -> int:
    """How many containers of a gang its limits admit, and fit into all nodes that it accepts while
    they are empty; at most as many as it needs."""
    most = min((bound.most for bound in bounds), default=len(progress.waiting))
    most, count = min(most, len(progress.waiting)), 0
    for node in _accepted(state, application, progress, label):
        count += _fitting(state, size, state.offered(node))
        if count >= most:
            return most
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
