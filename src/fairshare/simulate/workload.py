"""Owns a workload as data: what arrives when, how long its tasks take, on which nodes.

Knows no file format and no scheduler.
"""

import msgspec

from fairshare.model.inputs import NodeJoined, SubmitApplication


class GroupPlan(msgspec.Struct, frozen=True):
    """How the tasks of one group fare, for all tasks alike or one by one.

    The first `fail_attempts` attempts of a task take their time and then exit with 1.
    """

    durations_ms: int | tuple[int, ...]
    fail_attempts: int | tuple[int, ...] = 0

    def duration_ms(self, task: int) -> int:
        """How long an attempt of a task runs."""
        durations_ms = self.durations_ms
        return durations_ms if isinstance(durations_ms, int) else durations_ms[task]

    def fails(self, task: int, attempt: int) -> bool:
        """Whether an attempt (from 1) of a task fails."""
        failing = self.fail_attempts
        return attempt <= (failing if isinstance(failing, int) else failing[task])


class Arrival(msgspec.Struct, frozen=True):
    """One application, when it comes, and the plan of each of its groups by name."""

    at_ms: int
    submission: SubmitApplication
    plans: dict[str, GroupPlan]


class Workload(msgspec.Struct, frozen=True):
    """Nodes and arrivals, the earliest first. `notes` say what a reader left out or took for
    granted; `nodes` is empty when the file names none."""

    nodes: tuple[NodeJoined, ...]
    arrivals: tuple[Arrival, ...]
    notes: tuple[str, ...] = ()

    @property
    def tasks(self) -> int:
        """How many tasks there are in all."""
        return sum(group.count for a in self.arrivals for group in a.submission.tasks)
