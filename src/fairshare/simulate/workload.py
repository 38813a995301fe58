"""Owns a workload as data: nodes, and applications with their arrivals and task durations.

Knows no file format and no scheduler.
"""

import msgspec

from fairshare.model.events import Locality
from fairshare.model.inputs import NodeJoined, SubmitApplication


class GroupPlan(msgspec.Struct, frozen=True, gc=False):
    """The durations and failures of the tasks of one group, one value for all or one per task.

    The first `fail_attempts` attempts of a task run for its duration and then exit with 1. The
    durations are those on a host that the group asks for; a container elsewhere on the rack of one
    runs `rack_factor` times as long, and one on another rack `off_switch_factor` times.
    """

    durations_ms: int | tuple[int, ...]
    fail_attempts: int | tuple[int, ...] = 0
    rack_factor: float = 1.0
    off_switch_factor: float = 1.0

    @property
    def by_locality(self) -> bool:
        """Whether durations depend on where a container is."""
        return self.rack_factor != 1.0 or self.off_switch_factor != 1.0

    def duration_ms(self, task: int, locality: Locality = Locality.NODE_LOCAL) -> int:
        """The duration of an attempt of a task, to the nearest millisecond.

        >>> GroupPlan(10_000, rack_factor=1.5).duration_ms(0, Locality.RACK_LOCAL)
        15000
        """
        durations_ms = self.durations_ms
        near_ms = durations_ms if isinstance(durations_ms, int) else durations_ms[task]
        if locality is Locality.NODE_LOCAL or not self.by_locality:
            return near_ms
        rack = locality is Locality.RACK_LOCAL
        return round(near_ms * (self.rack_factor if rack else self.off_switch_factor))

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
