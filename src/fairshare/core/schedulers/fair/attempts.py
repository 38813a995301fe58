"""The Fair Scheduler's data of an attempt: the values it competes with (Hadoop: FSAppAttempt)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from fairshare.core.model.applications import Application, Attempt
from fairshare.core.model.nodes import Node
from fairshare.core.model.nothing import NOTHING
from fairshare.core.model.resources import Resource, add
from fairshare.core.schedulers.ordering import Entry

if TYPE_CHECKING:
    from fairshare.core.schedulers.fair.queues import FairQueue


class FairAttempt(Attempt):
    """An attempt among its siblings in a leaf queue.

    `demand` and `fair_share` are those of the last update. `divided`: its leaf's division has its
    share, apart from the resource types that are not divided; else `own_share` is all of it.
    `asking`: it is in its leaf's order,
    since it is runnable, has pending asks, and its demand at the last update differs from its use.
    `most_containers` is the largest number of containers it had when one ended. `refused_nodes` are
    the nodes on its blacklist when that last changed; as in Hadoop they do not change when nodes
    are added or removed. `charge` is what its user is charged in its leaf for the past.
    """

    LATER_FIELDS: ClassVar[Mapping[str, object]] = {"charge": None}

    __slots__ = (
        "asking",
        "charge",
        "counted_sizes",
        "demand",
        "divided",
        "entry",
        "fair_starvation",
        "last_at_fair_share_ms",
        "leaf",
        "master_charged",
        "min_share",
        "min_starvation",
        "most_containers",
        "needs_master",
        "next_starvation_check_ms",
        "own_share",
        "rank",
        "refused_nodes",
        "reserved_numbers",
        "start_order",
        "weight",
    )

    def __init__(self, application: Application, number: int, leaf: "FairQueue") -> None:
        super().__init__(application, number, len(leaf.used))
        nothing = self.used
        self.leaf = leaf
        self.charge = leaf.charges.get(application.user)
        self.rank = 0
        self.start_order = 0  # increases over all attempts of all applications
        self.min_share = nothing  # applications have no minimum
        self.entry: Entry | None = None
        self.weight = 1.0
        self.demand = nothing
        self.own_share = nothing
        self.divided = False
        self.asking = False
        self.counted_sizes: tuple[Resource, ...] = ()
        self.needs_master = self.managed
        self.master_charged: Resource | None = None
        self.fair_starvation = nothing
        self.min_starvation = nothing
        self.last_at_fair_share_ms = 0
        self.next_starvation_check_ms = 0
        self.most_containers = 0
        self.reserved_numbers: dict[str, int] = NOTHING  # of the reserved containers, by node
        self.refused_nodes: Sequence[Node] = ()

    def continue_numbers(self, first: int) -> None:
        """The reserved containers get new numbers, too."""
        super().continue_numbers(first)
        for node in self.reserved_numbers:
            self.reserved_numbers[node] = self.next_container
            self.next_container += 1

    @property
    def fair_share(self) -> Resource:
        """Its part of its leaf's share, as of the last update."""
        share_of_all = self.own_share
        if not self.divided:
            return share_of_all
        share = self.leaf.division.shares[self.weight]
        return share if len(share) == len(share_of_all) else share + share_of_all[len(share) :]

    @property
    def starvation(self) -> Resource:
        """What it lacked at the last check, of its fair share and of its queue's minimum."""
        return add(self.fair_starvation, self.min_starvation)

    @property
    def peak_containers(self) -> int:
        """The largest number of containers that this attempt has had at once."""
        return max(self.most_containers, len(self.containers))

    @property
    def charged(self) -> bool:
        """Whether the masters' limit applies to its next container."""
        return self.needs_master
