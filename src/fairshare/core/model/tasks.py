"""The progress of an application's groups of tasks.

A task waits, runs in a container, has succeeded, has failed permanently, or was killed. Groups and
tasks are numbered from 0 in the order of the submission.
"""

import enum
from collections import deque
from collections.abc import Sequence, Set
from math import ceil

import msgspec

from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.inputs import Changes
from fairshare.core.model.nothing import NOTHING
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import TaskGroup
from fairshare.documents.bounds import GROUP_REQUESTS as GROUP_REQUESTS


class TaskState(enum.StrEnum):
    """The state of a task."""

    WAITING = "WAITING"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    KILLED = "KILLED"


class Assignment(msgspec.Struct, frozen=True, gc=False):
    """Which task a container runs."""

    group: int
    task: int


FEW_TASKS = 64
"""So many tasks wait in a list: an empty deque alone takes as much room as 64 numbers."""

NO_TASKS: Set[int] = frozenset()
"""An empty set of tasks: one object for all groups, replaced and never mutated."""


def _line(tasks: Sequence[int]) -> deque[int] | list[int]:
    """Tasks in a line, of which the first one leaves nearly always."""
    return list(tasks) if len(tasks) <= FEW_TASKS else deque(tasks)


class GroupProgress:
    """The tasks of one group."""

    __slots__ = (
        "failed",
        "killed",
        "paused",
        "pauses",
        "results",
        "running",
        "spec",
        "started",
        "unstartable",
        "waiting",
    )

    def __init__(self, spec: TaskGroup) -> None:
        self.spec = spec
        self.waiting = _line(range(spec.count))
        self.running: dict[int, ContainerId] = NOTHING
        # The tasks that have succeeded, and the container of each.
        self.results: dict[int, ContainerId] = NOTHING
        self.failed: dict[int, int] = NOTHING  # failures so far, of tasks that have any
        self.killed: Set[int] = NO_TASKS  # a user has ended them for good
        self.started = False  # its containers have been asked for
        self.unstartable: Set[int] = NO_TASKS  # failed ones that are not tried again
        # Tasks that wait, but not for a container yet, and until when; the pauses of each so far.
        self.paused: dict[int, int] = NOTHING
        self.pauses: dict[int, int] = NOTHING

    @property
    def succeeded(self) -> int:
        """The number of tasks that have succeeded."""
        return len(self.results)

    @property
    def complete(self) -> bool:
        """Whether all tasks have succeeded."""
        return len(self.results) == self.spec.count

    @property
    def lost(self) -> int:
        """The number of tasks that have failed permanently or were killed: they neither wait nor
        run."""
        over = len(self.results) + len(self.running)
        return self.spec.count - over - len(self.waiting) - len(self.paused)

    @property
    def lost_tasks(self) -> list[int]:
        """The tasks that have failed permanently, in order."""
        return sorted(task for task in self.failed if self.state(task) == TaskState.FAILED)

    @property
    def due(self) -> int:
        """How many of the waiting tasks may run now, besides those that run: of tasks that start
        together none while one is paused."""
        if self.paused and self.starts_together:
            return 0
        if self.spec.at_once is None:
            return len(self.waiting)
        return max(0, min(len(self.waiting), self.spec.at_once - len(self.running)))

    def state(self, task: int) -> TaskState:
        """The state of one task."""
        if task in self.results:
            return TaskState.SUCCEEDED
        if task in self.running:
            return TaskState.RUNNING
        if task in self.killed:
            return TaskState.KILLED
        if task in self.failed and self.failures_of(task) >= self.spec.attempts:
            return TaskState.FAILED
        return TaskState.WAITING

    def failures_of(self, task: int) -> int:
        """The failures that count against `max_attempts`: those of the task, or, since the tasks of
        a gang start again together, those of the whole gang. A failure that is final has used up
        all attempts."""
        if self.unstartable and (self.restarts_together or task in self.unstartable):
            return self.spec.attempts
        return sum(self.failed.values()) if self.restarts_together else self.failed.get(task, 0)

    def changed(self, changes: Changes, types: ResourceTypes) -> TaskGroup | None:
        """The group with these changes; None if they concern none of its tasks: one that is over,
        or, for another size alone, one of which nothing waits."""
        spec = self.spec
        if changes.group not in ("", spec.name) or not (self.waits or self.running):
            return None
        sizes = changes.sizes if self.waits else {}
        if not sizes and not changes.limits:
            return None
        resource = zip(types.names, spec.resource, strict=False)
        time_limit_ms, at_once = changes.time_limit_ms, changes.at_once
        return msgspec.structs.replace(
            spec,
            resource=tuple(sizes.get(name, amount) for name, amount in resource),
            time_limit_ms=spec.time_limit_ms if time_limit_ms is None else time_limit_ms or None,
            at_once=spec.at_once if at_once is None else at_once or None,
        )

    @property
    def waits(self) -> bool:
        """Whether a task has no container, now or until its pause is over."""
        return bool(self.waiting or self.paused)

    @property
    def restarts_together(self) -> bool:
        """Whether all tasks start again when one does not succeed."""
        return self.spec.gang and self.spec.gang_restart == "all"

    @property
    def starts_together(self) -> bool:
        """Whether the waiting tasks start together: of a gang that restarts its tasks alone, only
        the first time."""
        return self.spec.gang and (self.restarts_together or not (self.running or self.results))

    @property
    def broken(self) -> bool:
        """Whether some tasks of a started gang wait again while others run or have succeeded."""
        waits = bool(self.waiting or self.paused)
        return self.restarts_together and waits and bool(self.running or self.results)

    def restart(self) -> None:
        """Let the tasks that have succeeded wait again, with the others."""
        self.waiting = _line(sorted((*self.waiting, *self.results)))
        self.results = NOTHING


