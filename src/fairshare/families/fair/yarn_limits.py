"""Owns the limits for masters that the Fair Scheduler tests when it grants a master."""

from fairshare.families.yarn.master_limits import MasterLimit
from fairshare.journal.record import Record
from fairshare.model.events import ContainerAllocated
from fairshare.model.resources import add, subtract
from fairshare.schedulers.fair.limits import master_limit
from fairshare.schedulers.fair.state import FairState


def tested_master_limits(record: Record, state: FairState) -> dict[str, MasterLimit | None]:
    """The limits of the leaves that were granted a master, by leaf. Users have the leaf's."""
    grants = [event for event in record.events if type(event) is ContainerAllocated]
    masters = [grant for grant in grants if grant.master]
    if not masters:
        return {}
    free = subtract(state.total, state.used)  # as the heartbeat found it
    for grant in grants:
        free = add(free, grant.resource)
    found: dict[str, MasterLimit | None] = {}
    for grant in masters:
        attempt = state.attempts.get(grant.application)
        leaf = None if attempt is None else attempt.leaf
        limit = None if leaf is None else master_limit(leaf, free)
        if leaf is not None and limit is not None:
            found[leaf.name] = MasterLimit(limit, limit, {})
    return found
