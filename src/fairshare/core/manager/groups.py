"""Owns what the manager computes as the master of task groups: validation of groups, and the
container requests that are due.

Emits no events itself; `resource_manager.py` and `journal_epochs.py` do.
"""

from collections.abc import Callable, Iterator, Sequence

from fairshare.core.model.applications import Application
from fairshare.core.model.resources import Resource
from fairshare.core.model.tasks import GROUP_REQUESTS, GroupProgress, TaskBoard, TaskState
from fairshare.core.model.work import ANYWHERE, ContainerRequest, ResourceRequest, TaskGroup
from fairshare.core.schedulers.protocol import Refusal
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
            raise Refusal("invalid-tasks", f"group {group.name} has no tasks: count is below 1")
        if group.max_attempts < 1:
            raise Refusal("invalid-tasks", f"group {group.name} has max_attempts below 1")
        if not 0.0 <= group.slow_start <= 1.0:
            raise Refusal(
                "invalid-tasks", f"group {group.name} has a slow_start outside 0.0 to 1.0"
            )
        if group.time_limit_ms is not None and group.time_limit_ms < 1:
            raise Refusal("invalid-tasks", f"group {group.name} has a time limit below 1 ms")
        if group.gang_restart not in GANG_RESTARTS:
            words = " or ".join(GANG_RESTARTS)
            raise Refusal("invalid-tasks", f"group {group.name}: gang_restart is {words}")
        if group.gang_timeout_ms < 1:
            raise Refusal("invalid-tasks", f"group {group.name} has a gang timeout below 1 ms")
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
        raise Refusal("invalid-tasks", f"group {group.name} has at_once below 1")
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
