"""Owns a workload as data: nodes, and applications with their arrivals and task durations.

Knows no file format and no scheduler.
"""

import msgspec

from fairshare.model.inputs import NodeJoined, SubmitApplication


class GroupPlan(msgspec.Struct, frozen=True, gc=False):
    """The durations and failures of the tasks of one group, one value for all or one per task.

    The first `fail_attempts` attempts of a task run for its duration and then exit with 1.
    """

    durations_ms: int | tuple[int, ...]
    fail_attempts: int | tuple[int, ...] = 0

    def duration_ms(self, task: int) -> int:
        """The duration of an attempt of a task."""
        durations_ms = self.durations_ms
        return durations_ms if isinstance(durations_ms, int) else durations_ms[task]

    def fails(self, task: int, attempt: int) -> bool:
        """Whether an attempt (from 1) of a task fails."""
        failing = self.fail_attempts
        return attempt <= (failing if isinstance(failing, int) else failing[task])


class Arrival(msgspec.Struct, frozen=True, gc=False):
    """One application, its instant of arrival, and the plans of its groups, in their order."""

    at_ms: int
    submission: SubmitApplication
    plans: tuple[GroupPlan, ...]


class Workload(msgspec.Struct, frozen=True):
    """Nodes and arrivals, the earliest first. `notes` say what a reader left out or assumed;
    `nodes` is empty if the file has none."""

    nodes: tuple[NodeJoined, ...]
    arrivals: tuple[Arrival, ...]
    notes: tuple[str, ...] = ()

    @property
    def tasks(self) -> int:
        """The number of tasks of all applications."""
        return sum(group.count for a in self.arrivals for group in a.submission.tasks)
