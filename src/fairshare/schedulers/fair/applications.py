"""Owns the Fair Scheduler's view of an application: what it competes with. Decides nothing."""

from typing import TYPE_CHECKING

from fairshare.model.applications import Application
from fairshare.model.identifiers import ApplicationId
from fairshare.model.inputs import SubmitApplication
from fairshare.model.nodes import Node
from fairshare.model.resources import Resource, add
from fairshare.schedulers.ordering import Entry

if TYPE_CHECKING:
    from fairshare.schedulers.fair.queues import FairQueue


class FairApplication(Application):
    """An application among its siblings in a leaf queue.

    `demand` and `fair_share` are those of the last update. `asking`: it is in its leaf's order,
    since it may run, wants containers, and wanted more than it had at the last update.
    `most_containers` are those it had at once before the last one ended. `refused_nodes` are the
    nodes that its blacklist named when that last changed; as in Hadoop they stay the same when
    nodes come and go.
    """

    __slots__ = (
        "asking",
        "counted_sizes",
        "demand",
        "entry",
        "fair_share",
        "fair_starvation",
        "last_at_fair_share_ms",
        "leaf",
        "master_charged",
        "min_share",
        "min_starvation",
        "most_containers",
        "needs_master",
        "next_starvation_check_ms",
        "rank",
        "refused_nodes",
        "reserved_numbers",
        "start_order",
        "to_preempt",
        "weight",
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
        self.leaf: FairQueue | None = None
        self.rank = 0
        self.start_order = 0  # counts up over all attempts of all applications
        self.min_share: Resource = (0,) * types  # applications have no minimum
        self.to_preempt: dict[int, None] = {}  # of its live containers, in whatever attempt
        super().__init__(number, submission, queue, priority, now_ms, types)

    def begin_attempt(self, types: int) -> None:
        """Forget what belonged to the attempt before."""
        super().begin_attempt(types)
        nothing: Resource = (0,) * types
        self.entry: Entry | None = None
        self.weight = 1.0
        self.demand = nothing
        self.fair_share = nothing
        self.asking = False
        self.counted_sizes: tuple[Resource, ...] = ()
        self.needs_master = self.submission.master is not None
        self.master_charged: Resource | None = None
        self.fair_starvation = nothing
        self.min_starvation = nothing
        self.last_at_fair_share_ms = 0
        self.next_starvation_check_ms = 0
        self.most_containers = 0
        self.reserved_numbers: dict[str, int] = {}  # of the containers reserved, by node
        self.refused_nodes: list[Node] = []

    @property
    def starvation(self) -> Resource:
        """What it lacked at the last check, by its fair share and by its queue's minimum."""
        return add(self.fair_starvation, self.min_starvation)

    @property
    def peak_containers(self) -> int:
        """How many containers this attempt had at once, up to now."""
        return max(self.most_containers, len(self.containers))

    @property
    def charged(self) -> bool:
        """Whether it must pass the limit on masters before its first container."""
        return self.needs_master
