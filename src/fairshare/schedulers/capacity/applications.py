"""Owns the Capacity Scheduler's view of an application. Decides nothing."""

import enum
from typing import TYPE_CHECKING

from fairshare.model.applications import Application
from fairshare.model.identifiers import ApplicationId
from fairshare.model.inputs import SubmitApplication
from fairshare.model.resources import Resource

if TYPE_CHECKING:
    from fairshare.schedulers.capacity.queues import CapacityQueue

Entry = tuple[float, ...]


class Stage(enum.IntEnum):
    """Where an attempt stands in its leaf."""

    NOWHERE = 0
    HELD = 1  # by max-parallel-apps
    WAITING = 2  # for room for its master
    ACTIVE = 3  # it competes for containers


class CapacityApplication(Application):
    """An application in a leaf queue.

    `label` is the partition that its asks are for, `master_resource` what it counts with towards
    the masters' limits. `entry` is its key in the leaf's order while it is active and asks. `size`
    and `demand` are what the fair order knows of it, in MB. `reserved` sums its reservations;
    `re_reservations` counts, by ask, how often a reserved node beat in vain. `seen_in` is the leaf
    in which it was last considered, so that it has a headroom there. `to_preempt` holds containers
    that are to be preempted; `most_containers` is how many it had at once.
    """

    __slots__ = (
        "counted",
        "demand",
        "entry",
        "first_priority",
        "label",
        "leaf",
        "master_resource",
        "most_containers",
        "re_reservations",
        "reserved",
        "reserved_numbers",
        "seen_in",
        "size",
        "stage",
        "start_order",
        "to_preempt",
        "waiting_entry",
    )

    def __init__(
        self,
        number: ApplicationId,
        submission: SubmitApplication,
        queue: str,
        priority: int,
        now_ms: int,
        types: int,
    ) -> None:
        self.leaf: CapacityQueue | None = None
        self.start_order = 0
        self.label = ""
        self.master_resource: Resource = (0,) * types
        self.first_priority = priority  # as resolved at the submission
        super().__init__(number, submission, queue, priority, now_ms, types)

    def begin_attempt(self, types: int) -> None:
        """Forget what belonged to the attempt before."""
        super().begin_attempt(types)
        self.stage = Stage.NOWHERE
        self.entry: Entry | None = None
        self.waiting_entry: Entry | None = None
        self.size = 0
        self.most_containers = 0
        self.demand = 0
        self.counted: Resource = (0,) * types  # its pending, as its queues count it
        self.reserved: Resource = (0,) * types
        self.reserved_numbers: dict[str, int] = {}  # container numbers, by reserved node
        self.re_reservations: dict[tuple[int, int], int] = {}
        self.seen_in: CapacityQueue | None = None
        self.to_preempt: dict[int, None] = {}

    @property
    def looked_at(self) -> bool:
        """Whether it was considered since it came into its leaf."""
        return self.leaf is not None and self.seen_in is self.leaf

    def look_at(self) -> None:
        """It is considered, in its leaf."""
        self.seen_in = self.leaf

    @property
    def recovering(self) -> bool:
        """Whether it comes back after a restart of the manager, in its first attempt."""
        return self.submission.recovering and self.attempt <= 1

    def reservations_of(self, order: tuple[int, int]) -> int:
        """How many nodes are reserved for one of its asks."""
        return sum(1 for r in self.reservations.values() if (r.priority, r.request) == order)