class TaskBoard:
    """All groups of an application, and the task that each container runs."""

    __slots__ = ("_by_name", "_failing", "_waiting", "assigned", "depends_on_running", "groups")

    def __init__(self) -> None:
        self.groups: list[GroupProgress] = []
        self.assigned: dict[ContainerId, Assignment] = NOTHING
        self._by_name: dict[str, GroupProgress] = NOTHING
        # Whether what waits may have to wait for what runs: in a gang, or for `at_once`.
        self.depends_on_running = False
        self._waiting = 0  # tasks, also paused ones
        self._failing: Set[int] = NO_TASKS  # the groups of which a task has failed

    def derive(self) -> None:
        """What follows from the groups: an application may have hundreds, and each end of a task
        asks for it."""
        self.depends_on_running = any(map(_depends_on_running, self.groups))
        self._waiting = sum(len(one.waiting) + len(one.paused) for one in self.groups)
        self._failing = NO_TASKS
        for number, progress in enumerate(self.groups):
            if progress.failed:
                self._failing |= {number}

    def changed(self, changes: Changes, types: ResourceTypes) -> dict[int, TaskGroup]:
        """The groups that these changes concern, by their numbers, as they will be."""
        if not changes.of_groups:
            return {}
        specs = ((number, one.changed(changes, types)) for number, one in enumerate(self.groups))
        return {number: spec for number, spec in specs if spec is not None}

    def add(self, groups: tuple[TaskGroup, ...]) -> None:
        added = tuple(map(GroupProgress, groups))
        self.groups = [*self.groups, *added]  # without room for more
        for progress in added:
            spec = progress.spec
            self._waiting += spec.count
            self.depends_on_running |= _depends_on_running(progress)
            if self._by_name:
                self._by_name[spec.name] = progress
            elif spec.after:  # else no name is looked up
                self._by_name = {known.spec.name: known for known in self.groups}

    def launched(self, container: ContainerId, group: int, task: int) -> None:
        """Record that a container runs a task."""
        progress = self.groups[group]
        waiting = progress.waiting
        if type(waiting) is deque and waiting and waiting[0] == task:
            waiting.popleft()
        else:
            waiting.remove(task)
        self._waiting -= 1
        progress.running = progress.running or {}
        progress.running[task] = container
        self.assigned = self.assigned or {}
        self.assigned[container] = Assignment(group, task)

    def completed(self, container: ContainerId, exit_code: int, final: bool = False) -> None:
        """Record that a container ended. A task's failure counts only if the task itself failed
        (code above 0, or the memory limit): after preemption or a lost node it waits again, and
        after a `final` failure it does not."""
        assignment = self.assigned.pop(container, None)
        if assignment is None:
            return
        progress = self.groups[assignment.group]
        task = assignment.task
        progress.running.pop(task, None)
        if exit_code == 0:
            progress.results = progress.results or {}
            progress.results[task] = container
            return
        if task in progress.killed:
            return
        if is_own_failure(exit_code):
            progress.failed = progress.failed or {}
            progress.failed[task] = progress.failed.get(task, 0) + 1
            self._failing |= {assignment.group}
            if final:
                progress.unstartable |= {task}
            if progress.failures_of(task) >= progress.spec.attempts:
                return
        progress.waiting.append(task)
        self._waiting += 1

    def kill(self, group: int, task: int) -> None:
        """Record that a task shall not run any more; if a container runs it, that one ends next."""
        progress = self.groups[group]
        progress.killed |= {task}
        if task in progress.running:
            return
        if task in progress.paused:
            progress.paused = {
                other: ms for other, ms in progress.paused.items() if other != task
            } or NOTHING
        else:
            progress.waiting.remove(task)
        self._waiting -= 1

    def pause(self, group: int, task: int, until_ms: int) -> None:
        """Let a task that has just begun to wait do so without asking for a container."""
        progress = self.groups[group]
        if progress.waiting[-1] == task:
            progress.waiting.pop()
        else:
            progress.waiting.remove(task)
        # Empty ones are shared, also by groups that came from a snapshot together.
        progress.paused = progress.paused or {}
        progress.pauses = progress.pauses or {}
        progress.paused[task] = until_ms
        progress.pauses[task] = progress.pauses.get(task, 0) + 1

    def resume(self, now_ms: int) -> None:
        """Let the tasks whose pauses are over ask for containers, in the order of their ends."""
        for progress in self.groups:
            due = sorted((ms, task) for task, ms in progress.paused.items() if ms <= now_ms)
            if due:
                progress.waiting.extend(task for _, task in due)
                left = {task: ms for task, ms in progress.paused.items() if ms > now_ms}
                progress.paused = left or NOTHING

    @property
    def next_resume_ms(self) -> int | None:
        """When the first pause of a task is over; None if none is paused."""
        return min((ms for one in self.groups for ms in one.paused.values()), default=None)

    def restart(self, group: int) -> None:
        """Let the tasks of a group that have succeeded wait again, with the others."""
        progress = self.groups[group]
        self._waiting += len(progress.results)
        progress.restart()

    def ready(self, progress: GroupProgress) -> bool:
        """Whether enough tasks of the groups named in `after` have succeeded.

        With `slow_start` s, ceil(n * s) of a group's n tasks must have succeeded: 0.05 of 40 is 2.
        Of a gang all must have: until then they may start again.
        """
        for name in progress.spec.after:
            other = self._by_name.get(name)
            if other is None:
                continue
            count = other.spec.count
            need = count if other.restarts_together else ceil(count * progress.spec.slow_start)
            if other.succeeded < need:
                return False
        return True

    @property
    def waits(self) -> bool:
        """Whether a task of some group waits."""
        return self._waiting > 0

    @property
    def complete(self) -> bool:
        """Whether all tasks of all groups have succeeded."""
        return all(progress.complete for progress in self.groups)

    @property
    def over(self) -> bool:
        """Whether nothing runs, and nothing that waits can ever start."""
        if self.assigned:
            return False
        return not (
            self._waiting
            and any((one.waiting or one.paused) and self.ready(one) for one in self.groups)
        )

    @property
    def hopeless(self) -> tuple[int, int] | None:
        """The first (group, task) that has reached its group's maximum of attempts, and ends the
        application at once; or None."""
        for number in sorted(self._failing):
            progress = self.groups[number]
            if progress.spec.keep_going:
                continue
            for task in progress.failed:
                if progress.failures_of(task) >= progress.spec.attempts:
                    return number, task
        return None


def _depends_on_running(progress: GroupProgress) -> bool:
    return progress.spec.gang or progress.spec.at_once is not None


def is_own_failure(exit_code: int) -> bool:
    """Whether the container itself failed; False if it was aborted or preempted."""
    return exit_code > 0 or exit_code <= -103


DISK_FAILED = -101
"""Hadoop's exit code if what a container was to write to could not be written."""


def may_fail_again(exit_code: int) -> bool:
    """Whether a task failed itself, or for a cause that it will meet again soon: what it was to
    write to is full. What was lost or taken away can be tried again at once."""
    return is_own_failure(exit_code) or exit_code == DISK_FAILED
