"""Owns the limits for masters as of their last test.

Hadoop shows the limits that it tested last: the Fair Scheduler tests when it grants a master, the
Capacity Scheduler when an application comes, goes or moves, and when the cluster changes. Derived
from records alone; decides nothing.
"""

import msgspec

from fairshare.journal.record import Record
from fairshare.model.events import (
    ApplicationMoved,
    AttemptEnded,
    AttemptStarted,
    ConfigurationLoaded,
    ContainerAllocated,
    LabelsChanged,
    NodeAdded,
    NodeRemoved,
    NodesLabelled,
    NodeTotalChanged,
)
from fairshare.model.resources import Resource, add, subtract
from fairshare.projections.projection import Projection
from fairshare.schedulers.capacity import limits
from fairshare.schedulers.capacity.queues import CapacityQueue
from fairshare.schedulers.capacity.state import CapacityState
from fairshare.schedulers.fair.limits import master_limit
from fairshare.schedulers.fair.state import FairState
from fairshare.schedulers.protocol import State

_CLUSTER = (
    ConfigurationLoaded,
    LabelsChanged,
    NodeAdded,
    NodeRemoved,
    NodesLabelled,
    NodeTotalChanged,
)


class MasterLimit(msgspec.Struct, frozen=True):
    """The limits for all masters of a leaf, for those of one user, and for each present user."""

    masters: Resource
    user: Resource
    users: dict[str, Resource]


class MasterLimits(Projection):
    """The limits by leaf; `tested` has those of the Fair Scheduler's leaves that had a master."""

    def __init__(self) -> None:
        self.tested: dict[str, Resource] = {}
        self._leaves: dict[str, MasterLimit] = {}

    def of_leaf(self, leaf: str) -> MasterLimit | None:
        """Those of a leaf of the Capacity Scheduler, if they were tested."""
        return self._leaves.get(leaf)

    def observe(self, record: Record, state: State) -> None:
        """Process one record after the core applied it."""
        if isinstance(state, FairState):
            self._fair(record, state)
        elif isinstance(state, CapacityState):
            self._capacity(record, state)

    def _fair(self, record: Record, state: FairState) -> None:
        grants = [event for event in record.events if type(event) is ContainerAllocated]
        masters = [grant for grant in grants if grant.master]
        if not masters:
            return
        free = subtract(state.total, state.used)  # as the heartbeat found it
        for grant in grants:
            free = add(free, grant.resource)
        for grant in masters:
            application = state.applications.get(grant.application)
            leaf = None if application is None else application.leaf
            limit = None if leaf is None else master_limit(leaf, free)
            if leaf is not None and limit is not None:
                self.tested[leaf.name] = limit

    def _capacity(self, record: Record, state: CapacityState) -> None:
        leaves: dict[str, None] = {}
        for event in record.events:
            if isinstance(event, _CLUSTER):
                leaves |= dict.fromkeys(q.name for q in state.queues.values() if q.leaf)
            elif isinstance(event, AttemptStarted | AttemptEnded | ApplicationMoved):
                application = state.applications.get(event.application)
                if application is not None:
                    leaves[application.queue] = None
        for name in leaves:
            leaf = state.queues.get(name)
            if leaf is not None and leaf.leaf:
                self._leaves[name] = capacity_limit(state, leaf)
            else:
                self._leaves.pop(name, None)


def capacity_limit(state: CapacityState, leaf: CapacityQueue) -> MasterLimit:
    """The limits of a leaf in the default partition, as they are now."""
    return MasterLimit(
        limits.master_limit(state, leaf, ""),
        limits.user_master_limit(state, leaf, "", None),
        {name: limits.user_master_limit(state, leaf, "", name) for name in leaf.users.users},
    )
