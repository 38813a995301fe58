"""The Capacity Scheduler's data of an attempt (Hadoop: FiCaSchedulerApp)."""

import enum
from typing import TYPE_CHECKING, Any

from fairshare.core.model.applications import Application, Attempt
from fairshare.core.model.nothing import NOTHING, no_amounts
from fairshare.core.model.resources import Resource, subtract

if TYPE_CHECKING:
    from fairshare.core.schedulers.capacity.queues import CapacityQueue
    from fairshare.core.schedulers.capacity.users import User, Users

Entry = tuple[Any, ...]
"""Numbers to sort by, and last the number of an application or the rank of a queue."""


class Stage(enum.IntEnum):
    """The stage of an attempt in its leaf."""

    NOWHERE = 0
    HELD = 1  # by max-parallel-apps, and in no other list
    WAITING = 2  # for room for its master
    ACTIVE = 3  # competes for containers


Kind = tuple[str, Resource, str]
"""What decides on an attempt that waits for room for its master: the master's partition and size,
and the user."""


class CapacityAttempt(Attempt):
    """An attempt in a leaf queue.

    `asked` has the partitions that the attempt has ever asked for. `held`: max-parallel-apps holds
    it back. `label` is the partition of its master, whose size `master_resource` counts towards the
    masters' limits there. `pending` is the total of its asks as last counted, `counted` the same by
    partition; `labelled`: some ask is for a partition other than the default one. `entry` is its
    key in the leaf's order while it is active: among the applications with asks, or (`rests`) among
    those without. `size` and `demand` are the values that the fair order uses, in MB. `reserved`
    sums its reservations, `reserved_apart` those outside the default partition; `default_misses`
    counts, by ask, the missed opportunities of asks for that partition where other partitions lend;
    `re_reservations` counts, by ask, the heartbeats of reserved nodes that could not fulfil the
    reservation. `seen` is the leaf in which it was last considered, with its user's record there,
    from which its headroom follows; `headroom_users` are the users of that leaf while its master
    receives the headroom. `moved_from` is the leaf in which it still counts as asking during a
    move. `drift` is what Hadoop counts as used beyond its containers, after an ask changed its size
    between a reservation and its fulfilment. `most_containers` is the largest number of containers
    it had at any release.
    """

    __slots__ = (
        "asked",
        "counted",
        "default_misses",
        "demand",
        "drift",
        "entry",
        "headroom_users",
        "held",
        "label",
        "labelled",
        "leaf",
        "master_resource",
        "most_containers",
        "moved_from",
        "pending",
        "re_reservations",
        "reserved",
        "reserved_apart",
        "reserved_numbers",
        "rests",
        "seen",
        "size",
        "stage",
        "start_order",
        "waiting_entry",
    )

    def __init__(self, application: Application, number: int, leaf: "CapacityQueue") -> None:
        types = len(leaf.used)
        super().__init__(application, number, types)
        none = no_amounts(types)
        self.leaf = leaf
        self.start_order = 0
        self.label = ""
        self.moved_from: CapacityQueue | None = None
        self.headroom_users: Users | None = None
        self.master_resource: Resource = none
        self.stage = Stage.NOWHERE
        self.held = False
        self.entry: Entry | None = None
        self.rests = False
        self.waiting_entry: Entry | None = None
        self.size = 0
        self.most_containers = 0
        self.demand = 0
        self.pending: Resource = none  # as last counted
        self.labelled = False  # whether some ask was for a partition other than the default one
        self.counted: dict[str, Resource] = NOTHING  # then the same by partition
        self.asked: dict[str, None] = NOTHING  # the partitions that it has asked for
        self.reserved: Resource = none
        self.reserved_apart: dict[str, Resource] = NOTHING  # the part of it on other partitions
        self.default_misses: dict[tuple[int, int], int] = NOTHING
        self.reserved_numbers: dict[str, int] = NOTHING  # container numbers, by reserved node
        self.re_reservations: dict[tuple[int, int], int] = NOTHING
        self.seen: tuple[CapacityQueue, User] | None = None
        self.drift: Resource = none

    def continue_numbers(self, first: int) -> None:
        """The reserved containers get new numbers, too."""
        super().continue_numbers(first)
        for node in self.reserved_numbers:
            self.reserved_numbers[node] = self.next_container
            self.next_container += 1

    @property
    def kind(self) -> Kind:
        """Attempts of the same kind wait for the same."""
        return self.label, self.master_resource, self.user

    @property
    def priority(self) -> int:
        """The priority of its application."""
        return self.application.priority

    @property
    def looked_at(self) -> bool:
        """Whether it was considered since it entered its leaf."""
        leaf, seen = self.leaf, self.seen
        if seen is None or seen[0] is not leaf:
            return False
        return seen[1] is leaf.users.get(self.user)

    def look_at(self) -> None:
        """Consider it in its leaf, which gives it a headroom there if the leaf knows its user."""
        record = self.leaf.users.get(self.user)
        if record is not None:
            self.seen = (self.leaf, record)
            self.register_for_headroom()

    def register_for_headroom(self) -> None:
        """Register it with the leaf of its headroom while its master receives that headroom."""
        users = None if self.seen is None or not self.registered else self.seen[0].users
        if users is self.headroom_users:
            return
        if self.headroom_users is not None:
            self.headroom_users.masters -= 1
        self.headroom_users = users
        if users is not None:
            users.masters += 1
            users.stir()

    def reserved_on(self, label: str) -> Resource:
        """What is reserved for it on a partition."""
        apart = self.reserved_apart
        if label:
            return apart.get(label, (0,) * len(self.reserved))
        left = self.reserved
        for amount in apart.values():
            left = subtract(left, amount)
        return left
