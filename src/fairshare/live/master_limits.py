"""Owns what the Fair Scheduler's limits for masters were when a master was last granted.

Hadoop shows the limit that it tested last, and tests it when it grants a master. Derived from
records alone; decides nothing.
"""

from fairshare.model.events import ContainerAllocated, Record
from fairshare.model.resources import Resource, add, subtract
from fairshare.schedulers.fair.limits import master_limit
from fairshare.schedulers.fair.state import FairState
from fairshare.schedulers.protocol import State


class MasterLimits:
    """The limits by leaf; a leaf that has had no master is not there."""

    def __init__(self) -> None:
        self.tested: dict[str, Resource] = {}

    def observe(self, record: Record, state: State) -> None:
        """Take notice of one record that has been applied."""
        if not isinstance(state, FairState):
            return
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
