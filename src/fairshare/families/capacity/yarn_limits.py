"""Owns the limits for masters that the Capacity Scheduler tests when an application comes, goes or
moves, and when the cluster changes.
"""

from fairshare.families.yarn.context import MasterLimit
from fairshare.journal.record import Record
from fairshare.model.events import (
    ApplicationMoved,
    AttemptEnded,
    AttemptStarted,
    ConfigurationLoaded,
    LabelsChanged,
    NodeAdded,
    NodeRemoved,
    NodesLabelled,
    NodeTotalChanged,
)
from fairshare.schedulers.capacity import limits
from fairshare.schedulers.capacity.queues import CapacityQueue
from fairshare.schedulers.capacity.state import CapacityState

_CLUSTER = (
    ConfigurationLoaded,
    LabelsChanged,
    NodeAdded,
    NodeRemoved,
    NodesLabelled,
    NodeTotalChanged,
)


def tested_master_limits(record: Record, state: CapacityState) -> dict[str, MasterLimit | None]:
    """The limits that a record made the scheduler test, by leaf; None: the leaf has gone."""
    leaves: dict[str, None] = {}
    for event in record.events:
        if isinstance(event, _CLUSTER):
            leaves |= dict.fromkeys(q.name for q in state.queues.values() if q.leaf)
        elif isinstance(event, AttemptStarted | AttemptEnded | ApplicationMoved):
            application = state.applications.get(event.application)
            if application is not None:
                leaves[application.queue] = None
    found = {name: state.queues.get(name) for name in leaves}
    return {
        name: present_limit(state, leaf) if leaf is not None and leaf.leaf else None
        for name, leaf in found.items()
    }


def present_limit(state: CapacityState, leaf: CapacityQueue) -> MasterLimit:
    """The limits of a leaf in the default partition, as they are now."""
    return MasterLimit(
        limits.master_limit(state, leaf, ""),
        limits.user_master_limit(state, leaf, "", None),
        {name: limits.user_master_limit(state, leaf, "", name) for name in leaf.users.users},
    )
